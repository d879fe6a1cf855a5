// Fetching apart from decoding: what a far source is told before it is read, of chunks and of contiguous
// data, and how many of its requests are in flight while few chunks decode. A local source pays for neither.
#include "chunked/chunk_decode.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <latch>
#include <thread>

#include "memory_dataset.h"
#include "metadata/memory_file.h"
#include "support/far_source.h"

namespace h5mount::dataset {
namespace {

using namespace test;

constexpr unsigned kRequests = 16;
constexpr std::uint64_t kJoined =
    4096;  // chunks so near together are read at once, with what is between them

DatasetShape chunked_rows(bool filtered) {
  return {.dims = {64, 16}, .chunk_dims = {4, 16}, .element_size = 8, .filtered = filtered};
}

// A reader of the dataset on a source that is far.
struct FarDataset {
  explicit FarDataset(const DatasetShape& shape, unsigned threads = 2)
      : dataset(shape, 1), environment(dataset.environment(1U << 20, threads)) {
    auto file = dataset.open_file();
    source = std::make_shared<FarSource>(file->followed->source(), 64U << 10, kJoined);
    reader = dataset.open_reader_of(environment, source);
    source->forget();
  }
  MemoryDataset dataset;
  ReadEnvironment environment;
  std::shared_ptr<FarSource> source;
  std::shared_ptr<const DatasetReader> reader;
};

// Reads of chunks that the source was not told of.
std::size_t untold_chunks(const FarDataset& far) {
  return static_cast<std::size_t>(std::ranges::count_if(
      far.source->untold(), [&](const ByteRange& read) { return read.begin < far.dataset.end_of_chunks(); }));
}

void expect_image(const FarDataset& far, const std::vector<std::byte>& read) {
  EXPECT_TRUE(std::ranges::equal(read, far.dataset.image()));
}

// Whatever reads of chunks: none for which the source was not told before.
TEST(ChunkDecode, FarSourceIsToldOfAllChunksOfARequest) {
  for (const bool filtered : {false, true}) {
    const FarDataset far(chunked_rows(filtered));
    std::vector<std::byte> read(far.dataset.image().size());
    ASSERT_TRUE(far.reader->read_into(0, read, Unbounded()));
    expect_image(far, read);
    EXPECT_EQ(untold_chunks(far), 0U);
    EXPECT_FALSE(far.source->told().empty());
    EXPECT_GE(far.source->reads(), 1U);
  }
}

TEST(ChunkDecode, FetchesDoNotTakePlacesOfDecodes) {
  const auto source =
      std::make_shared<FarSource>(io::make_memory_source(std::vector<std::byte>(1000, std::byte{7})));
  std::latch all_wait(kRequests), go(1);
  source->on_read = [&](std::uint64_t, std::size_t) {
    all_wait.count_down();
    go.wait();
  };
  std::vector<std::thread> readers;
  std::atomic<unsigned> right = 0;
  for (unsigned i = 0; i < kRequests; ++i)
    readers.emplace_back([&] {
      ChunkDecode work(*source, {.bytes = 1000, .together = 1000, .owner = &source});
      const auto bytes = work.fetch(0, 1000);
      if (bytes && bytes->back() == std::byte{7}) ++right;
    });
  all_wait.wait();  // for ever, where a request waits for a place of those that decode
  {
    std::vector<std::unique_ptr<Admission::Lease>> decodes;  // all places are free
    for (unsigned i = 0; i < std::max(2U, std::thread::hardware_concurrency()) + 1; ++i)
      decodes.push_back(std::make_unique<Admission::Lease>(Admission::decodes()));
  }
  go.count_down();
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(right, kRequests);
}

TEST(ChunkDecode, LocalSourceIsReadIntoTheMemoryOfTheDecode) {
  const auto source = io::make_memory_source(std::vector<std::byte>(1000, std::byte{7}));
  ChunkDecode work(*source, {.bytes = 1000, .together = 1000});
  const MutableByteSpan plain = work.plain(500);
  const auto first = work.fetch(0, 1000);
  ASSERT_TRUE(first);
  const auto second = work.fetch(10, 900);
  ASSERT_TRUE(second);
  EXPECT_EQ(first->data(), second->data()) << "one buffer, which is used again";
  EXPECT_EQ(work.plain(500).data(), plain.data());
}

// The memory for decoded bytes stays where it is although the place for decoding is given back.
TEST(ChunkDecode, DecodedMemoryOfAFarSourceOutlivesAFetch) {
  const FarSource source(io::make_memory_source(std::vector<std::byte>(1000, std::byte{7})));
  ChunkDecode work(source, {.bytes = 1000, .together = 1000});
  const MutableByteSpan plain = work.plain(500);
  std::ranges::fill(plain, std::byte{9});
  ASSERT_TRUE(work.fetch(0, 1000));
  std::vector<std::byte> direct(100);
  ASSERT_TRUE(work.fetch_into(0, direct));
  EXPECT_EQ(direct.back(), std::byte{7});
  EXPECT_EQ(plain.back(), std::byte{9});
}

// A forward reader: what is made ahead is told before it is read.
TEST(ChunkDecode, ReadaheadTellsAFarSource) {
  for (const bool filtered : {false, true}) {
    const FarDataset far(
        {.dims = {4096, 16}, .chunk_dims = {64, 16}, .element_size = 8, .filtered = filtered}, 1);
    ReadPattern pattern;
    with_busy_worker(*far.environment.workers, [&] {
      for (std::uint64_t offset = 0; offset < 3 * 8192; offset += 8192) {
        Pieces pieces;
        ASSERT_TRUE(far.reader->read(offset, 8192, {&pattern, Unbounded()}, pieces));
      }
    });
    // All is told, to the last chunk, although three of 64 were read.
    std::uint64_t end = 0;
    for (const ByteRange& range : far.source->told()) end = std::max(end, range.end);
    EXPECT_GE(end, far.dataset.end_of_chunks());  // the nodes of the index are told too
    EXPECT_EQ(untold_chunks(far), 0U);
  }
}

// How far the source was told of everything, from the front on.
std::uint64_t told_until(const FarSource& source) {
  std::vector<ByteRange> told = source.told();
  std::ranges::sort(told, {}, &ByteRange::begin);
  std::uint64_t end = 0;
  for (const ByteRange& range : told)
    if (range.begin <= end + kJoined) end = std::max(end, range.end);
  return end;
}

// One request for many tiny chunks, which are decoded by stripes.
TEST(ChunkDecode, TheStripesOfARequestAreAskedForTogether) {
  const FarDataset far({.dims = {65'536}, .chunk_dims = {128}, .element_size = 8, .filtered = true});
  constexpr std::uint64_t kLength = 256U << 10;
  std::uint64_t told = 0;
  far.source->on_read = [&](std::uint64_t offset, std::size_t) {
    if (told == 0 && offset < far.dataset.end_of_chunks()) told = told_until(*far.source);
  };
  Pieces pieces;
  ASSERT_TRUE(far.reader->read(0, kLength, {nullptr, Unbounded()}, pieces));
  EXPECT_GT(pieces.list().size(), 4U) << "stripes";
  EXPECT_GE(told, kLength) << "of what the first read could have joined";
  EXPECT_EQ(untold_chunks(far), 0U);
}

// ---- contiguous data

struct FarBytes {
  static constexpr std::uint64_t kAddress = 4096, kSize = 54U << 20;
  FarBytes() {
    object::DatasetDescription description;
    description.space.kind = format::DataspaceKind::Simple;
    description.space.dims = description.space.max_dims = {kSize};
    description.layout.cls = format::LayoutClass::Contiguous;
    description.layout.address = kAddress;
    description.element_size = 1;
    description.image_bytes = kSize;
    const auto file = std::make_shared<object::OpenedFile>(
        object::OpenedFile{.followed = std::make_shared<metadata::FollowedFile>(
                               std::make_shared<MemoryFile>(source, format::FileSizes{8, 8}))});
    reader = *open_dataset(environment, file, description);
  }
  void read(std::uint64_t offset, std::uint64_t length) {
    Pieces pieces;
    ASSERT_TRUE(reader->read(offset, length, {&pattern, Unbounded()}, pieces));
    EXPECT_EQ(pieces.total(), std::min(length, kSize - offset));
  }
  std::shared_ptr<FarSource> source =
      std::make_shared<FarSource>(io::make_memory_source(std::vector<std::byte>(kAddress + kSize + 100'000)));
  ReadEnvironment environment{std::make_shared<cache::BlockCache>(1U << 20),
                              std::make_shared<cache::WorkerPool>(1), nullptr, nullptr,
                              std::make_shared<Counters>()};
  std::shared_ptr<const DatasetReader> reader;
  ReadPattern pattern;
};

TEST(ChunkDecode, ContiguousDataThatAreReadWholeAreAskedForAtOnce) {
  constexpr std::uint64_t kMiB = 1U << 20;
  FarBytes far;
  far.read(0, 8 * kMiB);
  ASSERT_EQ(far.source->told().size(), 1U);
  EXPECT_EQ(far.source->told()[0].begin, FarBytes::kAddress);
  EXPECT_EQ(far.source->told()[0].end, FarBytes::kAddress + 48 * kMiB);
  far.read(8 * kMiB, 8 * kMiB);
  far.read(16 * kMiB, 8 * kMiB);
  ASSERT_EQ(far.source->told().size(), 2U);
  EXPECT_EQ(far.source->told()[1].end, FarBytes::kAddress + FarBytes::kSize) << "no byte behind the data";
  far.read(24 * kMiB, 40 * kMiB);
  EXPECT_EQ(far.source->rounds(), 2U);
  EXPECT_TRUE(far.source->untold().empty());
}

TEST(ChunkDecode, OtherReadersOfContiguousDataAreLeftToTheSource) {
  constexpr std::uint64_t kMiB = 1U << 20;
  FarBytes kernel;
  for (std::uint64_t at = 0; at < 8; ++at) kernel.read(at * kMiB, kMiB);
  FarBytes middle;
  middle.read(20 * kMiB, 8 * kMiB);
  middle.read(28 * kMiB, 8 * kMiB);
  EXPECT_TRUE(kernel.source->told().empty() && middle.source->told().empty());
  FarBytes leaves;
  leaves.read(0, 4 * kMiB);
  leaves.read(50 * kMiB, kMiB);
  leaves.read(51 * kMiB, kMiB);
  EXPECT_EQ(leaves.source->rounds(), 1U);
}

}  // namespace
}  // namespace h5mount::dataset
