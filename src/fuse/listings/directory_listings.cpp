#include "directory_listings.h"

#include <algorithm>
#include <utility>

namespace h5mount::fuse {

bool OpenListing::names_alone() const {
  return without_.load(std::memory_order_relaxed) > names_->size() / 8;
}

std::unique_ptr<DirectoryPage> OpenListing::take(const PageRequest& wanted) {
  MutexLock lock(mutex_);
  while (preparing_ && to_prepare_ == wanted) stored_.wait(lock);
  if (!preparing_) to_prepare_.reset();  // nobody has begun: the caller is quicker
  if (!next_ || next_->request() != wanted) return nullptr;
  return std::move(next_);
}

bool OpenListing::note_sent(std::size_t begin, std::size_t end, const PageRequest& next) {
  const MutexLock lock(mutex_);
  const bool continues = std::exchange(expected_, end) == begin;
  if (!continues || to_prepare_ || end >= this->end()) return false;
  to_prepare_ = next;
  return true;
}

bool OpenListing::begin_preparation(const PageRequest& next) {
  const MutexLock lock(mutex_);
  if (preparing_ || to_prepare_ != next) return false;
  preparing_ = true;
  return true;
}

void OpenListing::store(std::unique_ptr<DirectoryPage> page) {
  const MutexLock lock(mutex_);
  next_.swap(page);  // the one before is destroyed by the caller
  seen_ = false;
  preparing_ = false;
  to_prepare_.reset();
  stored_.notify_all();
}

bool OpenListing::look() {
  std::unique_ptr<DirectoryPage> unasked;  // destroyed after the lock is released
  const MutexLock lock(mutex_);
  if (next_ && std::exchange(seen_, true)) unasked = std::move(next_);
  return next_ != nullptr;
}

OpenListingPtr DirectoryListings::find(tree::NodeId directory, std::uint64_t number) {
  const MutexLock lock(mutex_);
  const auto found = std::ranges::find_if(listings_, [&](const OpenListingPtr& known) {
    return known->directory() == directory && known->number() == number;
  });
  if (found == listings_.end()) return nullptr;
  listings_.splice(listings_.begin(), listings_, found);
  return listings_.front();
}

OpenListingPtr DirectoryListings::add(tree::NodeId directory, bool lasting,
                                      std::shared_ptr<const tree::DirectoryListing> names) {
  List dropped;  // destroyed after the lock is released
  const MutexLock lock(mutex_);
  std::uint64_t number = 0;
  if (!lasting) number = last_number_ = last_number_ % kNumbers + 1;
  const auto made = std::make_shared<OpenListing>(directory, number, std::move(names));
  std::size_t in_all = 0, count = 0;
  listings_.push_front(made);
  for (auto at = listings_.begin(); at != listings_.end();) {
    const auto next = std::next(at);
    in_all += (*at)->names().size();
    const bool replaced = *at != made && (*at)->directory() == directory && (*at)->number() == number;
    if (replaced || (*at != made && (++count >= kMax || in_all > kMaxNames)))
      dropped.splice(dropped.end(), listings_, at);
    at = next;
  }
  return made;
}

void DirectoryListings::drop(const OpenListingPtr& listing) {
  List dropped;
  const MutexLock lock(mutex_);
  const auto found = std::ranges::find(listings_, listing);
  if (found != listings_.end()) dropped.splice(dropped.end(), listings_, found);
}

void DirectoryListings::drop_all_of(tree::NodeId directory) {
  List dropped;
  const MutexLock lock(mutex_);
  for (auto at = listings_.begin(); at != listings_.end();) {
    const auto next = std::next(at);
    if ((*at)->directory() == directory) dropped.splice(dropped.end(), listings_, at);
    at = next;
  }
}

bool DirectoryListings::look() {
  std::vector<OpenListingPtr> all;
  {
    const MutexLock lock(mutex_);
    all.assign(listings_.begin(), listings_.end());
  }
  bool any = false;
  for (const OpenListingPtr& listing : all) any = listing->look() || any;
  return any;
}

}  // namespace h5mount::fuse
