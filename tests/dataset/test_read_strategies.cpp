// Every read strategy against an image assembled element by element: all ranges of small datasets, hits and
// misses, chunks at edges, missing and damaged ones, and the cache's budget.
#include <gtest/gtest.h>

#include "chunked/read_strategy.h"
#include "memory_dataset.h"

namespace h5mount::test {
namespace {

using Bytes = std::vector<std::byte>;

Bytes gathered(const dataset::Pieces& pieces) {
  Bytes out;
  for (const dataset::Piece& piece : pieces.list())
    out.insert(out.end(), piece.bytes.begin(), piece.bytes.end());
  EXPECT_EQ(out.size(), pieces.total());
  return out;
}

Bytes expected(const MemoryDataset& dataset, std::uint64_t offset, std::uint64_t length) {
  const auto begin = dataset.image().begin() + static_cast<std::ptrdiff_t>(offset);
  return {begin, begin + static_cast<std::ptrdiff_t>(length)};
}

dataset::ChunkedBlocksPtr blocks_of(const MemoryDataset& dataset,
                                    const dataset::ReadEnvironment& environment) {
  const object::DatasetDescription& d = dataset.description();
  auto geometry = chunk::ChunkGeometry::make(d.space, d.layout, dataset.shape().filtered);
  EXPECT_TRUE(geometry) << geometry.error().text();
  auto store = dataset::ChunkStore::open(dataset.open_file(), d, *geometry, std::size_t{64} << 20,
                                         environment.counters);
  EXPECT_TRUE(store) << store.error().text();
  return std::make_shared<const dataset::ChunkedBlocks>(environment, *std::move(store), nullptr);
}

const char* name_of(dataset::StrategyKind kind) {
  constexpr const char* kNames[] = {"Fill", "Direct", "Chunks", "RowBlocks", "SmallRowBlocks", "Spill"};
  return kNames[static_cast<std::size_t>(kind)];
}

// The strategies that can read the dataset, whichever would be chosen for it.
std::vector<dataset::StrategyKind> kinds_for(const DatasetShape& shape) {
  std::vector<dataset::StrategyKind> kinds{dataset::StrategyKind::Chunks, dataset::StrategyKind::RowBlocks,
                                           dataset::StrategyKind::SmallRowBlocks,
                                           dataset::StrategyKind::Spill};
  if (!shape.filtered) kinds.push_back(dataset::StrategyKind::Direct);
  return kinds;
}

void check_range(const dataset::ReadStrategy& strategy, const MemoryDataset& dataset, std::uint64_t offset,
                 std::uint64_t length) {
  dataset::Pieces pieces;
  const Status read = strategy.read(offset, length, pieces, Unbounded());
  ASSERT_TRUE(read) << read.error().text();
  ASSERT_EQ(gathered(pieces), expected(dataset, offset, length)) << "[" << offset << ", +" << length << ")";
}

void check_all_ranges(const dataset::ReadStrategy& strategy, const MemoryDataset& dataset) {
  const std::uint64_t size = dataset.image().size();
  for (std::uint64_t offset = 0; offset < size; ++offset)
    for (std::uint64_t length = 1; length <= size - offset; ++length) {
      check_range(strategy, dataset, offset, length);
      if (testing::Test::HasFatalFailure()) return;
    }
}

TEST(ReadStrategies, EveryRangeOfSmallDatasets) {
  std::mt19937 random(11);
  for (unsigned round = 0; round < 40; ++round) {
    DatasetShape shape = random_shape(random, round % 2 == 0 ? 60 : 25);
    shape.element_size = round % 2 == 0 ? 1 : 3;
    if (!shape.fill.empty()) shape.fill.resize(shape.element_size, std::byte{7});
    const MemoryDataset dataset(shape, round);
    for (const dataset::StrategyKind kind : kinds_for(shape)) {
      SCOPED_TRACE(testing::Message() << name_of(kind) << ", round " << round << ": " << text_of(shape));
      const auto blocks = blocks_of(dataset, dataset.environment(1U << 20, 1));
      check_all_ranges(*dataset::make_strategy(kind, blocks), dataset);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(ReadStrategies, RandomRangesOfLargerDatasets) {
  std::mt19937 random(12);
  for (unsigned round = 0; round < 40; ++round) {
    const DatasetShape shape = random_shape(random, 6000);
    const MemoryDataset dataset(shape, round);
    for (const dataset::StrategyKind kind : kinds_for(shape)) {
      SCOPED_TRACE(testing::Message() << name_of(kind) << ", round " << round << ": " << text_of(shape));
      // A cache that holds little besides the blocks in use.
      const auto blocks = blocks_of(dataset, dataset.environment(8U << 10));
      const dataset::ReadStrategyPtr strategy = dataset::make_strategy(kind, blocks);
      for (int i = 0; i < 30; ++i) {
        const std::uint64_t offset = random() % dataset.image().size();
        check_range(*strategy, dataset, offset, 1 + random() % (dataset.image().size() - offset));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(ReadStrategies, NothingWrittenIsFill) {
  DatasetShape shape{
      .dims = {5, 7}, .chunk_dims = {2, 3}, .element_size = 2, .fill = {std::byte{1}, std::byte{2}}};
  const MemoryDataset dataset(shape, 1);
  object::DatasetDescription description = dataset.description();
  description.layout.address = format::kUndefinedAddress;
  const auto reader = dataset::open_dataset(dataset.environment(1U << 20), dataset.open_file(), description);
  ASSERT_TRUE(reader);
  for (std::uint64_t offset = 0; offset < 70; ++offset) {
    dataset::Pieces pieces;
    ASSERT_TRUE((*reader)->read(offset, 70, {nullptr, Unbounded()}, pieces));
    const Bytes read = gathered(pieces);
    ASSERT_EQ(read.size(), 70 - offset);
    for (std::size_t i = 0; i < read.size(); ++i) ASSERT_EQ(read[i], shape.fill[(offset + i) % 2]);
    Bytes memory(70 - offset);
    ASSERT_TRUE((*reader)->read_into(offset, memory, Unbounded()));
    ASSERT_EQ(memory, read);
  }
  EXPECT_EQ((*reader)->storage_bytes_known(), 0U);
}

// ---- budgets

// A request that may do no more fails, and no other request notices.
TEST(ReadStrategies, ARequestThatMayDoNoMoreIsNoDamage) {
  const DatasetShape shape{.dims = {64, 64}, .chunk_dims = {8, 16}, .element_size = 4, .filtered = true};
  const MemoryDataset dataset(shape, 3);
  const auto reader = dataset.open_reader(dataset.environment(1U << 20));
  const std::uint64_t size = reader->size();
  const auto code_of = [](const Status& read) { return read ? ErrorCode::Internal : read.error().code(); };
  RequestBudget enough({.steps = size, .time = std::chrono::hours(1)});
  RequestBudget small({.steps = size / 4, .time = std::chrono::hours(1)});
  Bytes image(static_cast<std::size_t>(size));
  EXPECT_EQ(code_of(reader->read_into(0, image, small)), ErrorCode::BudgetExceeded);
  dataset::ReadPattern forward;
  for (std::uint64_t at = 0; at < size; at += 1024) {
    dataset::Pieces none;
    RequestBudget interrupted;
    interrupted.interrupt();
    const Status read = reader->read(at, 1024, {&forward, interrupted}, none);
    EXPECT_TRUE(read || read.error().code() == ErrorCode::Interrupted);
    dataset::Pieces pieces;
    ASSERT_TRUE(reader->read(at, 1024, {&forward, Unbounded()}, pieces));
    EXPECT_TRUE(std::ranges::equal(gathered(pieces), std::span(dataset.image()).subspan(at, 1024)));
  }
  const auto fresh = dataset.open_reader(dataset.environment(1U << 20));
  ASSERT_TRUE(fresh->read_into(0, image, enough)) << "as much as the image has";
  EXPECT_EQ(image, dataset.image());
  const dataset::ByteRun runs[] = {{0, 4}, {size / 2, 4}, {size - 4, 4}};
  const auto other = dataset.open_reader(dataset.environment(1U << 20));
  RequestBudget two_chunks({.steps = 2 * 8 * 16 * 4, .time = std::chrono::hours(1)});
  EXPECT_EQ(code_of(other->read_runs(runs, std::span(image).first(12), two_chunks)),
            ErrorCode::BudgetExceeded);
  EXPECT_TRUE(other->read_runs(runs, std::span(image).first(12), Unbounded()));
  RequestBudget none({.steps = 0, .time = std::chrono::hours(1)});
  EXPECT_FALSE(other->storage_bytes(none));
}

// ---- counters

// Two mounts in one process are counted apart.
TEST(ReadStrategies, EachEnvironmentCountsItsOwn) {
  const MemoryDataset dataset({.dims = {64}, .chunk_dims = {16}, .element_size = 8, .filtered = true}, 1);
  const dataset::ReadEnvironment first = dataset.environment(1U << 20);
  dataset::ReadEnvironment second = first;
  second.counters = std::make_shared<Counters>();
  const auto reader = dataset.open_reader(second);
  std::vector<std::byte> read(dataset.image().size());
  ASSERT_TRUE(reader->read_into(0, read, Unbounded()));
  EXPECT_EQ(second.counters->chunks_decoded, 4U);
  EXPECT_GT(second.counters->stored_bytes_read, 0U);
  EXPECT_EQ(first.counters->chunks_decoded, 0U);
}

// ---- hits and misses

std::uint64_t decoded_by(const MemoryDataset& dataset, const std::function<void()>& work) {
  const std::uint64_t before = dataset.counters().chunks_decoded;
  work();
  return dataset.counters().chunks_decoded - before;
}

const DatasetShape kTiles{
    .dims = {50, 60}, .chunk_dims = {10, 16}, .element_size = 4, .filtered = true};  // 5 x 4

TEST(ReadStrategies, ACachedChunkIsNotDecodedAgain) {
  const MemoryDataset dataset(kTiles, 3);
  for (const dataset::StrategyKind kind : {dataset::StrategyKind::Chunks, dataset::StrategyKind::RowBlocks,
                                           dataset::StrategyKind::SmallRowBlocks}) {
    SCOPED_TRACE(name_of(kind));
    const dataset::ReadStrategyPtr strategy =
        dataset::make_strategy(kind, blocks_of(dataset, dataset.environment(1U << 20)));
    const auto all = [&] {
      for (std::uint64_t at = 0; at < dataset.image().size(); at += 100)
        check_range(*strategy, dataset, at, std::min<std::uint64_t>(100, dataset.image().size() - at));
    };
    EXPECT_EQ(decoded_by(dataset, all), 20U);
    EXPECT_EQ(decoded_by(dataset, all), 0U);
  }
}

TEST(ReadStrategies, OnlyTheChunksOfARangeAreDecoded) {
  const MemoryDataset dataset(kTiles, 3);
  const dataset::ReadStrategyPtr strategy = dataset::make_strategy(
      dataset::StrategyKind::Chunks, blocks_of(dataset, dataset.environment(1U << 20)));
  EXPECT_EQ(decoded_by(dataset, [&] { check_range(*strategy, dataset, 60 * 4 * 12, 16 * 4); }), 1U);
  EXPECT_EQ(decoded_by(dataset, [&] { check_range(*strategy, dataset, 60 * 4 * 12 + 15 * 4, 8); }), 1U)
      << "its neighbour";
}

TEST(ReadStrategies, AStripeTakesChunksFromTheCache) {
  DatasetShape shape = kTiles;
  shape.chunk_dims = {10, 60};  // 40 * 60 bytes: not tiny
  shape.element_size = 8;
  const MemoryDataset dataset(shape, 4);
  const auto blocks = blocks_of(dataset, dataset.environment(1U << 20));
  EXPECT_EQ(decoded_by(dataset,
                       [&] {
                         check_range(*dataset::make_strategy(dataset::StrategyKind::Chunks, blocks), dataset,
                                     0, 1);
                       }),
            1U);
  const dataset::ReadStrategyPtr rows = dataset::make_strategy(dataset::StrategyKind::RowBlocks, blocks);
  EXPECT_EQ(decoded_by(dataset, [&] { check_range(*rows, dataset, 0, dataset.image().size()); }), 4U);
}

// Stripes that are written past the processor's caches. Runs begin and end within cache lines; the last row
// block and the last chunk of each are cut.
TEST(ReadStrategies, StripesLargerThanTheCachesHoldTheSameBytes) {
  const DatasetShape shape{
      .dims = {70, 30011}, .chunk_dims = {64, 9001}, .element_size = 5, .filtered = true};
  const MemoryDataset dataset(shape, 7);
  const auto blocks = blocks_of(dataset, dataset.environment(64U << 20));
  ASSERT_GT(blocks->plan().full_row_block_bytes(), std::uint64_t{8} << 20);
  check_range(*dataset::make_strategy(dataset::StrategyKind::RowBlocks, blocks), dataset, 0,
              dataset.image().size());
}

TEST(ReadStrategies, AStripeHasBegunOnceItIsReadOrReadAhead) {
  const MemoryDataset dataset(kTiles, 8);
  const auto blocks = blocks_of(dataset, dataset.environment(1U << 20));
  const dataset::ReadStrategyPtr rows = dataset::make_strategy(dataset::StrategyKind::RowBlocks, blocks);
  EXPECT_FALSE(rows->has_begun(0));
  check_range(*rows, dataset, 0, 1);
  EXPECT_TRUE(rows->has_begun(0));
  EXPECT_FALSE(dataset::make_strategy(dataset::StrategyKind::Chunks, blocks)->has_begun(0));
}

TEST(ReadStrategies, ASpilledRowBlockIsDecodedOnce) {
  const MemoryDataset dataset(kTiles, 5);
  // The cache holds no stripe: each is gathered again from the file.
  const dataset::ReadStrategyPtr strategy =
      dataset::make_strategy(dataset::StrategyKind::Spill, blocks_of(dataset, dataset.environment(512)));
  const std::uint64_t row_block = 10 * 60 * 4;
  EXPECT_EQ(decoded_by(dataset,
                       [&] {
                         for (std::uint64_t at = 0; at < row_block; at += 50)
                           check_range(*strategy, dataset, at, 50);
                       }),
            4U);
  EXPECT_EQ(decoded_by(dataset, [&] { check_range(*strategy, dataset, row_block, 1); }), 4U)
      << "another row block's file";
  EXPECT_EQ(decoded_by(dataset, [&] { check_range(*strategy, dataset, 0, 1); }), 0U)
      << "several readers may be at work, each in a row block of its own";
}

TEST(ReadStrategies, DirectRunsAreTheFilesOwnPages) {
  DatasetShape shape{.dims = {6, 8}, .chunk_dims = {4, 8}, .element_size = 4, .mapped = true};
  const MemoryDataset dataset(shape, 6);
  const auto blocks = blocks_of(dataset, dataset.environment(1U << 20));
  dataset::Pieces pieces;
  EXPECT_EQ(decoded_by(dataset,
                       [&] {
                         ASSERT_TRUE(dataset::make_strategy(dataset::StrategyKind::Direct, blocks)
                                         ->read(8, 100, pieces, Unbounded()));
                       }),
            0U);
  for (const dataset::Piece& piece : pieces.list()) EXPECT_TRUE(piece.kernel_only());
  EXPECT_EQ(blocks->cache()->used(), 0U);
}

// ---- through the reader

struct Request {
  std::uint64_t offset, length;
};

// Orders in which the kernel requests: ascending, ascending with swapped neighbours, random, and random whole
// rows.
std::vector<std::vector<Request>> request_orders(std::uint64_t size, std::uint64_t row,
                                                 std::mt19937& random) {
  std::vector<std::vector<Request>> orders(4);
  const std::uint64_t step = 1 + random() % std::max<std::uint64_t>(1, size / 5);
  for (std::uint64_t at = 0; at < size; at += step) orders[0].push_back({at, step});
  orders[1] = orders[0];
  for (std::size_t i = 0; i + 1 < orders[1].size(); i += 2) std::swap(orders[1][i], orders[1][i + 1]);
  for (int i = 0; i < 20; ++i) orders[2].push_back({random() % size, 1 + random() % size});
  for (int i = 0; i < 10; ++i) orders[3].push_back({random() % size, row});
  return orders;
}

void check_request(const dataset::DatasetReader& reader, const MemoryDataset& dataset, const Request& request,
                   dataset::ReadPattern& pattern) {
  const std::uint64_t length = std::min(request.length, dataset.image().size() - request.offset);
  dataset::Pieces pieces;
  const Status read = reader.read(request.offset, request.length, {&pattern, Unbounded()}, pieces);
  Bytes memory(length);
  const Status into = reader.read_into(request.offset, memory, Unbounded());
  const bool damaged = dataset.touches_damage(request.offset, length);
  ASSERT_EQ(read.has_value(), !damaged) << "[" << request.offset << ", +" << length << ")";
  ASSERT_EQ(into.has_value(), !damaged);
  if (damaged) return;
  ASSERT_EQ(gathered(pieces), expected(dataset, request.offset, length))
      << "[" << request.offset << ", +" << length;
  ASSERT_EQ(memory, gathered(pieces));
}

void check_reader(const MemoryDataset& dataset, std::size_t cache_bytes, std::mt19937& random) {
  const std::uint64_t row = dataset.image().size() / dataset.shape().dims[0];
  for (const auto& order : request_orders(dataset.image().size(), row, random)) {
    const dataset::ReadEnvironment environment = dataset.environment(cache_bytes, 1);
    const auto reader = dataset.open_reader(environment);
    ASSERT_TRUE(reader);
    dataset::ReadPattern pattern;
    for (const Request& request : order) {
      check_request(*reader, dataset, request, pattern);
      if (testing::Test::HasFatalFailure()) return;
    }
    with_busy_worker(*environment.workers, [] {});  // read-ahead has ended
    EXPECT_LE(environment.cache->used(), cache_bytes);
  }
}

TEST(ChunkedReader, EveryOrderOfRequestsAndEverySizeOfCache) {
  std::mt19937 random(21);
  for (unsigned round = 0; round < 60; ++round) {
    const DatasetShape shape = random_shape(random, 4000);
    const MemoryDataset dataset(shape, round);
    for (const std::size_t cache_bytes : {std::size_t{2048}, std::size_t{16} << 10, std::size_t{1} << 20}) {
      SCOPED_TRACE(testing::Message()
                   << "round " << round << ", " << cache_bytes << " of cache: " << text_of(shape));
      check_reader(dataset, cache_bytes, random);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(ChunkedReader, DamageStaysWithTheRequestsThatTouchIt) {
  std::mt19937 random(22);
  unsigned damaged_datasets = 0;
  for (unsigned round = 0; round < 60; ++round) {
    DatasetShape shape = random_shape(random, 1500);
    shape.filtered = true;
    MemoryDataset dataset(shape, round);
    unsigned damaged = 0;
    for (std::uint64_t chunk = 0; chunk < dataset.chunk_count() && damaged < 2; ++chunk)
      if (dataset.deflated(chunk) && random() % 3 == 0) dataset.damage(chunk), ++damaged;
    damaged_datasets += damaged > 0 ? 1 : 0;
    for (const std::size_t cache_bytes : {std::size_t{2048}, std::size_t{1} << 20}) {
      SCOPED_TRACE(testing::Message()
                   << "round " << round << ", " << cache_bytes << " of cache: " << text_of(shape));
      check_reader(dataset, cache_bytes, random);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(damaged_datasets, 20U);
}

TEST(ChunkedReader, HolesAreRowBlocksWithoutChunks) {
  std::mt19937 random(23);
  for (unsigned round = 0; round < 30; ++round) {
    DatasetShape shape = random_shape(random, 500);
    shape.missing_percent = 60;
    shape.fill.clear();
    const MemoryDataset dataset(shape, round);
    SCOPED_TRACE(testing::Message() << "round " << round << ": " << text_of(shape));
    const auto blocks = blocks_of(dataset, dataset.environment(1U << 20));
    const dataset::ChunkPlan& plan = blocks->plan();
    const auto is_data = [&](std::uint64_t offset) {
      const std::uint64_t first = plan.row_block_at(offset) * plan.chunks_per_row_block();
      for (std::uint64_t chunk = first; chunk < first + plan.chunks_per_row_block(); ++chunk)
        if (dataset.written(chunk)) return true;
      return false;
    };
    const auto reader = dataset.open_reader(dataset.environment(1U << 20));
    EXPECT_EQ(reader->storage_bytes_known(), std::nullopt);
    const std::uint64_t size = dataset.image().size();
    for (std::uint64_t offset = 0; offset < size; ++offset) {
      std::uint64_t data = offset, hole = offset;
      while (data < size && !is_data(data)) ++data;
      while (hole < size && is_data(hole)) ++hole;
      const auto found = reader->find_data(offset, Unbounded());
      ASSERT_EQ(found.has_value(), data < size);
      if (found) ASSERT_EQ(*found, data);
      ASSERT_EQ(reader->find_hole(offset, Unbounded()).value(), hole);
    }
    EXPECT_FALSE(reader->find_data(size, Unbounded()));
    EXPECT_FALSE(reader->find_hole(size, Unbounded()));
    if (!shape.filtered) {
      std::uint64_t chunk_bytes = shape.element_size;
      for (const std::uint64_t d : shape.chunk_dims) chunk_bytes *= d;
      EXPECT_EQ(reader->storage_bytes(Unbounded()).value(), dataset.written_count() * chunk_bytes);
      EXPECT_EQ(reader->storage_bytes_known(), dataset.written_count() * chunk_bytes);
    }
  }
}

}  // namespace
}  // namespace h5mount::test
