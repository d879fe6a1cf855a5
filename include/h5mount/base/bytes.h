// Byte order and small byte helpers. All loads are unaligned.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace h5mount {

using ByteSpan = std::span<const std::byte>;
using MutableByteSpan = std::span<std::byte>;

// The bytes [begin, end) of a file or of an image.
struct ByteRange {
  std::uint64_t begin = 0, end = 0;
  bool operator==(const ByteRange&) const = default;
};

static_assert(std::endian::native == std::endian::little, "h5mount is written for little-endian hosts");

template <class T>
[[nodiscard]] inline T load_le(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <class T>
[[nodiscard]] inline T load_be(const std::byte* at) {
  T value = load_le<T>(at);
  if constexpr (sizeof(T) == 2) return static_cast<T>(__builtin_bswap16(static_cast<std::uint16_t>(value)));
  if constexpr (sizeof(T) == 4) return static_cast<T>(__builtin_bswap32(static_cast<std::uint32_t>(value)));
  if constexpr (sizeof(T) == 8) return static_cast<T>(__builtin_bswap64(static_cast<std::uint64_t>(value)));
  return value;
}

// A little-endian unsigned integer of 0 to 8 bytes.
[[nodiscard]] inline std::uint64_t load_le_width(const std::byte* at, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = width; i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(at[i]);
  return value;
}

[[nodiscard]] inline std::string_view as_text(ByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

[[nodiscard]] inline ByteSpan as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace h5mount
