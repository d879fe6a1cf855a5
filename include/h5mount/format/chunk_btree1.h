// Nodes of the version 1 B-tree that indexes chunks (specification III.A.1, node type 1).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "h5mount/format/cursor.h"

namespace h5mount::format {

// Returns -1, 0 or 1 if `a` is before, equal to or after `b` in row-major order. Both have `rank` entries.
inline int compare_coordinates(const std::uint64_t* a, const std::uint64_t* b, std::size_t rank) {
  for (std::size_t i = 0; i < rank; ++i)
    if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
  return 0;
}

// The used part of a node, keys as scaled coordinates (element offset / chunk dimension). Invariant, which
// searches and scans depend on: the children's keys ascend strictly; the decoder rejects others.
struct ChunkBTree1Node {
  struct Child {
    std::uint64_t address = kUndefinedAddress;  // level 0: of the chunk; above: of the node one level down
    std::uint32_t stored_size = 0;
    std::uint32_t filter_mask = 0;
  };

  std::uint8_t level = 0;
  std::size_t rank = 0;
  // rank entries for each child: the coordinates of the first chunk below it; then the last key, which is
  // after every chunk of the node.
  std::vector<std::uint64_t> keys;
  std::vector<Child> children;
  Field entries_used;
  bool last_key_is_of_chunk = false;  // it has the size of a stored chunk, as only a child's own key has

  std::size_t size() const { return children.size(); }
  const std::uint64_t* key(std::size_t i) const { return keys.data() + i * rank; }  // i <= size()
  std::size_t memory() const {
    return sizeof *this + keys.size() * sizeof keys[0] + children.size() * sizeof(Child);
  }

  // The number of keys that are not after `scaled`: the child before this position may hold it. 0: no child
  // may.
  std::size_t upper_bound(const std::uint64_t* scaled) const;
};

// The bounds that a node's parent sets; unset for a root.
struct ChunkBTree1Bounds {
  std::optional<std::uint8_t> level;     // the node's level; a root has any
  const std::uint64_t* first = nullptr;  // no key may be before it
  const std::uint64_t* end = nullptr;    // every key must be before it; null: the parent's last child

  bool before(const std::uint64_t* key, std::size_t rank) const {
    return first != nullptr && compare_coordinates(key, first, rank) < 0;
  }
  bool not_before_end(const std::uint64_t* key, std::size_t rank) const {
    return end != nullptr && compare_coordinates(key, end, rank) >= 0;
  }
  // Whether a node that was decoded under another parent satisfies these bounds too.
  bool contains(const ChunkBTree1Node& node) const;

  const std::uint64_t* last_key = nullptr;  // the parent's key behind this child; null for a root
  // Whether the node has more children than it states: its last key is then that of a child. A node's last
  // key equals its parent's next key, and that of a root is not a chunk's (docs/format-notes.md).
  bool cut_short(const ChunkBTree1Node& node) const;
};

// Bytes of a node with `entries` children.
std::uint64_t chunk_btree1_node_bytes(FileSizes sizes, std::size_t rank, std::uint64_t entries);

// Decodes the node's prefix only and returns its number of children.
Result<std::uint16_t> decode_chunk_btree1_entries(Cursor& cursor);

// Decodes the node; `chunk_dims` (rank entries, none zero) scale the keys. Fails for a node outside `bounds`:
// with Cycle if its level is not one below the parent's, with InvalidValue for keys.
Result<ChunkBTree1Node> decode_chunk_btree1_node(Cursor& cursor, std::span<const std::uint64_t> chunk_dims,
                                                 const ChunkBTree1Bounds& bounds);

}  // namespace h5mount::format
