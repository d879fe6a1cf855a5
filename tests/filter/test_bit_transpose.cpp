#include "bit_transpose.h"

#include <algorithm>

#include "blosc2/block_filters.h"
#include "bytes.h"

namespace h5mount::filter {
namespace {

using test::Bytes;

// The definition, bit by bit: the reference.
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
#if defined(__x86_64__)
      Bytes sse2(data.size());
      untranspose_bits_sse2(planes.data(), count, size, sse2.data());
      ASSERT_EQ(sse2, data) << size << " x " << count;
#endif
    }
  }
}

TEST(BloscFilters, DeltaUndoesTheDefinition) {
  for (const std::size_t typesize : {1, 2, 3, 4, 8, 16, 20, 24}) {
    const std::size_t word = typesize == 1 || typesize == 2 || typesize == 4 ? typesize
                             : typesize % 8 == 0                             ? 8
                                                                             : 1;
    for (const std::size_t size : {0, 1, 7, 15, 16, 17, 31, 32, 33, 40, 64, 101, 1000, 4099}) {
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

TEST(BloscFilters, ByteDeltaOfAnySizeAgreesWithTheDefinition) {
  for (const std::size_t planes : {1, 2, 3, 4, 8, 17}) {
    for (const std::size_t size : {0, 1, 15, 16, 17, 33, 64, 100, 257, 1000, 4099}) {
      const Bytes data = test::random_bytes(size, size + planes);
      const std::size_t length = size / planes;
      // In the old form the differences restart before the bytes that fill no vector.
      Bytes stored = data, old = data;
      for (std::size_t i = length * planes; i-- > 0;) {
        const std::size_t at = i % length;
        const auto before = at == 0 ? 0U : std::to_integer<unsigned>(data[i - 1]);
        stored[i] = static_cast<std::byte>(std::to_integer<unsigned>(data[i]) - before);
        old[i] = at == length / 16 * 16 ? data[i] : stored[i];
      }
      blosc::undo_byte_delta(planes, stored);
      EXPECT_EQ(stored, data) << planes << ' ' << size;
      blosc::undo_old_byte_delta(planes, old);
      EXPECT_EQ(old, data) << planes << ' ' << size;
    }
  }
}

TEST(BloscFilters, CellsOfAnyBlockAreRestored) {
  for (const std::vector<std::uint64_t>& shape : std::vector<std::vector<std::uint64_t>>{
           {1}, {7}, {16}, {4, 4}, {9, 5}, {3, 17}, {5, 4, 7}, {2, 3, 4, 5}}) {
    for (const std::size_t cell : {1, 2, 3, 4, 8, 255}) {
      for (const std::size_t item : {1, 4, 8, 12}) {
        std::size_t elements = 1;
        for (const std::uint64_t extent : shape) elements *= extent;
        const Bytes data = test::random_bytes(elements * item, elements + cell);
        // The order by definition: elements sorted by cell, within a cell by position.
        std::vector<std::pair<std::vector<std::uint64_t>, std::size_t>> order;
        for (std::size_t i = 0; i < elements; ++i) {
          std::vector<std::uint64_t> cells, places;
          for (std::size_t d = shape.size(), rest = i; d-- > 0; rest /= shape[d]) {
            cells.insert(cells.begin(), rest % shape[d] / cell);
            places.insert(places.begin(), rest % shape[d]);
          }
          cells.insert(cells.end(), places.begin(), places.end());
          order.emplace_back(cells, i);
        }
        std::ranges::sort(order);
        Bytes stored, out(data.size());
        for (const auto& [key, i] : order)
          stored.insert(stored.end(), data.begin() + i * item, data.begin() + (i + 1) * item);
        ASSERT_TRUE(blosc::undo_cells(shape, cell, stored, out));
        ASSERT_EQ(out, data) << shape.size() << "-d, cells of " << cell;
      }
    }
  }
}

TEST(BloscFilters, CellsWithoutAnArrayAreRefused) {
  const Bytes in(64);
  Bytes out(64);
  const std::uint64_t shape[] = {4, 4}, larger[] = {9, 9}, none[] = {0, 4}, odd[] = {3, 5};
  EXPECT_TRUE(blosc::undo_cells(shape, 2, in, out));
  EXPECT_FALSE(blosc::undo_cells(shape, 0, in, out));
  EXPECT_FALSE(blosc::undo_cells({}, 2, in, out));
  EXPECT_FALSE(blosc::undo_cells(larger, 2, in, out));
  EXPECT_FALSE(blosc::undo_cells(none, 2, in, out));
  EXPECT_FALSE(blosc::undo_cells(odd, 2, in, out));
}

}  // namespace
}  // namespace h5mount::filter
