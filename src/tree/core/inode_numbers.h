// Inode numbers that are stable from mount to mount, computed from what does not change between mounts.
#pragma once

#include <cstdint>
#include <string_view>

namespace h5mount::tree {

// Every bit of the input affects every bit of the result.
std::uint64_t mix_bits(std::uint64_t value);

// A number for st_ino, never 0 or 1.
std::uint64_t make_ino(std::uint64_t parent, std::uint64_t what);
std::uint64_t make_ino(std::uint64_t parent, std::string_view what);

}  // namespace h5mount::tree
