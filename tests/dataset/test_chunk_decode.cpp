// Fetching apart from decoding: what a far source is told before it is read, and how many of its requests are
// in flight while few chunks decode. A local source pays for neither.
#include "chunk_decode.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <latch>
#include <thread>

#include "memory_dataset.h"
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

}  // namespace
}  // namespace h5mount::dataset
