// DirectoryListings: the listings that clients are reading. A request for a part of one names its directory
// and an offset, but no open directory, as the kernel does not say when it opens one (op_directory.cpp). So a
// listing is found by its directory and, if the directory may show something else later, by a number in its
// offsets: a client that reads a listing to its end gets each entry of it once, whatever other clients read
// meanwhile.
//
// While a client reads one page of a listing, the next is prepared: one with attributes by an idle thread
// (ServingLoop::run_beside), one of names alone by the leader, where it would poll for the next request
// (ServingLoop::will_poll). Files, unlike directories, are opened: their sizes are measured and their errors
// told then.
//
// A listing is dropped when a client has read it to its end, or when many others have been begun since; it is
// made again if a later part of it is requested. A page that was prepared and is not asked for soon is
// dropped too, with the references that it holds: its reader has ended. Threads: any.
#pragma once

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>

#include "directory_page.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/base/watchdog.h"
#include "h5mount/tree/tree.h"

namespace h5mount::fuse {

class OpenListing {
 public:
  OpenListing(tree::NodeId directory, std::uint64_t number,
              std::shared_ptr<const tree::DirectoryListing> names)
      : directory_(directory), number_(number), names_(std::move(names)) {}

  tree::NodeId directory() const { return directory_; }
  std::uint64_t number() const { return number_; }
  const tree::DirectoryListing& names() const { return *names_; }
  std::size_t end() const { return names_->size() + kDots; }

  // Counts entries that were passed on without attributes. `names_alone`: whether most entries were.
  void note_without(std::size_t entries) { without_.fetch_add(entries, std::memory_order_relaxed); }
  bool names_alone() const;

  // The page that was prepared for this request; waits for it if another thread has begun to prepare it. Null
  // if there is none.
  std::unique_ptr<DirectoryPage> take(const PageRequest& wanted);
  // A page from one position to another was sent. Returns true if its reader reads on in order and no page is
  // to be prepared yet: `next` is then.
  bool note_sent(std::size_t begin, std::size_t end, const PageRequest& next);
  // Returns false if the page need not be prepared any more; else the caller prepares it and calls `store`.
  bool begin_preparation(const PageRequest& next);
  void store(std::unique_ptr<DirectoryPage> page);  // null: it could not be made
  // Called periodically by the watch: drops a page that was already there at the last call. Returns true if a
  // page is left.
  bool check();

 private:
  const tree::NodeId directory_;
  const std::uint64_t number_;
  const std::shared_ptr<const tree::DirectoryListing> names_;
  std::atomic<std::size_t> without_ = 0;

  Mutex mutex_;
  Condition stored_;
  std::optional<std::size_t> expected_ H5_GUARDED_BY(mutex_);  // the position that continues the last page
  std::optional<PageRequest> to_prepare_ H5_GUARDED_BY(mutex_);
  bool preparing_ H5_GUARDED_BY(mutex_) = false;  // some thread prepares that page
  std::unique_ptr<DirectoryPage> next_ H5_GUARDED_BY(mutex_);
  bool seen_ H5_GUARDED_BY(mutex_) = false;  // `next_`, by the last look
};
using OpenListingPtr = std::shared_ptr<OpenListing>;

class DirectoryListings {
 public:
  static constexpr std::size_t kMax = 64;             // besides those that requests use at this moment
  static constexpr std::size_t kMaxNames = 4U << 20;  // of all of them, but for the one begun last

  // Returns null if the listing is not known.
  OpenListingPtr find(tree::NodeId directory, std::uint64_t number);
  // `lasting`: every listing of the directory would be the same.
  OpenListingPtr add(tree::NodeId directory, bool lasting,
                     std::shared_ptr<const tree::DirectoryListing> names);
  void drop_if(const std::function<bool(const OpenListing&)>& is_dropped);
  void page_prepared() { check_.wake(); }  // a page was stored in one of them

 private:
  static constexpr std::uint64_t kNumbers = (std::uint64_t{1} << (63 - ListingOffset::kPositionBits)) - 1;
  using List = std::list<OpenListingPtr>;

  void take_if(List& dropped, const std::function<bool(const OpenListing&)>& is_dropped) H5_REQUIRES(mutex_);

  Mutex mutex_;
  List listings_ H5_GUARDED_BY(mutex_);  // the one used last is first
  // A server that takes over from another one gives other numbers.
  std::uint64_t last_number_ H5_GUARDED_BY(mutex_) = static_cast<std::uint64_t>(::getpid()) * 7919 % kNumbers;

  static constexpr std::chrono::milliseconds kBetweenLooks{300};
  bool check();
  Watchdog::Check check_{kBetweenLooks, [this](Watchdog::Clock::time_point) { return check(); }};
};

}  // namespace h5mount::fuse
