#include <gtest/gtest.h>

#include "h5mount/metadata/global_heap.h"
#include "small_file.h"

namespace h5mount::metadata {
namespace {

using test::ByteBuilder;
using test::open_small;
using test::superblock;

constexpr std::uint64_t kAt = 64;

ByteBuilder object(std::uint16_t index, std::string_view data, std::uint64_t size_lie = ~std::uint64_t{0}) {
  ByteBuilder b =
      ByteBuilder().u16(index).u16(1).u32(0).u64(size_lie == ~std::uint64_t{0} ? data.size() : size_lie);
  b.text(data);
  return b.zeros((8 - data.size() % 8) % 8);
}

ByteBuilder collection(const ByteBuilder& objects, std::uint64_t size = 4096) {
  return superblock().at(kAt).text("GCOL").u8(1).zeros(3).u64(size).add(objects);
}

std::string get(const FileMetadata& file, std::uint32_t index) {
  const auto object = load_global_heap_object(file, kAt, index);
  return object ? std::string(as_text(object->bytes())) : std::string(error_code_name(object.error().code()));
}

TEST(GlobalHeap, FindsObjectsByIndex) {
  const ByteBuilder objects =
      object(2, "two").add(object(1, "number one")).add(object(7, "")).u16(0).u16(0).u32(0).u64(4000);
  const auto small = open_small(collection(objects).at(kAt + 4096));
  EXPECT_EQ(get(*small.file, 1), "number one");
  EXPECT_EQ(get(*small.file, 2), "two");
  EXPECT_EQ(get(*small.file, 7), "");
  EXPECT_EQ(get(*small.file, 3), "out of range");
  EXPECT_EQ(get(*small.file, 0), "out of range");
  EXPECT_EQ(get(*small.file, 65'537), "out of range");
}

TEST(GlobalHeap, DamageHidesWhatLiesBehindIt) {
  const auto small = open_small(
      collection(object(1, "good").add(object(2, "bad", 1U << 20)).add(object(3, "lost"))).at(kAt + 4096));
  EXPECT_EQ(get(*small.file, 1), "good");
  EXPECT_EQ(get(*small.file, 2), "out of range");
  EXPECT_EQ(get(*small.file, 3), "out of range");
}

TEST(GlobalHeap, TruncatedFileKeepsTheFirstObjects) {
  const auto small = open_small(collection(object(1, "good").add(object(2, "12345678"))));
  EXPECT_EQ(get(*small.file, 1), "good");
  EXPECT_EQ(get(*small.file, 2), "12345678");
  EXPECT_EQ(get(*small.file, 3), "out of range");
}

TEST(GlobalHeap, LargeCollectionsAreReadByObject) {
  const std::string large(2U << 20, 'x');
  const ByteBuilder objects = object(1, "first").add(object(2, large)).add(object(3, "last"));
  const auto small = open_small(collection(objects, 16 + objects.size()));
  EXPECT_EQ(get(*small.file, 1), "first");
  EXPECT_EQ(get(*small.file, 2), large);
  EXPECT_EQ(get(*small.file, 3), "last");
}

TEST(GlobalHeap, HeaderLies) {
  auto small = open_small(collection(object(1, "x"), 4));
  EXPECT_EQ(get(*small.file, 1), "invalid value");
  small = open_small(
      collection(object(1, "x"), ~std::uint64_t{0}).at(8192));  // free space that no free object covers
  EXPECT_EQ(get(*small.file, 1), "x");
  small = open_small(superblock().at(kAt).text("NOPE").zeros(100));
  EXPECT_EQ(get(*small.file, 1), "bad signature");
}

TEST(GlobalHeap, ShortLengthsArePadded) {
  ByteBuilder b = superblock({.size_of_offsets = 4, .size_of_lengths = 4}).at(kAt);
  b.text("GCOL").u8(1).zeros(3).u32(4096).zeros(4).u16(1).u16(1).u32(0).u32(5).zeros(4).text("hello").at(
      kAt + 4096);
  const auto small = open_small(b);
  EXPECT_EQ(get(*small.file, 1), "hello");
}

TEST(GlobalHeap, ACollectionIsDecodedOnce) {
  const auto small = open_small(collection(object(1, "a").add(object(2, "b"))).at(kAt + 4096));
  ASSERT_EQ(get(*small.file, 1), "a");
  const unsigned reads = small.source->reads;
  EXPECT_EQ(get(*small.file, 2), "b");
  EXPECT_EQ(small.source->reads, reads);
}

}  // namespace
}  // namespace h5mount::metadata
