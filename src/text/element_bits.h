// The bits of one stored number, whatever its byte order.
#pragma once

#include <vector>

#include "h5mount/format/datatype.h"

namespace h5mount::text {

// The element's bytes in little-endian order. VAX order keeps the bytes of each 16-bit word and reverses the
// order of the words.
inline std::vector<std::byte> little_endian_bytes(ByteSpan element, format::ByteOrder order) {
  std::vector<std::byte> out(element.begin(), element.end());
  const std::size_t size = out.size();
  if (order == format::ByteOrder::Big) {
    for (std::size_t i = 0; i < size; ++i) out[i] = element[size - 1 - i];
  } else if (order == format::ByteOrder::Vax) {
    for (std::size_t i = 0; i + 1 < size; i += 2) {
      out[i] = element[size - 2 - i];
      out[i + 1] = element[size - 1 - i];
    }
  }
  return out;
}

// `count` bits from bit `first` on, as little-endian bytes; the caller keeps the range within `bytes`.
inline std::vector<std::byte> bit_range(ByteSpan bytes, std::size_t first, std::size_t count) {
  std::vector<std::byte> out((count + 7) / 8);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t at = first / 8 + i;
    unsigned value = std::to_integer<unsigned>(bytes[at]) >> first % 8;
    if (first % 8 != 0 && at + 1 < bytes.size())
      value |= std::to_integer<unsigned>(bytes[at + 1]) << (8 - first % 8);
    out[i] = static_cast<std::byte>(value);
  }
  if (count % 8 != 0) out.back() &= static_cast<std::byte>((1U << count % 8) - 1);
  return out;
}

}  // namespace h5mount::text
