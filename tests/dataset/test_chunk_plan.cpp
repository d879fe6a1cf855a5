// Every traversal of a ChunkPlan is compared with the definition: element coordinates one by one.
#include "chunked/chunk_plan.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>

namespace h5mount::dataset {
namespace {

chunk::ChunkGeometry geometry(std::vector<std::uint64_t> dims, std::vector<std::uint64_t> chunk,
                              std::uint32_t element) {
  chunk::ChunkGeometry g;
  g.dims = g.max_dims = dims;
  g.chunk_dims = chunk;
  g.element_size = element;
  g.chunk_bytes = element;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    g.chunk_bytes *= chunk[i];
    g.grid.push_back((dims[i] + chunk[i] - 1) / chunk[i]);
  }
  return g;
}

struct Place {
  std::uint64_t chunk, at;
};

// The position of image byte `b`, by the definition.
Place place_of(const chunk::ChunkGeometry& g, std::uint64_t b) {
  std::uint64_t e = b / g.element_size, chunk = 0, in = 0, cs = 1, es = 1;
  for (std::size_t i = g.dims.size(); i-- > 0;) {
    const std::uint64_t x = e % g.dims[i];
    e /= g.dims[i];
    chunk += x / g.chunk_dims[i] * cs;
    cs *= g.grid[i];
    in += x % g.chunk_dims[i] * es;
    es *= g.chunk_dims[i];
  }
  return {chunk, in * g.element_size + b % g.element_size};
}

void check(const chunk::ChunkGeometry& g) {
  const ChunkPlan plan(g);
  const std::uint64_t bytes =
      std::accumulate(g.dims.begin(), g.dims.end(), std::uint64_t{g.element_size}, std::multiplies<>());
  ASSERT_EQ(plan.image_bytes(), bytes);
  // Runs of the image, from odd offsets too.
  for (const std::uint64_t from : {std::uint64_t{0}, bytes / 3, bytes / 2 + 1}) {
    if (from >= bytes) continue;
    std::uint64_t at = from;
    plan.for_each_image_run(from, bytes - from, [&](std::uint64_t chunk, std::uint64_t in, std::uint64_t n) {
      for (std::uint64_t k = 0; k < n; ++k) {
        const Place p = place_of(g, at + k);
        EXPECT_EQ(p.chunk, chunk);
        EXPECT_EQ(p.at, in + k);
      }
      at += n;
      return true;
    });
    EXPECT_EQ(at, bytes);
  }
  // Runs at equal distances.
  for (std::uint64_t at = 0; at < bytes; ++at) {
    for (const std::uint64_t distance : {std::uint64_t{1}, std::uint64_t{3}, g.element_size * g.dims.back(),
                                         2 * g.element_size * g.dims.back()}) {
      const Place first = place_of(g, at);
      const ChunkPlan::Steps steps = plan.steps_from(at, first.at, 1, distance);
      for (std::uint64_t i = 1; i <= steps.count; ++i) {
        ASSERT_LT(at + i * distance, bytes);
        const Place p = place_of(g, at + i * distance);
        ASSERT_EQ(p.chunk, first.chunk);
        ASSERT_EQ(p.at, first.at + i * steps.in_chunk);
      }
    }
  }
  // Row blocks: each image byte is in the one that its offset determines, and placing every chunk covers the
  // image once.
  std::vector<int> covered(bytes, 0);
  for (std::uint64_t row_block = 0; row_block < plan.row_block_count(); ++row_block) {
    const std::uint64_t start = plan.row_block_offset(row_block);
    ASSERT_EQ(plan.row_block_offset(row_block + 1), start + plan.row_block_bytes(row_block));
    EXPECT_EQ(plan.row_block_at(start), row_block);
    EXPECT_EQ(plan.row_block_at(start + plan.row_block_bytes(row_block) - 1), row_block);
    const std::uint64_t rows = plan.row_block_rows(row_block);
    for (std::uint64_t c = 0; c < plan.chunks_per_row_block(); ++c) {
      const std::uint64_t chunk = row_block * plan.chunks_per_row_block() + c;
      for (std::uint64_t first = 0; first < rows; first += 2) {  // two rows at a time
        plan.for_each_chunk_run(chunk, {first, 2},
                                [&](std::uint64_t from, std::uint64_t to, std::uint64_t n) {
                                  for (std::uint64_t k = 0; k < n; ++k) {
                                    const std::uint64_t image = start + first * plan.row_bytes() + to + k;
                                    const Place p = place_of(g, image);
                                    EXPECT_EQ(p.chunk, chunk);
                                    EXPECT_EQ(p.at, from + k);
                                    ++covered[image];
                                  }
                                });
      }
    }
  }
  EXPECT_TRUE(std::ranges::all_of(covered, [](int n) { return n == 1; }));
}

TEST(ChunkPlan, EveryByteOfManyShapes) {
  check(geometry({10}, {4}, 3));
  check(geometry({8, 8}, {4, 4}, 8));
  check(geometry({9, 7}, {4, 3}, 2));
  check(geometry({5, 6}, {1, 4}, 4));
  check(geometry({5, 6}, {1, 6}, 4));
  check(geometry({4, 3, 5}, {2, 3, 5}, 1));
  check(geometry({4, 3, 5}, {1, 2, 5}, 2));
  check(geometry({3, 4, 5, 2}, {1, 1, 2, 2}, 1));
  check(geometry({2, 2}, {5, 7}, 4));  // one chunk larger than the extent
}

TEST(ChunkPlan, RandomShapes) {
  std::mt19937 random(7);
  for (int i = 0; i < 60; ++i) {
    std::vector<std::uint64_t> dims, chunk;
    const std::size_t rank = 1 + random() % 4;
    for (std::size_t d = 0; d < rank; ++d) {
      dims.push_back(1 + random() % 7);
      chunk.push_back(1 + random() % 5);
    }
    check(geometry(dims, chunk, 1 + random() % 4));
  }
}

// Not fewer than there are: a column of three rows in each of two tiles.
TEST(ChunkPlan, StepsEndWithTheChunk) {
  const ChunkPlan plan(geometry({6, 8}, {3, 4}, 2));
  EXPECT_EQ(plan.steps_from(0, 0, 2, 16).count, 2U);
  EXPECT_EQ(plan.steps_from(0, 0, 2, 16).in_chunk, 8U);
  EXPECT_EQ(plan.steps_from(32, 16, 2, 16).count, 0U);
  EXPECT_EQ(plan.steps_from(48, 0, 2, 32).count, 1U);
  EXPECT_EQ(plan.steps_from(0, 0, 2, 4).count, 1U);  // in one row
  EXPECT_EQ(plan.steps_from(0, 0, 2, 20).count, 0U);
}

TEST(ChunkPlan, EdgesAndScaledCoordinates) {
  const ChunkPlan plan(geometry({5, 6}, {2, 3}, 1));
  std::uint64_t scaled[2];
  plan.scaled_of(5, scaled);
  EXPECT_EQ(scaled[0], 2U);
  EXPECT_EQ(scaled[1], 1U);
  EXPECT_FALSE(plan.is_edge(3));
  EXPECT_TRUE(plan.is_edge(4));
  EXPECT_FALSE(plan.linear());
  EXPECT_TRUE(ChunkPlan(geometry({5, 6}, {2, 6}, 1)).linear());
}

}  // namespace
}  // namespace h5mount::dataset
