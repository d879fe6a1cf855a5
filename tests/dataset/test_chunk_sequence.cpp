// Chunks that are read one by one: those that follow are decoded ahead of a reader in their order, and of no
// other.
#include <gtest/gtest.h>

#include "memory_dataset.h"

namespace h5mount::test {
namespace {

class ChunkSequence : public testing::Test {
 protected:
  // Reads these chunks in parts; when it returns, what was to be read ahead is there.
  void read(const std::vector<std::uint64_t>& chunks) {
    with_busy_worker(*environment_.workers, [&] {
      for (const std::uint64_t chunk : chunks)
        for (const std::uint64_t half : {0U, 512U}) {
          dataset::Pieces pieces;
          const Status read = reader_->read_chunk(chunk, half, 512, pieces, Unbounded());
          ASSERT_TRUE(read) << read.error().text();
          std::vector<std::byte> bytes(512);
          ASSERT_TRUE(dataset::copy_pieces(pieces.list(), bytes));
          const auto at = data_.image().begin() + static_cast<std::ptrdiff_t>(1024 * chunk + half);
          EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), at)) << chunk;
        }
    });
  }
  std::uint64_t ahead() const { return environment_.counters->units_ahead; }
  std::uint64_t decoded() const { return environment_.counters->chunks_decoded; }

  MemoryDataset data_{{.dims = {65'536}, .chunk_dims = {1024}, .filtered = true}, 3};
  dataset::ReadEnvironment environment_ = data_.environment(16U << 20, 1);
  std::shared_ptr<const dataset::DatasetReader> reader_ = data_.open_reader(environment_);
};

TEST_F(ChunkSequence, WhatFollowsIsDecodedAhead) {
  const std::uint64_t ahead_before = ahead();
  read({10, 11, 12});
  EXPECT_GT(ahead(), ahead_before);
  with_busy_worker(*environment_.workers, [&] {
    const std::uint64_t decoded_before = decoded();
    dataset::Pieces pieces;
    ASSERT_TRUE(reader_->read_chunk(13, 0, 1024, pieces, Unbounded()));
    EXPECT_EQ(decoded(), decoded_before);
  });
}

TEST_F(ChunkSequence, OtherOrdersAreLeftAlone) {
  const std::uint64_t before = ahead();
  read({0, 8, 16, 24, 32, 40, 48, 56});        // a column
  read({7, 6, 5, 4, 3, 2, 1, 0});              // backwards
  read({30, 32, 34, 36, 38, 40, 41, 45, 44});  // near one another
  EXPECT_EQ(ahead(), before);
}

TEST_F(ChunkSequence, TheLastChunkIsTheEnd) {
  read({60, 61, 62, 63});
  read({63, 62, 63});
}

}  // namespace
}  // namespace h5mount::test
