#include <gtest/gtest.h>

#include "fractal_heap_builder.h"
#include "h5mount/metadata/fractal_heap.h"

namespace h5mount::test {
namespace {

// A heap of three rows of width 2 and blocks of 64, 64, 128 bytes; row 3 holds indirect blocks of 256 bytes:
// two rows of two blocks of 64 bytes. The last indirect block, the last block of row 2 and of the inner block
// are absent.
struct Tall {
  explicit Tall(HeapPlan plan) : heap(writer, plan) {
    using Entry = HeapBuilder::Entry;
    std::vector<Entry> entries;
    for (std::uint64_t i = 0; i < 5; ++i) {
      const std::uint64_t offset = i < 4 ? 64 * i : 256, size = i < 4 ? 64 : 128;
      entries.push_back({heap.direct(offset, size, static_cast<std::uint8_t>(10 * i)), size, true});
    }
    entries.push_back({});
    std::vector<Entry> inner;
    for (std::uint64_t i = 0; i < 3; ++i)
      inner.push_back({heap.direct(512 + 64 * i, 64, static_cast<std::uint8_t>(100 + 10 * i)), 64, true});
    inner.push_back({});
    entries.push_back({heap.indirect(512, inner), 0, false});
    entries.push_back({format::kUndefinedAddress, 0, false});
    heap.header(heap.indirect(0, entries), 4);
  }
  Result<metadata::FractalHeap::Object> read(std::uint64_t offset, std::uint64_t length) const {
    H5_ASSIGN(const auto opened, metadata::FractalHeap::open(writer.file(), heap.address()));
    return opened->read(heap.managed_id(offset, length));
  }
  Writer writer;
  HeapBuilder heap;
};

HeapPlan plan_of(bool checksummed, bool filtered) {
  HeapPlan plan;
  plan.checksummed = checksummed;
  plan.filtered = filtered;
  return plan;
}

struct Expected {
  std::uint64_t block, first_byte;
};
constexpr Expected kBlocks[] = {{0, 0},    {64, 10},   {128, 20},  {192, 30},
                                {256, 40}, {512, 100}, {576, 110}, {640, 120}};

class Kinds : public testing::TestWithParam<std::pair<bool, bool>> {};

TEST_P(Kinds, ObjectsOfEveryBlockAreRead) {
  const Tall tall(plan_of(GetParam().first, GetParam().second));
  for (const Expected& e : kBlocks) {
    const auto object = tall.read(e.block + tall.heap.overhead() + 3, 5);
    ASSERT_TRUE(object) << object.error().text();
    ASSERT_EQ(object->bytes.size(), 5U);
    EXPECT_EQ(std::to_integer<std::uint64_t>(object->bytes[0]), e.first_byte + 3);
    if (!GetParam().second) {
      EXPECT_EQ(tall.writer.bytes[object->file_offset], object->bytes[0]);
    }
  }
}

TEST_P(Kinds, ManyObjectsComeInHeapOrderEachBlockReadOnce) {
  const Tall tall(plan_of(GetParam().first, GetParam().second));
  const auto file = tall.writer.file();
  const auto heap = *metadata::FractalHeap::open(file, tall.heap.address());
  std::vector<std::byte> ids;
  for (const unsigned at : {20U, 25U, 22U})
    for (const Expected& e : kBlocks)
      std::ranges::copy(tall.heap.managed_id(e.block + at, 1), std::back_inserter(ids));
  const std::uint64_t before = file->reads();
  std::vector<std::uint64_t> values;
  heap->read_many(ids, [&](std::size_t, const Result<metadata::FractalHeap::Object>& object) {
    values.push_back(object ? std::to_integer<std::uint64_t>(object->bytes[0]) : 999);
    return true;
  });
  EXPECT_EQ(values.size(), 24U);
  EXPECT_TRUE(std::ranges::is_sorted(values));
  EXPECT_EQ(std::ranges::count(values, 999U), 0);
  EXPECT_EQ(file->reads() - before, 8U + 2U);
}

TEST_P(Kinds, WhatLiesInNoBlockIsAnError) {
  const Tall tall(plan_of(GetParam().first, GetParam().second));
  const std::uint64_t in = tall.heap.overhead();
  for (const std::uint64_t offset : {384 + in, 704 + in, 768 + in, 1024 + in, std::uint64_t{65'535}})
    EXPECT_EQ(tall.read(offset, 1).error().code(), ErrorCode::OutOfRange) << offset;
  EXPECT_EQ(tall.read(60, 5).error().code(), ErrorCode::InvalidValue);
  EXPECT_EQ(tall.read(in - 1, 1).error().code(), ErrorCode::InvalidValue);
  EXPECT_TRUE(tall.read(63, 1));
}

INSTANTIATE_TEST_SUITE_P(FractalHeap, Kinds,
                         testing::Values(std::pair{true, false}, std::pair{false, false},
                                         std::pair{true, true}, std::pair{false, true}));

TEST(FractalHeap, ADirectRoot) {
  for (const bool filtered : {false, true}) {
    Writer writer;
    HeapBuilder heap(writer, plan_of(true, filtered));
    heap.header(heap.direct(0, 64, 1), 0, 64);
    const auto opened = *metadata::FractalHeap::open(writer.file(), heap.address());
    EXPECT_EQ(std::to_integer<unsigned>((*opened->read(heap.managed_id(30, 1))).bytes[0]),
              31 - heap.overhead());
    EXPECT_EQ(opened->read(heap.managed_id(64, 1)).error().code(), ErrorCode::OutOfRange);
  }
}

TEST(FractalHeap, AnEmptyHeap) {
  Writer writer;
  HeapBuilder heap(writer, {});
  heap.header(format::kUndefinedAddress, 0);
  const auto opened = *metadata::FractalHeap::open(writer.file(), heap.address());
  EXPECT_EQ(opened->read(heap.managed_id(30, 1)).error().code(), ErrorCode::OutOfRange);
}

// ---- tiny and huge

TEST(FractalHeap, TinyObjectsLieInTheirIds) {
  for (const std::uint16_t id_length : {8, 18, 19, 40}) {
    Writer writer;
    HeapPlan plan;
    plan.id_length = id_length;
    HeapBuilder heap(writer, plan);
    heap.header(format::kUndefinedAddress, 0);
    const auto opened = *metadata::FractalHeap::open(writer.file(), heap.address());
    const bool extended = id_length > 18;
    Writer id;
    id.uint(extended ? 0x20U : 0x23U, 1);
    if (extended) id.uint(3, 1);
    id.text("abcdefgh");
    id.bytes.resize(id_length);
    const auto object = opened->read(id.bytes);
    ASSERT_TRUE(object) << object.error().text();
    EXPECT_EQ(as_text(object->bytes), "abcd");
    id.patch(0, extended ? 0x2F : 0x2F, 1);
    const auto longer = opened->read(id.bytes);
    EXPECT_EQ(longer.has_value(), !extended && id_length >= 17);
  }
}

TEST(FractalHeap, HugeObjectsNamedByTheirIds) {
  for (const bool filtered : {false, true}) {
    Writer writer;
    const std::uint64_t at = writer.here();
    writer.text("a huge object");
    HeapPlan plan = plan_of(true, filtered);
    plan.id_length = 29;
    HeapBuilder heap(writer, plan);
    heap.header(format::kUndefinedAddress, 0);
    Writer id;
    id.uint(0x10, 1);
    id.address(at);
    id.length(13);
    if (filtered) id.uint(1, 4), id.length(13);
    id.bytes.resize(29);
    const auto opened = *metadata::FractalHeap::open(writer.file(), heap.address());
    const auto object = opened->read(id.bytes);
    ASSERT_TRUE(object) << object.error().text();
    EXPECT_EQ(as_text(object->bytes), "a huge object");
    id.patch(9, std::uint64_t{1} << 40, 8);
    EXPECT_EQ(opened->read(id.bytes).error().code(), ErrorCode::LimitExceeded);
    id.patch(9, 1'000'000, 8);
    EXPECT_EQ(opened->read(id.bytes).error().code(), ErrorCode::Truncated);
  }
}

TEST(FractalHeap, HugeObjectsFoundByKey) {
  for (const bool filtered : {false, true}) {
    Writer writer;
    const std::uint64_t at = writer.here();
    writer.text("a huge object");
    const std::uint16_t record_size = filtered ? 36 : 24;
    const std::uint64_t leaf = writer.here();
    writer.text("BTLF");
    writer.uint(0, 1);
    writer.uint(filtered ? 2 : 1, 1);
    for (std::uint64_t key = 5; key < 8; ++key) {
      writer.address(key == 6 ? at : 7);
      writer.length(13);
      if (filtered) writer.uint(1, 4), writer.length(13);
      writer.length(key);
    }
    writer.checksum_from(leaf);
    HeapPlan plan = plan_of(true, filtered);
    plan.huge_btree = writer.here();
    writer.text("BTHD");
    writer.uint(0, 1);
    writer.uint(filtered ? 2 : 1, 1);
    writer.uint(512, 4);
    writer.uint(record_size, 2);
    writer.uint(0, 2);
    writer.uint(0, 2);
    writer.address(leaf);
    writer.uint(3, 2);
    writer.length(3);
    writer.checksum_from(plan.huge_btree);
    HeapBuilder heap(writer, plan);
    heap.header(format::kUndefinedAddress, 0);
    const auto opened = *metadata::FractalHeap::open(writer.file(), heap.address());
    Writer id;
    id.uint(0x10, 1);
    id.uint(6, 7);
    const auto object = opened->read(id.bytes);
    ASSERT_TRUE(object) << object.error().text();
    EXPECT_EQ(as_text(object->bytes), "a huge object");
    id.patch(1, 9, 1);
    EXPECT_EQ(opened->read(id.bytes).error().code(), ErrorCode::InvalidValue);
  }
}

// ---- one wrong field

struct HeapLie {
  std::string field;
  std::uint64_t value;
  std::size_t width;
  ErrorCode code;
  std::string error_field;
  // The builder's name of the field at which the error is expected; "header": an id's error has the offset of
  // the heap's header, as ids have no offset of their own; empty: the offset is the false address itself.
  std::string error_at;
};
void PrintTo(const HeapLie& lie, std::ostream* out) {
  *out << lie.field << "=" << lie.value;
}

class HeapLies : public testing::TestWithParam<HeapLie> {};

TEST_P(HeapLies, AreRefused) {
  Tall tall(plan_of(true, false));
  tall.writer.lie(GetParam().field, GetParam().value, GetParam().width);
  const auto object = tall.read(512 + tall.heap.overhead(), 1);
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error().code(), GetParam().code) << object.error().text();
  EXPECT_EQ(object.error().field(), GetParam().error_field) << object.error().text();
  const std::string& at = GetParam().error_at;
  const std::uint64_t expected = at.empty()       ? GetParam().value
                                 : at == "header" ? tall.heap.address()
                                                  : tall.writer.marks.at(at);
  // The error of a truncated id has the offset at which its next field would begin: after the type.
  EXPECT_EQ(object.error().offset(), expected + (object.error().code() == ErrorCode::Truncated ? 1 : 0))
      << object.error().text();
}

INSTANTIATE_TEST_SUITE_P(
    FractalHeap, HeapLies,
    testing::Values(
        HeapLie{"id_length", 0, 2, ErrorCode::InvalidValue, "heap_id_length", "id_length"},
        HeapLie{"id_length", 9, 2, ErrorCode::InvalidValue, "length", "header"},
        HeapLie{"id_length", 2, 2, ErrorCode::Truncated, "heap_offset", "header"},
        HeapLie{"width", 0, 2, ErrorCode::InvalidValue, "table_width", "width"},
        HeapLie{"width", 3, 2, ErrorCode::InvalidValue, "table_width", "width"},
        HeapLie{"start_size", 0, 8, ErrorCode::InvalidValue, "start_block_size", "start_size"},
        HeapLie{"start_size", 16, 8, ErrorCode::InvalidValue, "start_block_size", "start_size"},
        HeapLie{"start_size", 1024, 8, ErrorCode::InvalidValue, "start_block_size", "start_size"},
        HeapLie{"max_direct", 0, 8, ErrorCode::InvalidValue, "max_direct_block_size", "max_direct"},
        HeapLie{"max_direct", std::uint64_t{1} << 40, 8, ErrorCode::LimitExceeded, "max_direct_block_size",
                "max_direct"},
        HeapLie{"max_bits", 65, 2, ErrorCode::InvalidValue, "max_heap_size", "max_bits"},
        HeapLie{"max_bits", 3, 2, ErrorCode::InvalidValue, "max_heap_size", "max_bits"},
        HeapLie{"rows", 60, 2, ErrorCode::InvalidValue, "root_rows", "rows"},
        HeapLie{"rows", 3, 2, ErrorCode::OutOfRange, "heap_offset", "header"},
        HeapLie{"indirect0", 0, 1, ErrorCode::BadSignature, "signature", "indirect0"},
        HeapLie{"indirect0_heap", 1, 8, ErrorCode::InvalidValue, "heap_header_address", "indirect0_heap"},
        HeapLie{"indirect0_offset", 512, 2, ErrorCode::InvalidValue, "block_offset", "indirect0_offset"},
        HeapLie{"indirect512_offset", 0, 2, ErrorCode::InvalidValue, "block_offset", "indirect512_offset"},
        HeapLie{"indirect0_child6", format::kUndefinedAddress, 8, ErrorCode::OutOfRange, "heap_offset",
                "header"},
        HeapLie{"indirect0_child6", 1U << 30, 8, ErrorCode::OutOfRange, "address", ""},
        HeapLie{"direct512", 0, 1, ErrorCode::BadSignature, "signature", "direct512"},
        HeapLie{"direct512_offset", 5, 2, ErrorCode::InvalidValue, "block_offset", "direct512_offset"}));

TEST(FractalHeap, AFlippedBitIsAChecksumMismatch) {
  Tall tall(plan_of(true, false));
  tall.writer.bytes[tall.writer.marks.at("direct64") + 50] ^= std::byte{1};
  EXPECT_EQ(tall.read(64 + tall.heap.overhead(), 1).error().code(), ErrorCode::ChecksumMismatch);
  EXPECT_TRUE(tall.read(tall.heap.overhead(), 1));
}

}  // namespace
}  // namespace h5mount::test
