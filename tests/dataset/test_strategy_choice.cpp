// Which strategy serves which dataset and access, and what is made ahead of a forward reader.
#include <gtest/gtest.h>

#include <mutex>
#include <set>

#include "chunked/read_strategy.h"
#include "core/unit_readahead.h"
#include "memory_dataset.h"

namespace h5mount::test {
namespace {

constexpr std::uint64_t kMiB = 1U << 20;

dataset::ChunkPlan plan_of(Coordinates dims, Coordinates chunk_dims, std::uint32_t element_size) {
  chunk::ChunkGeometry g{.dims = dims,
                         .max_dims = dims,
                         .chunk_dims = chunk_dims,
                         .element_size = element_size,
                         .chunk_bytes = element_size,
                         .filtered = false,
                         .grid = {}};
  for (std::size_t i = 0; i < dims.size(); ++i) {
    g.chunk_bytes *= chunk_dims[i];
    g.grid.push_back((dims[i] + chunk_dims[i] - 1) / chunk_dims[i]);
  }
  return dataset::ChunkPlan(g);
}

using Kinds = std::vector<dataset::StrategyKind>;
using enum dataset::StrategyKind;

// The choices for random access, whole rows, sequential access.
Kinds choices(const dataset::ChunkPlan& plan, bool filtered, std::uint64_t cache, bool partial = false) {
  const dataset::StrategyFacts facts{plan, filtered, partial, false, cache};
  return {dataset::choose_strategy(facts, dataset::Access::Random),
          dataset::choose_strategy(facts, dataset::Access::WholeRows),
          dataset::choose_strategy(facts, dataset::Access::Sequential)};
}

TEST(StrategyChoice, FilteredTiles) {
  const dataset::ChunkPlan tiles = plan_of({4096, 4096}, {256, 256}, 4);  // row blocks of 4 MiB
  EXPECT_EQ(choices(tiles, true, 256 * kMiB), (Kinds{Chunks, RowBlocks, RowBlocks}));
  EXPECT_EQ(choices(tiles, true, 256 * kMiB, true), (Kinds{Chunks, Chunks, RowBlocks}))
      << "parts of chunks can be decoded";
  EXPECT_EQ(choices(tiles, true, 16 * kMiB), (Kinds{Chunks, RowBlocks, RowBlocks}))
      << "a quarter of the cache";
  EXPECT_EQ(choices(tiles, true, 16 * kMiB - 1), (Kinds{Chunks, Chunks, Chunks}));
  EXPECT_EQ(choices(tiles, true, 5 * kMiB), (Kinds{Chunks, Spill, Spill})) << "more than three quarters";
}

TEST(StrategyChoice, UnfilteredChunks) {
  EXPECT_EQ(choices(plan_of({4096, 4096}, {256, 256}, 4), false, 256 * kMiB),
            (Kinds{Direct, Direct, RowBlocks}));
  EXPECT_EQ(choices(plan_of({4096, 16384}, {64, 4096}, 4), false, 256 * kMiB),
            (Kinds{Direct, Direct, Direct}))
      << "runs of 16 KiB";
  EXPECT_EQ(choices(plan_of({4096, 4096}, {64, 64}, 4), false, 256 * kMiB),
            (Kinds{Chunks, RowBlocks, RowBlocks}))
      << "runs of 256 bytes are not worth a slice each";
}

TEST(StrategyChoice, ChunksInImageOrder) {
  EXPECT_EQ(choices(plan_of({1U << 24}, {kMiB / 8}, 8), true, 256 * kMiB), (Kinds{Chunks, Chunks, Chunks}))
      << "large";
  EXPECT_EQ(choices(plan_of({1U << 24}, {1024}, 8), true, 256 * kMiB), (Kinds{Chunks, Chunks, RowBlocks}));
  EXPECT_EQ(choices(plan_of({1U << 24}, {100}, 8), true, 256 * kMiB),
            (Kinds{SmallRowBlocks, SmallRowBlocks, RowBlocks}))
      << "tiny";
}

TEST(StrategyChoice, AChunkLargerThanHalfTheCacheIsSpilledInAnyOrder) {
  EXPECT_EQ(choices(plan_of({1024, 1024}, {1024, 512}, 4), true, 3 * kMiB), (Kinds{Spill, Spill, Spill}));
}

TEST(StrategyChoice, NothingWritten) {
  const dataset::ChunkPlan plan = plan_of({10}, {2}, 4);
  EXPECT_EQ(dataset::choose_strategy({plan, false, false, true, kMiB}, dataset::Access::Sequential), Fill);
}

// ---- read-ahead

class CountingUnits : public dataset::ReadaheadUnits {
 public:
  std::uint64_t unit_end(std::uint64_t unit) const override { return (unit + 1) * 1000; }
  bool unit_cached(std::uint64_t unit) const override { return cached.contains(unit); }
  void make_unit(std::uint64_t unit) const override {
    const std::lock_guard lock(mutex);
    made.push_back(unit);
  }
  std::set<std::uint64_t> cached;
  mutable std::mutex mutex;
  mutable std::vector<std::uint64_t> made;
};

using Units = std::vector<std::uint64_t>;

TEST(Readahead, MakesWhatIsNotThereOnceAndNoMoreThanItsBytes) {
  const auto cache = std::make_shared<cache::BlockCache>(12000);  // a quarter: three units of 1000
  const auto workers = std::make_shared<cache::WorkerPool>(1);
  const auto units = std::make_shared<CountingUnits>();
  units->cached = {6};
  const dataset::Readahead ahead(cache, workers, std::make_shared<Counters>(), 1000, 9);
  dataset::ReadPattern pattern;
  with_busy_worker(*workers, [&] {
    ahead.advance(units, 2, pattern);
    ahead.advance(units, 2, pattern);
  });
  EXPECT_EQ(units->made, Units({3, 4, 5}));
  with_busy_worker(*workers, [&] { ahead.advance(units, 4, pattern); });
  EXPECT_EQ(units->made, Units({3, 4, 5, 7}));
  with_busy_worker(*workers, [&] { ahead.advance(units, 7, pattern); });
  EXPECT_EQ(units->made, Units({3, 4, 5, 7, 8})) << "to the end";
  with_busy_worker(*workers, [&] { ahead.advance(units, 8, pattern); });
  EXPECT_EQ(units->made.size(), 5U);
}

TEST(Readahead, AJobThatTheReaderHasOvertakenDoesNothing) {
  const auto workers = std::make_shared<cache::WorkerPool>(1);
  const auto units = std::make_shared<CountingUnits>();
  const dataset::Readahead ahead(std::make_shared<cache::BlockCache>(1U << 20), workers,
                                 std::make_shared<Counters>(), 1000, 100);
  dataset::ReadPattern pattern;
  with_busy_worker(*workers, [&] {
    ahead.advance(units, 0, pattern);
    (void)pattern.note(0, 15500);
  });
  EXPECT_EQ(units->made, Units({15, 16}));
}

TEST(Readahead, UnitsThatTheCacheCouldNotKeepAreNotMade) {
  const auto workers = std::make_shared<cache::WorkerPool>(1);
  const auto units = std::make_shared<CountingUnits>();
  const dataset::Readahead ahead(std::make_shared<cache::BlockCache>(2999), workers,
                                 std::make_shared<Counters>(), 1000, 100);
  dataset::ReadPattern pattern;
  with_busy_worker(*workers, [&] { ahead.advance(units, 0, pattern); });
  EXPECT_EQ(units->made, Units());
}

class ToldUnits final : public CountingUnits {
 public:
  explicit ToldUnits(std::uint64_t bytes) : stored(bytes) {}
  std::uint64_t will_make(std::uint64_t first, std::uint64_t last) const override {
    EXPECT_EQ(first, told_until) << "neither twice nor left out";
    told_until = last;
    return (last - first) * stored;
  }
  const std::uint64_t stored;
  mutable std::uint64_t told_until = 1;
};

// What is told is counted in stored bytes, whatever they are decoded to.
TEST(Readahead, AFarSourceIsToldOfSixteenRequestsAllTheTime) {
  const auto workers = std::make_shared<cache::WorkerPool>(1);
  for (const std::uint64_t stored : {kMiB, kMiB / 8, kMiB / 50, std::uint64_t{3'000}}) {
    const auto units = std::make_shared<ToldUnits>(stored);
    const dataset::Readahead ahead(std::make_shared<cache::BlockCache>(256 * kMiB), workers,
                                   std::make_shared<Counters>(), kMiB, 1U << 16, 1U << 16);
    dataset::ReadPattern pattern;
    std::uint64_t least = ~std::uint64_t{0}, most = 0;
    for (std::uint64_t unit = 0; unit < (30U << 10); ++unit) {
      ahead.advance(units, unit, pattern);
      const std::uint64_t bytes = (units->told_until - unit - 1) * stored;
      most = std::max(most, bytes);
      if (unit * stored > 50 * kMiB) least = std::min(least, bytes);
    }
    EXPECT_GE(least, 44 * kMiB) << stored;
    EXPECT_LE(most, 48 * kMiB) << stored;
  }
}

TEST(Readahead, WhatIsToldAtOnceIsBounded) {
  const auto units = std::make_shared<ToldUnits>(0);
  const dataset::Readahead ahead(std::make_shared<cache::BlockCache>(256 * kMiB),
                                 std::make_shared<cache::WorkerPool>(1), std::make_shared<Counters>(), kMiB,
                                 1U << 16, 100);
  dataset::ReadPattern pattern;
  for (std::uint64_t unit = 0; unit < 1000; ++unit) {
    ahead.advance(units, unit, pattern);
    EXPECT_LE(units->told_until, unit + 101);
  }
  EXPECT_GT(units->told_until, 1000U);
}

// ---- a forward reader

TEST(ForwardReader, FindsTheNextStripesMadeAndThoseBehindDropped) {
  // 14 MiB in row blocks of 64 KiB, filtered; stripes of 256 KiB.
  const MemoryDataset dataset(
      {.dims = {14336, 1024}, .chunk_dims = {64, 256}, .element_size = 1, .filtered = true}, 9);
  const dataset::ReadEnvironment environment = dataset.environment(16 * kMiB, 1);
  const auto reader = dataset.open_reader(environment);
  const auto decoded_for_row_at = [&](std::uint64_t offset) {
    const std::uint64_t before = environment.counters->chunks_decoded;
    dataset::Pieces pieces;
    EXPECT_TRUE(reader->read(offset, 1024, {nullptr, Unbounded()}, pieces));
    return environment.counters->chunks_decoded - before;
  };
  dataset::ReadPattern pattern;
  for (std::uint64_t at = 0; at < 8 * kMiB; at += kMiB / 2) {
    dataset::Pieces pieces;
    ASSERT_TRUE(reader->read(at, kMiB / 2, {&pattern, Unbounded()}, pieces));
    EXPECT_EQ(pieces.total(), kMiB / 2);
  }
  with_busy_worker(*environment.workers, [] {});  // read-ahead has ended
  EXPECT_LE(environment.cache->used(), 10 * kMiB) << "4 behind, 4 ahead, and what was read last";
  EXPECT_EQ(decoded_for_row_at(8 * kMiB), 0U) << "made ahead";
  EXPECT_EQ(decoded_for_row_at(8 * kMiB + 7 * kMiB / 2), 0U) << "made ahead";
  EXPECT_EQ(decoded_for_row_at(8 * kMiB + 9 * kMiB / 2), 16U) << "a quarter of the cache ahead, and no more";
  EXPECT_EQ(decoded_for_row_at(6 * kMiB), 0U) << "requests may come out of order";
  EXPECT_EQ(decoded_for_row_at(0), 16U) << "dropped";
}

}  // namespace
}  // namespace h5mount::test
