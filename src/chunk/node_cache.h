// The cache of decoded nodes and pages of one index, by address.
#pragma once

#include "h5mount/base/lru_cache.h"

namespace h5mount::chunk {

// Holds the path down any tree and many leaves (a page of 1,024 elements takes 8 to 20 KiB, a B-tree node
// about 4 KiB), and is small enough for every open dataset to have one.
inline constexpr std::size_t kNodeCacheBytes = 2U << 20;
// Entries kept whatever their size: the path from the root to one page, so that a scan of huge pages does not
// read them again for every element.
inline constexpr std::size_t kNodeCacheLeast = 4;

template <class Node>
class NodeCache : public LruCache<Node> {
 public:
  NodeCache() : LruCache<Node>(kNodeCacheBytes, kNodeCacheLeast) {}
};

}  // namespace h5mount::chunk
