// OrderedNames: the entries of a directory sorted by the bytes of their names. OrderCache keeps those of the
// directories that were listed last: a client that lists page by page sorts each directory once. Threads:
// any.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../source/source.h"
#include "h5mount/base/lru_cache.h"
#include "h5mount/front/path_walk.h"

namespace h5mount::serve {

class OrderedNames {
 public:
  OrderedNames(std::shared_ptr<const Snapshot> snapshot, front::NodeReference directory, ListingPtr listing,
               std::vector<std::uint32_t> order);

  bool is_of(const Snapshot& snapshot) const { return snapshot_->tree == snapshot.tree; }
  std::size_t size() const { return order_.size(); }
  std::string name(std::size_t rank) const { return listing_->name_at(order_[rank]); }
  // The first entry whose name is not less than `name`.
  std::size_t lower_bound(std::string_view name) const;

  const tree::DirectoryListing& listing() const { return *listing_; }
  std::size_t position(std::size_t rank) const { return order_[rank]; }
  tree::NodeId directory() const { return directory_.id(); }

 private:
  const std::shared_ptr<const Snapshot> snapshot_;
  const front::NodeReference directory_;
  const ListingPtr listing_;
  const std::vector<std::uint32_t> order_;  // positions in the listing
};
using OrderedNamesPtr = std::shared_ptr<const OrderedNames>;

// Why entries of a directory are missing, if some are. If one of many files cannot be opened, it is a
// directory without entries.
std::optional<Error> trouble_of(tree::Tree& tree, tree::NodeId directory,
                                const tree::DirectoryListing& listing, RequestBudget& budget);

class OrderCache {
 public:
  // Takes over the caller's reference to the directory.
  Result<OrderedNamesPtr> open(const std::shared_ptr<const Snapshot>& snapshot,
                               front::NodeReference directory, RequestBudget& budget);

 private:
  // The numbers of directories, and of names in all of them, that are kept between two pages of a client. The
  // directory that was listed last is always kept.
  static constexpr std::size_t kMaxKept = 64, kMaxNames = std::size_t{1} << 20;
  using Clock = std::chrono::steady_clock;
  struct Kept {
    std::string version;
    Clock::time_point until;
    OrderedNamesPtr names;
  };

  LruCache<Kept> kept_{kMaxNames, 1};       // by directory; their size is the number of names
  std::atomic<std::uint64_t> opening_ = 0;  // of the source, which all that is kept belongs to
};

}  // namespace h5mount::serve
