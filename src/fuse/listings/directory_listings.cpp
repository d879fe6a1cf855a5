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

bool OpenListing::check() {
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
  if (!lasting) last_number_ = last_number_ % kNumbers + 1;
  const auto made = std::make_shared<OpenListing>(directory, lasting ? 0 : last_number_, std::move(names));
  listings_.push_front(made);
  std::size_t in_all = 0, count = 0;
  take_if(dropped, [&](const OpenListing& one) {
    in_all += one.names().size();
    if (&one == made.get()) return false;
    const bool replaced = one.directory() == directory && one.number() == made->number();
    return replaced || ++count >= kMax || in_all > kMaxNames;
  });
  return made;
}

void DirectoryListings::drop_if(const std::function<bool(const OpenListing&)>& is_dropped) {
  List dropped;  // destroyed after the lock is released
  const MutexLock lock(mutex_);
  take_if(dropped, is_dropped);
}

void DirectoryListings::take_if(List& dropped, const std::function<bool(const OpenListing&)>& is_dropped) {
  for (auto at = listings_.begin(); at != listings_.end();) {
    const auto next = std::next(at);
    if (is_dropped(**at)) dropped.splice(dropped.end(), listings_, at);
    at = next;
  }
}

bool DirectoryListings::check() {
  std::vector<OpenListingPtr> all;
  {
    const MutexLock lock(mutex_);
    all.assign(listings_.begin(), listings_.end());
  }
  bool any = false;
  for (const OpenListingPtr& listing : all) any = listing->check() || any;
  return any;
}

}  // namespace h5mount::fuse
