// SharedListings: the listings of directories that answers are made from. All clients that list a directory
// at the same time use one listing, so that their number takes no memory: all listings together take as much
// as the links of a file. Threads: any.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "h5mount/base/once_value.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/tree/tree.h"

namespace h5mount::serve {

using ListingPtr = std::shared_ptr<const tree::DirectoryListing>;

class SharedListings {
 public:
  // `version` is the file's. The caller must hold a reference to the directory as long as it uses the
  // listing.
  Result<ListingPtr> open(tree::Tree& tree, tree::NodeId directory, const std::string& version,
                          RequestBudget& budget);

 private:
  using Key = std::pair<tree::NodeId, std::string>;
  using Once = OnceValue<ListingPtr>;

  Mutex mutex_;
  std::map<Key, std::weak_ptr<Once>> listings_ H5_GUARDED_BY(mutex_);
};

}  // namespace h5mount::serve
