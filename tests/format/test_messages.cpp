// Header messages written by hand, each then with one lying field: code and field of the error are expected.
#include <gtest/gtest.h>

#include <initializer_list>

#include "h5mount/format/data_layout.h"
#include "h5mount/format/dataspace.h"
#include "h5mount/format/datatype.h"
#include "h5mount/format/filter_pipeline.h"
#include "h5mount/format/messages.h"
#include "h5mount/format/selection.h"

namespace h5mount {
namespace {

using Bytes = std::vector<std::byte>;
constexpr std::uint64_t kAt = 0x1000;

Bytes bytes(std::initializer_list<int> values) {
  Bytes out;
  for (const int v : values) out.push_back(static_cast<std::byte>(v));
  return out;
}

// Message `whole` is cut at every length: each must be an error, none may read beyond.
template <class Decode>
void expect_every_cut_to_fail(const Bytes& whole, Decode decode) {
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const Bytes part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
    Cursor cursor(part, kAt, "Test");
    EXPECT_FALSE(decode(cursor)) << "cut at " << n;
  }
}

const auto datatype = [](Cursor& c) { return decode_datatype(c, FileSizes{}); };
const auto dataspace = [](Cursor& c) { return decode_dataspace(c, FileSizes{}); };
const auto layout = [](Cursor& c) { return decode_data_layout(c, FileSizes{}); };

const Bytes kInt32 = bytes({0x10, 0x08, 0, 0, 4, 0, 0, 0, 0, 0, 32, 0});

TEST(DatatypeMessage, Integer) {
  Cursor cursor(kInt32, kAt, "DatatypeMessage");
  const auto type = datatype(cursor);
  ASSERT_TRUE(type);
  EXPECT_TRUE((*type)->is_signed);
  EXPECT_EQ((*type)->bit_precision, 32);
  expect_every_cut_to_fail(kInt32, datatype);
  Bytes lying = kInt32;
  lying[10] = std::byte{33};
  Cursor again(lying, kAt, "DatatypeMessage");
  const auto refused = datatype(again);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::InvalidValue);
  EXPECT_EQ(refused.error().field(), "bit_precision");
}

TEST(DatatypeMessage, CompoundVersion3AndItsLyingOffset) {
  Bytes compound = bytes({0x36, 1, 0, 0, 4, 0, 0, 0, 'a', 0, 0});
  compound.insert(compound.end(), kInt32.begin(), kInt32.end());
  Cursor cursor(compound, kAt, "DatatypeMessage");
  const auto type = datatype(cursor);
  ASSERT_TRUE(type);
  ASSERT_EQ((*type)->members.size(), 1U);
  EXPECT_EQ((*type)->members[0].name, "a");
  expect_every_cut_to_fail(compound, datatype);
  compound[10] = std::byte{1};
  Cursor again(compound, kAt, "DatatypeMessage");
  const auto refused = datatype(again);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field(), "member_offset");
  EXPECT_EQ(refused.error().offset(), kAt + 10);
}

TEST(DatatypeMessage, NestingEnds) {
  Bytes deep;
  for (int i = 0; i < 40; ++i) {
    const Bytes vlen = bytes({0x19, 0, 0, 0, 16, 0, 0, 0});
    deep.insert(deep.end(), vlen.begin(), vlen.end());
  }
  deep.insert(deep.end(), kInt32.begin(), kInt32.end());
  Cursor cursor(deep, kAt, "DatatypeMessage");
  const auto refused = datatype(cursor);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::LimitExceeded);
}

TEST(DataspaceMessage, BothVersions) {
  const Bytes old = bytes({1, 1, 1, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255});
  Cursor cursor(old, kAt, "DataspaceMessage");
  const auto space = dataspace(cursor);
  ASSERT_TRUE(space);
  EXPECT_EQ(space->dims[0], 5U);
  EXPECT_EQ(space->max_dims[0], kUnlimited);
  expect_every_cut_to_fail(old, dataspace);
  const Bytes null = bytes({2, 0, 0, 2});
  Cursor other(null, kAt, "DataspaceMessage");
  EXPECT_EQ(dataspace(other)->kind, DataspaceKind::Null);
  const Bytes rank = bytes({2, 33, 0, 1});
  Cursor bad(rank, kAt, "DataspaceMessage");
  EXPECT_EQ(dataspace(bad).error().field(), "rank");
}

TEST(DataLayoutMessage, ChunkedVersion3And4) {
  const Bytes v3 = bytes({3, 2, 2, 0x10, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 4, 0, 0, 0});
  Cursor cursor(v3, kAt, "DataLayoutMessage");
  const auto old = layout(cursor);
  ASSERT_TRUE(old);
  EXPECT_EQ(old->chunk_dims, std::vector<std::uint64_t>{8});
  EXPECT_EQ(old->element_size, 4U);
  expect_every_cut_to_fail(v3, layout);
  const Bytes v4 = bytes({4, 2, 0, 2, 1, 8, 4, 3, 10, 0x10, 0, 0, 0, 0, 0, 0, 0});
  Cursor other(v4, kAt, "DataLayoutMessage");
  const auto fixed = layout(other);
  ASSERT_TRUE(fixed);
  EXPECT_EQ(fixed->index, ChunkIndexKind::FixedArray);
  EXPECT_EQ(fixed->fixed_array_page_bits, 10);
  expect_every_cut_to_fail(v4, layout);
  Bytes zero = v4;
  zero[5] = std::byte{0};
  Cursor bad(zero, kAt, "DataLayoutMessage");
  EXPECT_EQ(layout(bad).error().field(), "chunk_dimension");
}

// The worked example of the sparse storage description.
TEST(DataLayoutMessage, StructuredSingleChunk) {
  const Bytes message = bytes({5, 4, 0, 1, 0, 0, 2, 1, 8, 4, 8, 2, 1, 0, 1, 0x47, 0, 0x43, 0, 0, 0, 0, 0, 0, 0,
                               0x30, 0, 0, 0, 0, 0, 0, 0});
  Cursor cursor(message, kAt, "DataLayoutMessage");
  const auto structured = layout(cursor);
  ASSERT_TRUE(structured) << structured.error().text();
  EXPECT_EQ(structured->single_stored_size, 71U);
  EXPECT_EQ(structured->address, 48U);
  EXPECT_EQ(structured->structured.single_section_fields.size(), 8U);
  expect_every_cut_to_fail(message, layout);
}

TEST(FilterPipelineMessage, Versions) {
  const Bytes v2 = bytes({2, 1, 1, 0, 0, 0, 1, 0, 6, 0, 0, 0});
  Cursor cursor(v2, kAt, "FilterPipelineMessage");
  const auto pipeline = decode_filter_pipeline(cursor);
  ASSERT_TRUE(pipeline);
  EXPECT_EQ(pipeline->filters.at(0).client_data, std::vector<std::uint32_t>{6});
  expect_every_cut_to_fail(v2, [](Cursor& c) { return decode_filter_pipeline(c); });
}

TEST(Selection, BlockBeforeItsStart) {
  const Bytes blocks = bytes({2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0,
                              3, 0, 0, 0, 2, 0, 0, 0});
  Cursor cursor(blocks, kAt, "Selection");
  const auto refused = decode_selection(cursor);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field(), "block_end");
}

TEST(SmallMessages, OldModificationTime) {
  const std::string_view text = "20240229120000";
  Cursor cursor(as_bytes(text), kAt, "Test");
  EXPECT_EQ(decode_modification_time_old(cursor).value(), 1709208000);
  const std::string_view bad = "20230229120000";
  Cursor refused(as_bytes(bad), kAt, "Test");
  EXPECT_FALSE(decode_modification_time_old(refused));
}

}  // namespace
}  // namespace h5mount
