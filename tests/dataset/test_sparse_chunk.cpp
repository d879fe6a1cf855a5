// One structured chunk, valid and with one wrong field: the record's sections, and the encoded selection with
// its values.
#include <gtest/gtest.h>

#include "sparse/sparse_chunk.h"
#include "support/byte_builder.h"

namespace h5mount::test {
namespace {

constexpr std::uint64_t kChunkBytes = 4 * 6 * 4;  // 4 x 6 elements of 4 bytes
constexpr std::uint64_t kOffset = 4096;
const std::vector<std::uint64_t> kDims = {4, 6};

chunk::ChunkRecord record_of(std::uint64_t stored, const ByteBuilder& fields) {
  return {.address = kOffset, .stored_size = stored, .section_fields = fields.bytes()};
}

ByteBuilder filtered_fields(std::uint64_t split, std::uint64_t plain0, std::uint64_t plain1) {
  return ByteBuilder().u64(split).u64(plain0).u64(plain1).u32(0).u32(2);
}

TEST(SparseSections, FollowEachOther) {
  const auto plain =
      dataset::decode_sparse_sections(record_of(100, ByteBuilder().u64(60)), false, kChunkBytes);
  ASSERT_TRUE(plain) << plain.error().text();
  EXPECT_EQ(plain->selection.stored, 60U);
  EXPECT_EQ(plain->values.offset, 60U);
  EXPECT_EQ(plain->values.plain, 40U);

  const auto filtered =
      dataset::decode_sparse_sections(record_of(70, filtered_fields(50, 83, 48)), true, kChunkBytes);
  ASSERT_TRUE(filtered) << filtered.error().text();
  EXPECT_EQ(filtered->selection.plain, 83U);
  EXPECT_EQ(filtered->values.stored, 20U);
  EXPECT_EQ(filtered->values.filter_mask, 2U);
}

struct SectionLie {
  const char* name;
  std::uint64_t stored;
  ByteBuilder fields;
  bool filtered;
  ErrorCode code;
  std::string_view field;
};
void PrintTo(const SectionLie& lie, std::ostream* out) {
  *out << lie.name;
}

class SparseSectionLies : public testing::TestWithParam<SectionLie> {};

TEST_P(SparseSectionLies, AreNamed) {
  const SectionLie& lie = GetParam();
  const auto sections =
      dataset::decode_sparse_sections(record_of(lie.stored, lie.fields), lie.filtered, kChunkBytes);
  ASSERT_FALSE(sections);
  EXPECT_EQ(sections.error().code(), lie.code) << sections.error().text();
  EXPECT_EQ(sections.error().field(), lie.field) << sections.error().text();
}

const SectionLie kSectionLies[] = {
    {"an offset beyond the chunk", 100, ByteBuilder().u64(101), false, ErrorCode::InvalidValue,
     "section_offset"},
    {"an offset near 2^64", 100, ByteBuilder().u64(~std::uint64_t{0}), false, ErrorCode::InvalidValue,
     "section_offset"},
    {"fields cut short", 100, ByteBuilder().u32(1), false, ErrorCode::Truncated, "section_offset"},
    {"masks missing", 100, ByteBuilder().u64(60).u64(83).u64(40), true, ErrorCode::Truncated, "filter_mask"},
    {"a selection too short for its checksum", 100, ByteBuilder().u64(3), false, ErrorCode::InvalidValue,
     "unfiltered_size"},
    {"a selection of terabytes", 100, filtered_fields(50, 1ULL << 40, 48), true, ErrorCode::InvalidValue,
     "unfiltered_size"},
    {"more values than elements", 100, filtered_fields(50, 83, kChunkBytes + 1), true,
     ErrorCode::InvalidValue, "unfiltered_size"},
    {"a stored size of no sound chunk", 1ULL << 50, ByteBuilder().u64(60), false, ErrorCode::InvalidValue,
     "unfiltered_size"},
    {"stored values of no sound filter", 1ULL << 50, filtered_fields(50, 83, 48), true,
     ErrorCode::LimitExceeded, "chunk_size"},
};
INSTANTIATE_TEST_SUITE_P(All, SparseSectionLies, testing::ValuesIn(kSectionLies));

// ---- the encoded selection

struct Encoded {
  std::uint64_t message = 1, version = 0, lengths = 8, rank = 2;
  std::vector<std::uint64_t> extent = {4, 6};
  std::uint64_t extent_bytes_more = 0;
  ByteBuilder selection;
  bool sound_checksum = true;

  std::vector<std::byte> bytes() const {
    ByteBuilder space;
    space.u8(2).u8(rank).u8(0).u8(1);
    for (const std::uint64_t d : extent) space.u64(d);
    ByteBuilder out;
    out.u8(message).u8(version).u8(lengths).u32(space.size() + extent_bytes_more).add(space).add(selection);
    const ByteBuilder plain = out;
    out.checksum_from(0);
    return sound_checksum ? out.bytes() : ByteBuilder(plain).u32(0x12345678).bytes();
  }
};

ByteBuilder points(std::initializer_list<std::uint64_t> coordinates) {
  ByteBuilder out;
  out.u32(1).u32(1).u32(0).u32(8 + 4 * coordinates.size()).u32(2).u32(coordinates.size() / 2);
  for (const std::uint64_t c : coordinates) out.u32(c);
  return out;
}

ByteBuilder blocks(std::initializer_list<std::uint64_t> corners) {
  ByteBuilder out;
  out.u32(2).u32(1).u32(0).u32(8 + 4 * corners.size()).u32(2).u32(corners.size() / 4);
  for (const std::uint64_t c : corners) out.u32(c);
  return out;
}

void store_le(std::vector<std::byte>& bytes, std::uint32_t value) {
  for (unsigned i = 0; i < 4; ++i) bytes.push_back(static_cast<std::byte>(value >> (8 * i)));
}

std::vector<std::byte> values(std::size_t count) {
  ByteBuilder out;
  for (std::size_t i = 0; i < count; ++i) out.u32(100 + i);
  return out.bytes();
}

Result<dataset::SparseChunk> chunk_of(const Encoded& encoded, std::size_t value_count) {
  const auto bytes = encoded.bytes();
  const auto data = values(value_count);
  H5_ASSIGN(auto block, dataset::SparseChunk::make_block(bytes, kOffset, data, kDims, 4));
  return dataset::SparseChunk(block);
}

// The list of a layout says which sections end with a checksum.
TEST(SparseSections, EndWithAChecksumOrNot) {
  const Encoded encoded{.selection = points({0, 1, 1, 2})};
  const auto with = encoded.bytes();
  const auto data = values(2);
  const auto without = ByteSpan(with).first(with.size() - 4);
  EXPECT_TRUE(dataset::SparseChunk::make_block(with, kOffset, data, kDims, 4));
  EXPECT_TRUE(dataset::SparseChunk::make_block(without, kOffset, data, kDims, 4, false));
  EXPECT_FALSE(dataset::SparseChunk::make_block(with, kOffset, data, kDims, 4, false));
  EXPECT_FALSE(dataset::SparseChunk::make_block(without, kOffset, data, kDims, 4));
  const auto body = dataset::without_checksum(with, kOffset, "Section");
  ASSERT_TRUE(body);
  EXPECT_EQ(body->size(), without.size());
  EXPECT_EQ(dataset::without_checksum(without, kOffset, "Section").error().code(),
            ErrorCode::ChecksumMismatch);
  EXPECT_EQ(dataset::without_checksum(ByteSpan(with).first(3), kOffset, "Section").error().code(),
            ErrorCode::Truncated);
}

// The position of each value according to the chunk: linear element -> ordinal.
std::vector<std::pair<std::uint64_t, std::uint64_t>> places(const dataset::SparseChunk& chunk) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> out;
  for (const auto& s : chunk.runs())
    for (std::uint64_t k = 0; k < s.length; ++k) out.emplace_back(s.linear + k, s.ordinal + k);
  return out;
}

using ObjectPaths = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

TEST(SparseChunk, PointsKeepTheOrderOfTheirList) {
  Encoded encoded;
  encoded.selection = points({3, 5, 0, 1, 2, 0});
  const auto chunk = chunk_of(encoded, 3);
  ASSERT_TRUE(chunk) << chunk.error().text();
  EXPECT_EQ(places(*chunk), (ObjectPaths{{1, 1}, {12, 2}, {23, 0}}));
}

TEST(SparseChunk, OfAPointNamedTwiceTheLaterValueCounts) {
  Encoded encoded;
  encoded.selection = points({1, 1, 0, 0, 1, 1});
  const auto chunk = chunk_of(encoded, 3);
  ASSERT_TRUE(chunk) << chunk.error().text();
  EXPECT_EQ(places(*chunk), (ObjectPaths{{0, 1}, {7, 2}}));
}

TEST(SparseChunk, BlocksAreTheirUnionInRowMajorOrder) {
  Encoded encoded;
  encoded.selection = blocks({0, 5, 1, 5, 0, 1, 1, 2});
  const auto chunk = chunk_of(encoded, 6);
  ASSERT_TRUE(chunk) << chunk.error().text();
  EXPECT_EQ(places(*chunk), (ObjectPaths{{1, 0}, {2, 1}, {5, 2}, {7, 3}, {8, 4}, {11, 5}}));
}

TEST(SparseChunk, AnExtentSmallerThanTheChunkHasShorterRows) {
  Encoded encoded;
  encoded.extent = {2, 3};
  encoded.selection = ByteBuilder().u32(3).u32(1).u64(0);  // all
  const auto chunk = chunk_of(encoded, 6);
  ASSERT_TRUE(chunk) << chunk.error().text();
  EXPECT_EQ(places(*chunk), (ObjectPaths{{0, 0}, {1, 1}, {2, 2}, {6, 3}, {7, 4}, {8, 5}}));
}

TEST(SparseChunk, NothingSelectedHasNoValues) {
  Encoded encoded;
  encoded.selection = ByteBuilder().u32(0).u32(1).u64(0);  // none
  const auto chunk = chunk_of(encoded, 0);
  ASSERT_TRUE(chunk) << chunk.error().text();
  EXPECT_TRUE(chunk->runs().empty());
}

struct SelectionLie {
  const char* name;
  Encoded encoded;
  std::size_t value_count;
  ErrorCode code;
  std::string_view field;
};
void PrintTo(const SelectionLie& lie, std::ostream* out) {
  *out << lie.name;
}

class SparseSelectionLies : public testing::TestWithParam<SelectionLie> {};

TEST_P(SparseSelectionLies, AreNamed) {
  const auto chunk = chunk_of(GetParam().encoded, GetParam().value_count);
  ASSERT_FALSE(chunk);
  EXPECT_EQ(chunk.error().code(), GetParam().code) << chunk.error().text();
  EXPECT_EQ(chunk.error().field(), GetParam().field) << chunk.error().text();
}

const ByteBuilder kTwoPoints = points({0, 1, 3, 5});
const SelectionLie kSelectionLies[] = {
    {"too few values", {.selection = kTwoPoints}, 1, ErrorCode::InvalidValue, "values"},
    {"too many values", {.selection = kTwoPoints}, 3, ErrorCode::InvalidValue, "values"},
    {"a wrong checksum",
     {.selection = kTwoPoints, .sound_checksum = false},
     2,
     ErrorCode::ChecksumMismatch,
     "checksum"},
    {"not a dataspace", {.message = 3, .selection = kTwoPoints}, 2, ErrorCode::InvalidValue, "message"},
    {"an unknown version",
     {.version = 9, .selection = kTwoPoints},
     2,
     ErrorCode::UnsupportedVersion,
     "version"},
    {"lengths of 3 bytes",
     {.lengths = 3, .selection = kTwoPoints},
     2,
     ErrorCode::InvalidValue,
     "size_of_lengths"},
    {"an extent longer than the section",
     {.extent_bytes_more = 1U << 30, .selection = kTwoPoints},
     2,
     ErrorCode::Truncated,
     "extent"},
    {"an extent above the chunk",
     {.extent = {4, 7}, .selection = kTwoPoints},
     2,
     ErrorCode::InvalidValue,
     "extent"},
    {"another rank", {.rank = 1, .extent = {4}, .selection = kTwoPoints}, 2, ErrorCode::InvalidValue, "rank"},
    {"bytes left over", {.selection = ByteBuilder(kTwoPoints).u8(0)}, 2, ErrorCode::InvalidValue, "length"},
    {"a point outside", {.selection = points({4, 0})}, 1, ErrorCode::InvalidValue, "points"},
    {"a block outside", {.selection = blocks({0, 0, 0, 6})}, 7, ErrorCode::InvalidValue, "blocks"},
    {"an end before the start", {.selection = blocks({1, 1, 0, 2})}, 2, ErrorCode::InvalidValue, "block_end"},
    {"overlapping blocks with a value for each",
     {.selection = blocks({0, 0, 0, 2, 0, 1, 0, 3})},
     6,
     ErrorCode::InvalidValue,
     "values"},
    {"an unknown selection",
     {.selection = ByteBuilder().u32(9).u32(1).u64(0)},
     0,
     ErrorCode::InvalidValue,
     "selection_type"},
    {"an unknown version of points",
     {.selection = ByteBuilder().u32(1).u32(7).u64(0)},
     0,
     ErrorCode::UnsupportedVersion,
     "selection_version"},
    {"a count of points that cannot be there",
     {.selection = ByteBuilder().u32(1).u32(1).u32(0).u32(8).u32(2).u32(0xFFFFFFFF)},
     0,
     ErrorCode::Truncated,
     "point_count"},
};
INSTANTIATE_TEST_SUITE_P(All, SparseSelectionLies, testing::ValuesIn(kSelectionLies));

// Changes every byte of valid selections in turn, with a recomputed checksum.
TEST(SparseChunk, WhateverASelectionSaysStaysInTheChunk) {
  const auto data = values(8);
  std::size_t accepted = 0;
  for (const ByteBuilder& selection :
       {points({0, 1, 3, 5, 1, 1, 2, 2, 0, 0, 3, 0, 3, 1, 3, 2}), blocks({0, 0, 1, 1, 2, 2, 3, 3}),
        ByteBuilder().u32(2).u32(3).u8(1).u8(2).u32(2).u16(0).u16(2).u16(2).u16(1).u16(1).u16(1).u16(1).u16(
            4)}) {
    Encoded encoded;
    encoded.selection = selection;
    const std::vector<std::byte> sound = encoded.bytes();
    for (std::size_t at = 0; at + 4 < sound.size(); ++at) {
      for (const unsigned change : {0x01U, 0x02U, 0x04U, 0x08U, 0x80U, 0xFFU}) {
        std::vector<std::byte> bytes(sound.begin(), sound.end() - 4);
        bytes[at] ^= static_cast<std::byte>(change);
        store_le(bytes, lookup3_checksum(bytes));
        const auto block = dataset::SparseChunk::make_block(bytes, kOffset, data, kDims, 4);
        if (!block) {
          EXPECT_NE(block.error().code(), ErrorCode::Internal) << block.error().text();
          continue;
        }
        ++accepted;
        const dataset::SparseChunk chunk(*block);
        for (const auto& [linear, ordinal] : places(chunk)) {
          ASSERT_LT(linear, 24U);
          ASSERT_LT(ordinal, 8U);
        }
      }
    }
  }
  EXPECT_GE(accepted, 10U);
}

TEST(SparseChunk, ASectionShorterThanItsChecksumIsTruncated) {
  const auto chunk = dataset::SparseChunk::make_block(values(0), kOffset, values(0), kDims, 4);
  ASSERT_FALSE(chunk);
  EXPECT_EQ(chunk.error().code(), ErrorCode::Truncated) << chunk.error().text();
}

}  // namespace
}  // namespace h5mount::test
