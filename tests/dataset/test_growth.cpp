// What is kept of a chunked dataset from one state of a growing file to the next, and which bytes become
// stale.
#include "core/growth.h"

#include <gtest/gtest.h>

#include "h5mount/dataset/open_dataset.h"
#include "support/corpus.h"

namespace h5mount::test {
namespace {

using Ranges = std::vector<dataset::ByteRange>;

std::shared_ptr<cache::BlockCache> small_cache() {
  return std::make_shared<cache::BlockCache>(1U << 20);
}

void put(cache::BlockCache& cache, std::uint64_t owner) {
  ASSERT_TRUE(cache.get_or_load({owner, 0, 0}, 16, [](cache::Block&) -> Status { return {}; }, Unbounded()));
}

TEST(Growth, AFinishedBlockIsAskedForOnce) {
  const auto cache = small_cache();
  dataset::GrowthState first(cache, nullptr);
  int asked = 0;
  const auto finished = [&] { return ++asked, true; };
  EXPECT_EQ(first.owner_of(0, 7, {0, 10}, finished), first.shared_owner());
  EXPECT_EQ(first.owner_of(0, 7, {0, 10}, finished), first.shared_owner());
  dataset::GrowthState second(cache, &first);
  EXPECT_EQ(second.owner_of(0, 7, {0, 10}, finished), first.shared_owner());
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(second.owner_of(1, 7, {0, 10}, finished), first.shared_owner()) << "a block of another kind";
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(dataset::GrowthState(cache, &second).stale(), Ranges{}) << "finished blocks stay right";
}

TEST(Growth, AnUnfinishedBlockIsAskedForOnceAState) {
  const auto cache = small_cache();
  dataset::GrowthState first(cache, nullptr);
  int asked = 0;
  const auto unfinished = [&] { return ++asked, false; };
  EXPECT_EQ(first.owner_of(0, 7, {70, 80}, unfinished), first.own_owner());
  EXPECT_EQ(first.owner_of(0, 7, {70, 80}, unfinished), first.own_owner());
  EXPECT_EQ(asked, 1);
  dataset::GrowthState second(cache, &first);
  EXPECT_NE(second.own_owner(), first.own_owner());
  EXPECT_EQ(second.owner_of(0, 7, {70, 80}, [&] { return ++asked, true; }), first.shared_owner());
  EXPECT_EQ(asked, 2);
}

TEST(Growth, TheDeltaOfAStateIsWhatWasPublishedSinceTheOneBefore) {
  dataset::Growth growth(small_cache());
  EXPECT_EQ(growth.begin_state(0).stale, Ranges{});
  growth.note_published({0, 10});
  growth.note_published({10, 20});  // adjacent to the last range: joined
  growth.note_published({50, 60});
  EXPECT_EQ(growth.begin_state(1).stale, (Ranges{{0, 20}, {50, 60}}));
  growth.note_published({55, 70});  // not joined with ranges of the state before
  EXPECT_EQ(growth.begin_state(2).stale, (Ranges{{55, 70}}));
  EXPECT_EQ(growth.begin_state(3).stale, Ranges{});
}

TEST(Growth, AStateThatFailedTakesNothingFromTheOneAfterIt) {
  dataset::Growth growth(small_cache());
  const std::uint64_t first = growth.begin_state(0).number;
  growth.note_published({0, 10});
  const auto failed = growth.begin_state(first);
  growth.note_published({30, 40});
  const auto second = growth.begin_state(first);
  EXPECT_EQ(failed.stale, (Ranges{{0, 10}}));
  EXPECT_EQ(second.stale, (Ranges{{0, 10}, {30, 40}}));
  EXPECT_EQ(growth.begin_state(second.number).stale, Ranges{});
}

TEST(Growth, TooManyRangesAreToldAsOneThatCoversThem) {
  dataset::Growth growth(small_cache());
  const std::uint64_t one = growth.begin_state(0).number;
  for (std::uint64_t i = 0; i < 1000; ++i) growth.note_published({1000 * (i + 1), 1000 * (i + 1) + 10});
  const Ranges stale = growth.begin_state(one).stale;
  ASSERT_LE(stale.size(), 256U);
  for (std::uint64_t i = 0; i < 1000; ++i)
    EXPECT_TRUE(std::ranges::any_of(stale, [&](const dataset::ByteRange& range) {
      return range.begin <= 1000 * (i + 1) && range.end >= 1000 * (i + 1) + 10;
    })) << i;
}

TEST(Growth, BlocksGoWithTheirState) {
  const auto cache = small_cache();
  auto first = std::make_unique<dataset::GrowthState>(cache, nullptr);
  put(*cache, first->own_owner());
  put(*cache, first->shared_owner());
  const std::uint64_t own = first->own_owner(), shared = first->shared_owner();
  auto second = std::make_unique<dataset::GrowthState>(cache, first.get());
  first.reset();
  EXPECT_EQ(cache->peek({own, 0, 0}), nullptr);
  EXPECT_NE(cache->peek({shared, 0, 0}), nullptr);
  second.reset();
  EXPECT_EQ(cache->peek({shared, 0, 0}), nullptr);
}

// ---- a growing dataset: one of the example file, at first with fewer rows

// Bytes of a frame of /radar/reflectivity, whose chunks are 4 x 48 x 64; its last frames are absent.
constexpr std::uint64_t kRow = 96 * 128 * 2;

struct Example {
  explicit Example(const std::string& path, metadata::Follow follow = metadata::Follow::Always) {
    files = *object::FileSet::open((source_root() / "tests/data/weather.h5").string(),
                                   object::ExternalPolicy::None, metadata::MetadataOptions{.follow = follow});
    environment = {std::make_shared<cache::BlockCache>(16U << 20), std::make_shared<cache::WorkerPool>(1),
                   files};
    const metadata::FileMetadataPtr file = files->main()->snapshot();
    description = *object::describe_dataset(
        *file, *object::open_object(*file, *object::resolve_path(file, file->root_address(), path)));
  }

  dataset::NextReader open(const std::vector<std::uint64_t>& dims, const dataset::NextReader& before = {}) {
    object::DatasetDescription state = description;
    state.space.dims = dims;
    state.image_bytes = state.element_size;
    for (const std::uint64_t dim : dims) state.image_bytes *= dim;
    auto opened =
        dataset::open_next_dataset(environment, files->main(), std::move(state), before.reader, Unbounded());
    EXPECT_TRUE(opened) << opened.error().text();
    return opened ? *opened : dataset::NextReader{};
  }

  std::shared_ptr<object::FileSet> files;
  dataset::ReadEnvironment environment;
  object::DatasetDescription description;
};

// Reads [begin, end) as random readers do; returns the number of chunks decoded for it.
std::uint64_t read_randomly(const Example& example, const dataset::DatasetReader& reader, std::uint64_t begin,
                            std::uint64_t end) {
  const std::uint64_t before = example.environment.counters->chunks_decoded;
  for (std::uint64_t at = begin; at < end; at += 4096) {
    dataset::Pieces pieces;
    EXPECT_TRUE(reader.read(at, std::min<std::uint64_t>(4096, end - at), {nullptr, Unbounded()}, pieces));
  }
  return example.environment.counters->chunks_decoded - before;
}

TEST(GrowingDataset, FinishedChunksStayAndTheLastOnesAreReadAgain) {
  Example example("radar/reflectivity");
  const auto first = example.open({14, 96, 128});  // the last row block has 2 of its 4 rows
  ASSERT_TRUE(first.reader);
  EXPECT_EQ(read_randomly(example, *first.reader, 0, first.reader->size()), 16U);
  EXPECT_EQ(read_randomly(example, *first.reader, 0, first.reader->size()), 0U);

  const auto second = example.open({20, 96, 128}, first);
  ASSERT_TRUE(second.reader);
  EXPECT_EQ(second.stale, (Ranges{{12 * kRow, 14 * kRow}}));
  EXPECT_EQ(read_randomly(example, *second.reader, 0, second.reader->size()), 8U)
      << "the row block that was begun and the new one";

  const auto third = example.open({20, 96, 128}, second);
  ASSERT_TRUE(third.reader);
  EXPECT_EQ(third.stale, (Ranges{{16 * kRow, 20 * kRow}}));
  EXPECT_EQ(read_randomly(example, *third.reader, 0, third.reader->size()), 4U)
      << "nothing behind tells that the last row block is finished";
}

TEST(GrowingDataset, ReadersThatFollowTheSameOneHaveTheSameDelta) {
  Example example("radar/reflectivity");
  const auto first = example.open({14, 96, 128});
  ASSERT_TRUE(first.reader);
  (void)read_randomly(example, *first.reader, 0, first.reader->size());
  const Ranges stale{{12 * kRow, 14 * kRow}};
  EXPECT_EQ(example.open({20, 96, 128}, first).stale, stale);
  EXPECT_EQ(example.open({20, 96, 128}, first).stale, stale);
}

TEST(GrowingDataset, OnlyWhatWasReadIsStale) {
  Example example("radar/reflectivity");
  const auto first = example.open({18, 96, 128});
  ASSERT_TRUE(first.reader);
  (void)read_randomly(example, *first.reader, 0, 8 * kRow);
  const auto second = example.open({24, 96, 128}, first);
  EXPECT_EQ(second.stale, Ranges{});
  const auto third = example.open({24, 96, 128}, second);
  EXPECT_EQ(third.stale, Ranges{});
}

// The reader of a file that is not followed keeps no record of what it returned.
TEST(GrowingDataset, WhatWasReadBeforeTheFileWasFollowedIsStale) {
  Example quiet("radar/reflectivity", metadata::Follow::Never), followed("radar/reflectivity");
  const auto first = quiet.open({18, 96, 128});
  ASSERT_TRUE(first.reader);
  (void)read_randomly(quiet, *first.reader, 0, first.reader->size());
  const auto second = followed.open({18, 96, 128}, first);
  ASSERT_TRUE(second.reader);
  EXPECT_EQ(second.stale, (Ranges{{0, format::kUnlimited}}));
}

TEST(GrowingDataset, RowsThatGetLongerMoveEverything) {
  Example example("radar/reflectivity");
  const auto first = example.open({24, 96, 100});
  ASSERT_TRUE(first.reader);
  const auto second = example.open({24, 96, 128}, first);
  EXPECT_EQ(second.stale, (Ranges{{0, format::kUnlimited}}));
  EXPECT_EQ(read_randomly(example, *second.reader, 0, 4 * kRow), 4U);
}

TEST(GrowingDataset, AHoleThatWasShownMayBeFilled) {
  Example example("radar/clutter");  // one of its chunks is allocated
  const std::uint64_t chunk = 4 * 96 * 128;
  const auto first = example.open(example.description.space.dims);
  ASSERT_TRUE(first.reader);
  const auto data = first.reader->find_data(0, Unbounded());
  ASSERT_TRUE(data);
  const std::uint64_t hole = *data == 0 ? chunk : 0;
  (void)read_randomly(example, *first.reader, hole, hole + 10);
  const auto second = example.open(example.description.space.dims, first);
  EXPECT_EQ(second.stale, (Ranges{{hole, hole + chunk}}));
}

}  // namespace
}  // namespace h5mount::test
