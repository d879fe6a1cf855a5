// Row-major order of an array's positions: the last dimension varies fastest. Extents are numbers of
// positions per dimension, none of them zero; an array of rank 0 has one position.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace h5mount {

// Steps `at` to the next position; dimension i has `extent(i)` positions. Returns the dimension that was
// incremented (later dimensions are reset to zero), or nullopt after the last position (all are reset to
// zero).
template <std::invocable<std::size_t> Extent>
constexpr std::optional<std::size_t> next_row_major(std::span<std::uint64_t> at, Extent extent) {
  for (std::size_t i = at.size(); i-- > 0;) {
    if (++at[i] < extent(i)) return i;
    at[i] = 0;
  }
  return std::nullopt;
}

constexpr std::optional<std::size_t> next_row_major(std::span<std::uint64_t> at,
                                                    std::span<const std::uint64_t> extents) {
  return next_row_major(at, [&](std::size_t i) { return extents[i]; });
}

// The number of a position counted in row-major order, and the position of a number. Precondition: the
// product of the extents fits 64 bits.
constexpr std::uint64_t row_major_number(std::span<const std::uint64_t> at,
                                         std::span<const std::uint64_t> extents) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < extents.size(); ++i) number = number * extents[i] + at[i];
  return number;
}

constexpr void row_major_place(std::uint64_t number, std::span<const std::uint64_t> extents,
                               std::span<std::uint64_t> at) {
  for (std::size_t i = extents.size(); i-- > 0; number /= extents[i]) at[i] = number % extents[i];
}

}  // namespace h5mount
