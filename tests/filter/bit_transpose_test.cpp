#include "bit_transpose.h"

#include "bytes.h"
#include "blosc2/block_filters.h"

namespace h5mount::filter {
namespace {

using test::Bytes;

// The definition, bit by bit.
Bytes transposed(const Bytes& bytes, std::size_t size) {
  const std::size_t count = bytes.size() / size;
  Bytes out(bytes.size());
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t bit = 0; bit < 8 * size; ++bit) {
      const auto value = std::to_integer<unsigned>(bytes[i * size + bit / 8]) >> bit % 8 & 1U;
      out[bit * (count / 8) + i / 8] |= static_cast<std::byte>(value << i % 8);
    }
  }
  return out;
}

TEST(BitTranspose, EverySizeAndCountAgreesWithTheDefinition) {
  for (const std::size_t size : {1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 24, 33, 100, 255, 256, 257, 300}) {
    for (const std::size_t count : {8, 16, 24, 120, 128, 136, 256, 264, 512, 1000, 4096}) {
      const Bytes data = test::random_bytes(size * count, size * 10'000 + count);
      const Bytes planes = transposed(data, size);
      Bytes out(data.size());
      untranspose_bits(planes.data(), count, size, out.data());
      ASSERT_EQ(out, data) << size << " x " << count;
      Bytes plain(data.size());
      untranspose_bits_plain(planes.data(), count, size, plain.data());
      ASSERT_EQ(plain, data) << size << " x " << count;
    }
  }
}

TEST(BloscFilters, DeltaUndoesWhatTheDefinitionDoes) {
  for (const std::size_t typesize : {1, 2, 3, 4, 8, 16, 20, 24}) {
    const std::size_t word = typesize == 1 || typesize == 2 || typesize == 4 ? typesize
                             : typesize % 8 == 0                             ? 8
                                                                             : 1;
    for (const std::size_t size : {0, 1, 7, 64, 101, 1000}) {
      const Bytes data = test::random_bytes(size, size + typesize);
      const Bytes first = test::random_bytes(size, 9);
      const std::size_t covered = size / word * word;
      Bytes chained = data, against = data;
      for (std::size_t i = covered; i-- > word;) chained[i] ^= data[i - word];
      for (std::size_t i = 0; i < covered; ++i) against[i] ^= first[i];
      blosc::undo_delta(typesize, {}, chained);
      EXPECT_EQ(chained, data) << typesize << ' ' << size;
      if (size == 0) continue;
      blosc::undo_delta(typesize, first, against);
      EXPECT_EQ(against, data) << typesize << ' ' << size;
    }
  }
}

TEST(BloscFilters, ByteDeltaSumsEachPlane) {
  Bytes block = {std::byte{1}, std::byte{2}, std::byte{255}, std::byte{5},
                 std::byte{5}, std::byte{5}, std::byte{9}};
  blosc::undo_byte_delta(2, block);
  EXPECT_EQ(block, (Bytes{std::byte{1}, std::byte{3}, std::byte{2}, std::byte{5}, std::byte{10},
                          std::byte{15}, std::byte{9}}));
}

}  // namespace
}  // namespace h5mount::filter
