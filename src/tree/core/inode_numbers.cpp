#include "inode_numbers.h"

#include "h5mount/tree/names.h"
#include "h5mount/tree/tree.h"

namespace h5mount::tree {

// The finaliser of splitmix64.
std::uint64_t mix_bits(std::uint64_t value) {
  value += 0x9E37'79B9'7F4A'7C15U;
  value = (value ^ (value >> 30)) * 0xBF58'476D'1CE4'E5B9U;
  value = (value ^ (value >> 27)) * 0x94D0'49BB'1331'11EBU;
  return value ^ (value >> 31);
}

std::uint64_t make_ino(std::uint64_t parent, std::uint64_t what) {
  const std::uint64_t ino = mix_bits(mix_bits(parent) ^ what);
  return ino > kRootNode ? ino : ino + 2;
}

std::uint64_t make_ino(std::uint64_t parent, std::string_view what) {
  return make_ino(parent, fnv1a(what));
}

}  // namespace h5mount::tree
