// What a later state of a concatenated dataset keeps, and stored chunks.
#include "concatenated_parts.h"
#include "memory_dataset.h"

namespace h5mount::test {
namespace {

using dataset::ByteRange;
using dataset::DatasetReaderPtr;
using dataset::integer_type;
using format::ByteOrder;

format::DatatypePtr u8() {
  return integer_type(1, false, ByteOrder::Little);
}

// Parts of rows of 10 bytes: {length, identity}.
struct State {
  std::shared_ptr<TestParts> parts = std::make_shared<TestParts>();
  dataset::ConcatenatedDataset whole;
};
State state(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& lengths, std::size_t dimension = 0,
            std::uint64_t other = 10) {
  State out;
  for (const auto& [length, identity] : lengths)
    out.parts->add({length, identity, [=, length = length, identity = identity] {
                      std::vector<std::uint64_t> dims(2, other);
                      dims[dimension] = length;
                      return dataset::OpenedPart{
                          holding(u8(), dims, Bytes(length * other, static_cast<std::byte>(identity))),
                          nullptr};
                    }});
  out.whole = whole_of(out.parts, u8(), std::vector<std::uint64_t>(2, other), dimension);
  return out;
}

std::vector<ByteRange> stale(const State& before, const State& now) {
  const auto first = dataset::open_concatenated(concat_environment(), before.whole, nullptr);
  EXPECT_TRUE(first->stale.empty());
  const auto next = dataset::open_concatenated(concat_environment(), now.whole, first->reader);
  EXPECT_TRUE(next);
  EXPECT_EQ(all_of(*next->reader).size(), now.whole.description.image_bytes);
  return next->stale;
}

void expect_stale_from(std::uint64_t begin, const std::vector<ByteRange>& found) {
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].begin, begin);
  EXPECT_EQ(found[0].end, format::kUnlimited);
}

TEST(ConcatenatedStates, OnlyWhatIsBehindADifferenceIsStale) {
  EXPECT_TRUE(stale(state({{2, 1}, {3, 2}}), state({{2, 1}, {3, 2}})).empty());
  EXPECT_TRUE(stale(state({{2, 1}, {3, 2}}), state({{2, 1}, {3, 2}, {4, 3}})).empty()) << "one more";
  EXPECT_TRUE(stale(state({{2, 1}, {3, 2}}), state({{2, 1}, {5, 2}})).empty()) << "the last grew";
  EXPECT_TRUE(stale(state({{2, 1}, {3, 2}}), state({{2, 1}, {5, 2}, {1, 3}})).empty());
  expect_stale_from(20, stale(state({{2, 1}, {3, 2}}), state({{2, 1}, {1, 9}, {3, 2}})));
  expect_stale_from(0, stale(state({{2, 1}, {3, 2}}), state({{1, 9}, {2, 1}, {3, 2}})));
  expect_stale_from(20, stale(state({{2, 1}, {3, 2}}), state({{2, 1}})));
  expect_stale_from(40, stale(state({{2, 1}, {3, 2}}), state({{2, 1}, {2, 2}})));
  expect_stale_from(20, stale(state({{2, 1}, {3, 2}}), state({{2, 1}, {3, 7}})));
  expect_stale_from(20, stale(state({{2, 1}, {3, 2}}), state({{3, 1}, {3, 2}})));
}

TEST(ConcatenatedStates, OnAnInnerDimensionAnyDifferenceMovesAll) {
  EXPECT_TRUE(stale(state({{2, 1}, {3, 2}}, 1), state({{2, 1}, {3, 2}}, 1)).empty());
  expect_stale_from(0, stale(state({{2, 1}, {3, 2}}, 1), state({{2, 1}, {4, 2}}, 1)));
  expect_stale_from(0, stale(state({{2, 1}, {3, 2}}, 1), state({{2, 1}, {3, 2}, {1, 3}}, 1)));
  expect_stale_from(0, stale(state({{2, 1}, {3, 2}}, 1), state({{2, 1}, {3, 4}}, 1)));
}

TEST(ConcatenatedStates, OtherElementsAreStale) {
  State wider = state({{2, 1}});
  wider.parts->add(3, holding(u8(), {3, 10}, Bytes(30)));
  wider.whole = whole_of(wider.parts, integer_type(2, false, ByteOrder::Little), {0, 10}, 0);
  expect_stale_from(0, stale(state({{2, 1}, {3, 2}}), wider));
  expect_stale_from(0, stale(state({{2, 1}}, 0, 10), state({{2, 1}}, 0, 20)));
  const auto next =
      dataset::open_concatenated(concat_environment(), state({{2, 1}}).whole, holding(u8(), {1}, Bytes(1)));
  expect_stale_from(0, next->stale);
}

TEST(ConcatenatedStates, OpenPartsStayOpen) {
  const State before = state({{2, 1}, {3, 2}, {4, 3}}), now = state({{5, 9}, {2, 1}, {3, 2}, {6, 3}});
  const auto first = dataset::open_concatenated(concat_environment(), before.whole, nullptr);
  (void)all_of(*first->reader);
  EXPECT_EQ(before.parts->opened, 3U);
  const auto next = dataset::open_concatenated(concat_environment(), now.whole, first->reader);
  Bytes expected(50, std::byte{9});
  expected.resize(70, std::byte{1});
  expected.resize(100, std::byte{2});
  expected.resize(160, std::byte{3});
  EXPECT_EQ(all_of(*next->reader), expected);
  EXPECT_EQ(now.parts->opened, 2U) << "the new one, and the one that has grown";
}

TEST(ConcatenatedStates, PartsThatAreNoPartsAreRefused) {
  State wrong = state({{2, 1}, {3, 2}});
  wrong.whole.description.space.dims[0] = 6;
  EXPECT_FALSE(dataset::open_concatenated(concat_environment(), wrong.whole, nullptr));
  wrong.whole.dimension = 2;
  EXPECT_FALSE(dataset::open_concatenated(concat_environment(), wrong.whole, nullptr));
}

TEST(ConcatenatedStates, NamesItsFiles) {
  const auto reader = opened_whole(state({{2, 1}, {3, 2}, {1, 3}}).whole);
  const auto named = reader->named_sources(2, Unbounded());
  ASSERT_EQ(named.list.size(), 2U);
  EXPECT_EQ(named.list[1].file, "file 1");
  EXPECT_EQ(named.left_out, 1U);
}

// ---- stored chunks

struct Stored {
  std::vector<std::unique_ptr<MemoryDataset>> made;
  std::vector<DatasetReaderPtr> readers;
  std::shared_ptr<TestParts> parts = std::make_shared<TestParts>();
  dataset::ConcatenatedDataset whole;
};

// Chunks of 4 x 3 along a dimension; all parts but the last end with a chunk.
Stored stored_whole(std::size_t dimension, const std::vector<std::uint64_t>& lengths) {
  Stored out;
  std::vector<std::uint64_t> dims = {10, 10};
  for (const std::uint64_t length : lengths) {
    dims[dimension] = length;
    DatasetShape shape{.dims = dims, .chunk_dims = {4, 3}, .element_size = 2};
    shape.filtered = true;
    shape.missing_percent = 20;
    out.made.push_back(std::make_unique<MemoryDataset>(shape, 7 + static_cast<unsigned>(out.made.size())));
    object::DatasetDescription d = out.made.back()->description();
    d.type = integer_type(2, false, ByteOrder::Little);
    const auto file = out.made.back()->open_file();
    out.readers.push_back(*dataset::open_dataset(out.made.back()->environment(8U << 20), file, d));
    out.parts->add(length, [=, reader = out.readers.back()] { return dataset::OpenedPart{reader, file}; });
  }
  out.whole = whole_of(out.parts, integer_type(2, false, ByteOrder::Little), dims, dimension);
  out.whole.description.layout.cls = format::LayoutClass::Chunked;
  out.whole.description.layout.chunk_dims = {4, 3};
  out.whole.description.pipeline = out.made[0]->description().pipeline;
  out.whole.stored_chunks = true;
  return out;
}

void expect_stored_chunks(std::size_t dimension, const std::vector<std::uint64_t>& lengths) {
  const Stored stored = stored_whole(dimension, lengths);
  const auto reader = opened_whole(stored.whole);
  const auto* const chunks = dataset::stored_chunks_of(*reader);
  ASSERT_NE(chunks, nullptr);
  const auto& dims = reader->description().space.dims;
  const std::array<std::uint64_t, 2> shape = {4, 3};
  const std::array grid = {divide_up(dims[0], 4), divide_up(dims[1], 3)};
  std::vector<dataset::StoredChunks::Stored> run(grid[0] * grid[1]);
  ASSERT_TRUE(chunks->find_stored_run(0, run));
  for (std::uint64_t number = 0; number < run.size(); ++number) {
    std::array<std::uint64_t, 2> at = {number / grid[1], number % grid[1]};
    std::size_t part = 0;
    std::uint64_t start = 0;
    while (at[dimension] * shape[dimension] >= start + lengths[part]) start += lengths[part++];
    at[dimension] -= start / shape[dimension];
    const std::uint64_t columns = dimension == 1 ? divide_up(lengths[part], 3) : grid[1];
    const std::uint64_t own = at[0] * columns + at[1];
    const auto* const own_chunks = dataset::stored_chunks_of(*stored.readers[part]);
    const auto expected = *own_chunks->find_stored(own);
    ASSERT_EQ(run[number].bytes, expected.bytes) << number;
    ASSERT_EQ(run[number].address, expected.address);
    ASSERT_EQ(run[number].source, expected.source);
    ASSERT_EQ(run[number].filtered, expected.filtered);
    EXPECT_TRUE(chunks->verify_stored(number));
    if (expected.bytes == 0) continue;
    dataset::Pieces found, wanted;
    ASSERT_TRUE(chunks->read_stored(number, 1, expected.bytes - 1, found));
    ASSERT_TRUE(own_chunks->read_stored(own, 1, expected.bytes - 1, wanted));
    Bytes a(found.total()), b(wanted.total());
    ASSERT_TRUE(dataset::copy_pieces(found.list(), a));
    ASSERT_TRUE(dataset::copy_pieces(wanted.list(), b));
    ASSERT_EQ(a, b);
  }
  EXPECT_FALSE(chunks->find_stored(run.size()));
}

TEST(ConcatenatedStates, StoredChunksAreThoseOfTheParts) {
  expect_stored_chunks(0, {4, 8, 4, 3});
  expect_stored_chunks(1, {6, 3, 9, 2});
  expect_stored_chunks(0, {4});
}

TEST(ConcatenatedStates, ChunksThatAreNotThoseOfThePartsAreNotOffered) {
  EXPECT_EQ(dataset::stored_chunks_of(*opened_whole(stored_whole(0, {4, 7, 4}).whole)), nullptr);
  Stored stored = stored_whole(0, {4, 8});
  stored.whole.stored_chunks = false;
  EXPECT_EQ(dataset::stored_chunks_of(*opened_whole(stored.whole)), nullptr);
  stored.whole.stored_chunks = true;
  stored.whole.description.layout.chunk_dims = {2, 3};
  const auto reader = opened_whole(stored.whole);
  const auto found = dataset::stored_chunks_of(*reader)->find_stored(0);
  EXPECT_TRUE(!found && found.error().code() == ErrorCode::Stale);
}

// A new axis in front, which the parts lack.
TEST(ConcatenatedStates, PartsMayLackTheDimension) {
  Stored stored = stored_whole(0, {10, 10, 10});
  const auto parts = std::make_shared<TestParts>();
  Bytes expected;
  for (std::size_t i = 0; i < 3; ++i) {
    parts->add(1, stored.readers[i]);
    expected.insert(expected.end(), stored.made[i]->image().begin(), stored.made[i]->image().end());
  }
  auto whole = whole_of(parts, integer_type(2, false, ByteOrder::Little), {0, 10, 10}, 0);
  whole.description.layout.cls = format::LayoutClass::Chunked;
  whole.description.layout.chunk_dims = {1, 4, 3};
  whole.stored_chunks = true;
  const auto reader = opened_whole(whole);
  EXPECT_EQ(all_of(*reader), expected);
  const auto* const chunks = dataset::stored_chunks_of(*reader);
  ASSERT_NE(chunks, nullptr);
  for (std::uint64_t number = 0; number < 36; ++number)
    EXPECT_EQ(chunks->find_stored(number)->address,
              dataset::stored_chunks_of(*stored.readers[number / 12])->find_stored(number % 12)->address);
}

TEST(ConcatenatedStates, PlacesOfStoredElementsAreThoseOfTheParts) {
  DatasetShape shape{.dims = {64}, .chunk_dims = {64}, .element_size = 8};
  const MemoryDataset made(shape, 1);
  object::DatasetDescription d = described(integer_type(8, false, ByteOrder::Little), {8});
  d.layout.address = 64;
  d.layout.size = 64;
  d.layout.has_size = true;
  const auto file = made.open_file();
  const DatasetReaderPtr part = *dataset::open_dataset(made.environment(8U << 20), file, d);
  const auto parts = std::make_shared<TestParts>();
  parts->add(5, [=] { return dataset::OpenedPart{part, file}; });  // of 8
  parts->add(8, [=] { return dataset::OpenedPart{part, file}; });
  parts->add(2, [] { return dataset::OpenedPart{}; });
  const auto reader = opened_whole(whole_of(parts, d.type, {0}, 0));
  EXPECT_EQ(reader->stored_place(8)->offset, 72U);
  EXPECT_EQ(reader->stored_place(8)->length, 32U);
  EXPECT_EQ(reader->stored_place(56)->offset, 80U);
  EXPECT_EQ(reader->stored_place(56)->length, 48U);
  EXPECT_FALSE(reader->stored_place(13 * 8));
  EXPECT_FALSE(reader->stored_place(15 * 8));
  EXPECT_FALSE(reader->stored_run(8)) << "who reads there does not ask whether the part is unchanged";
}

}  // namespace
}  // namespace h5mount::test
