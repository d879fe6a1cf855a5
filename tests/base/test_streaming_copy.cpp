#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "h5mount/base/streaming_copy.h"

namespace h5mount {
namespace {

// Beginnings and ends at every place of a cache line; the bytes around them stay as they are.
TEST(StreamingCopy, WritesExactlyItsBytes) {
  constexpr std::size_t kMargin = 64, kMax = 300;
  std::vector<unsigned char> numbers(kMax + kMargin);
  std::iota(numbers.begin(), numbers.end(), static_cast<unsigned char>(1));
  const ByteSpan source = std::as_bytes(std::span(numbers));
  for (std::size_t begin = 0; begin < kMargin; ++begin) {
    for (std::size_t size = 0; size <= kMax - kMargin; ++size) {
      std::vector<std::byte> target(kMax + kMargin, std::byte{0xEE}), expected = target;
      const ByteSpan from = source.subspan(begin / 3, size);
      std::copy(from.begin(), from.end(), expected.begin() + static_cast<std::ptrdiff_t>(begin));
      streaming_copy(from, MutableByteSpan(target).subspan(begin, size));
      end_streaming();
      ASSERT_EQ(target, expected) << size << " bytes at " << begin;
    }
  }
}

}  // namespace
}  // namespace h5mount
