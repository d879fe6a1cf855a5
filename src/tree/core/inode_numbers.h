// Inode numbers that are stable from mount to mount, computed from what does not change between mounts.
#pragma once

#include "h5mount/base/hash.h"
#include "h5mount/tree/tree.h"

namespace h5mount::tree {

// A number for st_ino, never 0 or 1.
inline std::uint64_t make_ino(std::uint64_t parent, std::uint64_t what) {
  const std::uint64_t ino = mix_bits({parent, what});
  return ino > kRootNode ? ino : ino + 2;
}
inline std::uint64_t make_ino(std::uint64_t parent, std::string_view what) {
  return make_ino(parent, fnv1a(what));
}

}  // namespace h5mount::tree
