// Virtual datasets over chunked ones of the same file: what a forward reader gets, and what is prepared for
// it.
#include <gtest/gtest.h>

#include "h5mount/dataset/open_dataset.h"
#include "support/h5py_file.h"

namespace h5mount::test {
namespace {

// 8 MiB: the second half of `d`, then the first.
constexpr const char* kSwapped = R"(
values = (np.arange(1 << 20) * 7 % 1000003).astype('i8')
d = f.create_dataset('d', data=values, chunks=(1 << 14,), compression='gzip', compression_opts=1)
layout = h5py.VirtualLayout((1 << 20,), 'i8')
half = 1 << 19
layout[:half] = h5py.VirtualSource('.', 'd', (1 << 20,))[half:]
layout[half:] = h5py.VirtualSource('.', 'd', (1 << 20,))[:half]
f.create_virtual_dataset('v', layout)
)";
constexpr std::uint64_t kBytes = 8U << 20, kRequest = 128U << 10;

class VirtualReaderTest : public testing::Test {
 protected:
  void open(std::vector<std::byte> bytes) {
    auto files = object::FileSet::open(io::make_memory_source(std::move(bytes)), metadata::MetadataOptions{});
    ASSERT_TRUE(files) << files.error().text();
    environment_ = {std::make_shared<cache::BlockCache>(64U << 20), std::make_shared<cache::WorkerPool>(2),
                    *std::move(files)};
    reader_ = reader_of("v");
    source_ = reader_of("d");
  }

  std::shared_ptr<const dataset::DatasetReader> reader_of(const char* name) const {
    const object::OpenedFilePtr file = environment_.files->main();
    const metadata::FileMetadataPtr snapshot = file->snapshot();
    const auto address = object::resolve_path(snapshot, snapshot->root_address(), name);
    const auto object = object::open_object(*snapshot, address.value());
    auto description = object::describe_dataset(*snapshot, object.value());
    return dataset::open_dataset(environment_, file, std::move(description).value()).value();
  }

  // The bytes of a request as the definition of the view has them.
  std::vector<std::byte> expected(std::uint64_t offset, std::uint64_t length) const {
    std::vector<std::byte> out(static_cast<std::size_t>(length));
    EXPECT_TRUE(source_->read_into((offset + kBytes / 2) % kBytes, out, Unbounded()));
    return out;
  }

  static std::vector<std::byte> gathered(const dataset::Pieces& pieces) {
    std::vector<std::byte> out;
    for (const dataset::Piece& piece : pieces.list())
      out.insert(out.end(), piece.bytes.begin(), piece.bytes.end());
    return out;
  }

  dataset::ReadEnvironment environment_;
  std::shared_ptr<const dataset::DatasetReader> reader_, source_;
};

TEST_F(VirtualReaderTest, ChunksOfItsSourcesAreDecodedAheadOfAForwardReader) {
  const std::vector<std::byte> bytes = written_with_h5py(kSwapped);
  open(bytes);
  const std::uint64_t before = environment_.counters->units_ahead;
  dataset::ReadPattern pattern;
  for (std::uint64_t at = 0; at < kBytes; at += kRequest) {
    dataset::Pieces pieces;
    ASSERT_TRUE(reader_->read(at, kRequest, {&pattern, Unbounded()}, pieces));
    ASSERT_EQ(gathered(pieces), expected(at, kRequest)) << at;
  }
  EXPECT_GT(environment_.counters->units_ahead, before);
}

TEST_F(VirtualReaderTest, NothingIsPreparedForAReaderAtRandom) {
  const std::vector<std::byte> bytes = written_with_h5py(kSwapped);
  open(bytes);
  const std::uint64_t before = environment_.counters->units_ahead;
  dataset::ReadPattern pattern;
  for (std::uint64_t at = kBytes - kRequest; at >= (1U << 20); at -= 1U << 20) {
    dataset::Pieces pieces;
    ASSERT_TRUE(reader_->read(at, kRequest, {&pattern, Unbounded()}, pieces));
    ASSERT_EQ(gathered(pieces), expected(at, kRequest)) << at;
  }
  EXPECT_EQ(environment_.counters->units_ahead, before);
}

// Read-ahead meets the damage first, and it must fail the reads of the chunk and no others.
TEST_F(VirtualReaderTest, DamageOfASourceIsThatOfItsOwnBytes) {
  std::vector<std::byte> bytes = written_with_h5py(kSwapped);
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::size_t chunk = 0;  // zlib's header of level 1, of some chunk in the middle
  for (int i = 0; i < 20; ++i) chunk = all.find("\x78\x01", chunk + 4096);
  ASSERT_NE(chunk, std::string_view::npos);
  for (std::size_t i = 100; i < 200; ++i) bytes[chunk + i] = std::byte{0xff};
  open(bytes);
  dataset::ReadPattern pattern;
  unsigned failed = 0;
  for (std::uint64_t at = 0; at < kBytes; at += kRequest) {
    dataset::Pieces pieces;
    const Status read = reader_->read(at, kRequest, {&pattern, Unbounded()}, pieces);
    failed += read ? 0 : 1;
    if (read) ASSERT_EQ(gathered(pieces), expected(at, kRequest)) << at;
  }
  EXPECT_EQ(failed, 1U);  // a chunk is as long as a request
}

}  // namespace
}  // namespace h5mount::test
