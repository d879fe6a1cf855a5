// NodeTable: the nodes that the kernel (or a test) knows, by id and by key, each with its count of lookups.
// Sharded; an id's low bits name its shard. Ids are never reused.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "h5mount/base/thread_annotations.h"
#include "node.h"

namespace h5mount::tree {

class NodeTable {
 public:
  // The root exists for ever. Other ids are above `below`.
  explicit NodeTable(NodePtr root, NodeId below = 0);

  // The node of that id, or null.
  NodePtr find(NodeId id);

  // Counts a lookup of the node with this key: the one already known, else the given one.
  std::pair<NodeId, NodePtr> adopt(NodePtr node);

  void forget(NodeId id, std::uint64_t count);

  std::size_t size();
  std::vector<NodeId> ids();

 private:
  static constexpr std::size_t kShards = 16;

  struct Slot {
    NodePtr node;
    std::uint64_t lookups = 0;
  };
  struct KeyOf {
    const NodeKey* key;
    NodeId id;
  };
  struct HashKey {
    std::size_t operator()(const KeyOf& entry) const { return hash_of(*entry.key); }
  };
  struct SameKey {
    bool operator()(const KeyOf& a, const KeyOf& b) const { return *a.key == *b.key; }
  };
  struct Shard {
    Mutex mutex;
    std::unordered_map<NodeId, Slot> by_id H5_GUARDED_BY(mutex);
    std::unordered_set<KeyOf, HashKey, SameKey> by_key H5_GUARDED_BY(mutex);
    std::uint64_t next H5_GUARDED_BY(mutex) = 1;
  };

  Shard& shard_of(NodeId id) { return shards_[id % kShards]; }

  NodePtr root_;
  std::array<Shard, kShards> shards_;
};

}  // namespace h5mount::tree
