// Limits of metadata, from both sides. Where the limit itself would need a file of a gigabyte, the value at
// the limit fails only because the test's file ends before (Truncated), and the one above it because of the
// limit.
#include <gtest/gtest.h>

#include "fractal_heap_builder.h"
#include "h5mount/base/limits.h"
#include "h5mount/metadata/fractal_heap.h"
#include "h5mount/metadata/object_header.h"
#include "small_file.h"

namespace h5mount::test {
namespace {

constexpr std::uint64_t kAt = 64;

ByteBuilder header_of(std::size_t messages) {
  ByteBuilder all;
  for (std::size_t i = 0; i < messages; ++i) all.u8(0x0D).u16(0).u8(0);
  return superblock().at(kAt).add(header2(all));
}

TEST(MetadataLimits, MessagesOfOneHeader) {
  const auto most = open_small(header_of(limits::kMaxHeaderMessages));
  const auto header = metadata::load_object_header(*most.file, kAt);
  ASSERT_TRUE(header) << header.error().text();
  EXPECT_FALSE((*header)->damage);
  EXPECT_EQ((*header)->messages.size(), limits::kMaxHeaderMessages);
  const auto more = open_small(header_of(limits::kMaxHeaderMessages + 1));
  const auto cut = metadata::load_object_header(*more.file, kAt);
  ASSERT_TRUE(cut && (*cut)->damage);
  EXPECT_EQ((*cut)->damage->code(), ErrorCode::LimitExceeded);
  EXPECT_EQ((*cut)->damage->offset(), kAt + 10 + 4 * std::uint64_t{limits::kMaxHeaderMessages});
}

// A header of `blocks` parts: chunk 0, and a chain of continuation blocks of one message each.
ByteBuilder chain_of(std::size_t blocks) {
  constexpr std::uint64_t kFirst = 1024, kStride = 32;
  const auto next = [&](std::size_t i) {
    return i + 1 < blocks ? message1(0x10, ByteBuilder().u64(kFirst + i * kStride).u64(kStride)).zeros(8)
                          : message1(0x0D, ByteBuilder().zeros(16)).zeros(8);
  };
  ByteBuilder file = superblock().at(kAt).add(header1(next(0))).at(kFirst);
  for (std::size_t i = 1; i < blocks; ++i) file.add(next(i));
  return file;
}

TEST(MetadataLimits, BlocksOfOneHeader) {
  const auto most = open_small(chain_of(limits::kMaxHeaderChunks));
  const auto header = metadata::load_object_header(*most.file, kAt);
  ASSERT_TRUE(header) << header.error().text();
  EXPECT_FALSE((*header)->damage) << (*header)->damage->text();
  EXPECT_NE((*header)->find(format::MessageType::ObjectComment), nullptr);
  const auto more = open_small(chain_of(limits::kMaxHeaderChunks + 1));
  const auto cut = metadata::load_object_header(*more.file, kAt);
  ASSERT_TRUE(cut && (*cut)->damage);
  EXPECT_EQ((*cut)->damage->code(), ErrorCode::LimitExceeded);
}

TEST(MetadataLimits, BytesOfOneHeader) {
  const auto code = [](std::uint64_t bytes) {
    const ByteBuilder first = message1(0x10, ByteBuilder().u64(512).u64(bytes - 24));  // chunk 0 takes 24
    const auto small = open_small(superblock().at(kAt).add(header1(first)).at(1024));
    return (*metadata::load_object_header(*small.file, kAt))->damage->code();
  };
  EXPECT_EQ(code(limits::kMaxHeaderBytes), ErrorCode::Truncated);
  EXPECT_EQ(code(limits::kMaxHeaderBytes + 1), ErrorCode::LimitExceeded);
}

TEST(MetadataLimits, ObjectsOfHeaps) {
  for (const bool filtered : {false, true}) {
    const std::uint64_t limit = filtered ? limits::kMaxFilteredHeapObjectBytes : limits::kMaxHeapObjectBytes;
    const auto code = [&](std::uint64_t bytes) {
      Writer writer;
      writer.text("a huge object");
      HeapPlan plan;
      plan.filtered = filtered;
      plan.id_length = 29;
      HeapBuilder heap(writer, plan);
      heap.header(format::kUndefinedAddress, 0);
      Writer id;
      id.uint(0x10, 1);
      id.address(1);
      id.length(bytes);
      if (filtered) id.uint(1, 4), id.length(bytes);
      id.bytes.resize(29);
      return (*metadata::FractalHeap::open(writer.file(), heap.address()))->read(id.bytes).error().code();
    };
    EXPECT_EQ(code(limit), ErrorCode::Truncated) << filtered;
    EXPECT_EQ(code(limit + 1), ErrorCode::LimitExceeded) << filtered;
  }
}

TEST(MetadataLimits, CacheImages) {
  const auto code = [](std::uint64_t length) {
    const ByteBuilder message = message2(0x18, ByteBuilder().u8(0).u64(1024).u64(length));
    const ByteBuilder file = superblock({.extension = 512}).at(512).add(header2(message)).at(2048);
    return metadata::FileMetadata::open(io::make_memory_source(file.bytes()), {}).error().code();
  };
  EXPECT_EQ(code(limits::kMaxCacheImageBytes), ErrorCode::Truncated);
  EXPECT_EQ(code(limits::kMaxCacheImageBytes + 1), ErrorCode::LimitExceeded);
}

}  // namespace
}  // namespace h5mount::test
