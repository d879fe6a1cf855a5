// Header messages as literal bytes, each then with one invalid field; checks code and field of the error.
#include "h5mount/base/checksum.h"
#include "h5mount/base/limits.h"
#include "h5mount/format/data_layout.h"
#include "h5mount/format/dataspace.h"
#include "h5mount/format/filter_pipeline.h"
#include "h5mount/format/fractal_heap_blocks.h"
#include "h5mount/format/messages.h"
#include "h5mount/format/selection.h"
#include "message_bytes.h"

namespace h5mount::test {
namespace {

const auto dataspace = [](format::Cursor& c) { return format::decode_dataspace(c); };
const auto layout = [](format::Cursor& c) { return format::decode_data_layout(c); };

TEST(DataspaceMessage, BothVersions) {
  const Bytes old =
      bytes({1, 1, 1, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255});
  format::Cursor cursor(old, kAt, "DataspaceMessage", {});
  const auto space = dataspace(cursor);
  ASSERT_TRUE(space);
  EXPECT_EQ(space->dims[0], 5U);
  EXPECT_EQ(space->max_dims[0], format::kUnlimited);
  expect_every_cut_to_fail(old, dataspace);
  const Bytes null = bytes({2, 0, 0, 2});
  format::Cursor other(null, kAt, "DataspaceMessage", {});
  EXPECT_EQ(dataspace(other)->kind, format::DataspaceKind::Null);
  const Bytes rank = bytes({2, 33, 0, 1});
  format::Cursor bad(rank, kAt, "DataspaceMessage", {});
  const Error too_many = dataspace(bad).error();
  EXPECT_EQ(too_many.field(), "rank");
  EXPECT_EQ(too_many.offset(), kAt + 1);
}

// Offsets and lengths of 16 and 32 bytes: what fits 64 bits is read, another value is an error of its field.
TEST(Cursor, FieldsOfMoreThanEightBytes) {
  for (const std::uint8_t width : {std::uint8_t{16}, std::uint8_t{32}}) {
    const format::FileSizes sizes{width, width};
    const Bytes five = joined({little(5, 8), repeated(bytes({0}), width - 8U)});
    const Bytes none = repeated(bytes({255}), width);
    const Bytes beyond = joined({repeated(bytes({0}), width - 1U), bytes({1})});
    const Bytes greatest = joined({repeated(bytes({255}), 8), repeated(bytes({0}), width - 8U)});
    const auto address = [&](const Bytes& field) {
      format::Cursor cursor(field, kAt, "Wide", sizes);
      const std::uint64_t value = cursor.address("address");
      return cursor.finish(value);
    };
    const auto length = [&](const Bytes& field) {
      format::Cursor cursor(field, kAt, "Wide", sizes);
      const std::uint64_t value = cursor.plain_length("length");
      return cursor.finish(value);
    };
    EXPECT_EQ(*address(five), 5U);
    EXPECT_EQ(*length(five), 5U);
    EXPECT_EQ(*address(none), format::kUndefinedAddress);
    for (const Bytes& field : {beyond, greatest}) {
      ASSERT_FALSE(address(field));
      EXPECT_EQ(address(field).error().code(), ErrorCode::OutOfRange);
      EXPECT_EQ(address(field).error().offset(), kAt);
    }
    EXPECT_EQ(length(beyond).error().code(), ErrorCode::OutOfRange);
    EXPECT_EQ(length(none).error().field(), "length");
    EXPECT_EQ(address(Bytes(width - 1U)).error().code(), ErrorCode::Truncated);
    EXPECT_EQ(format::load_address(five.data(), width), 5U);
    EXPECT_EQ(format::load_address(none.data(), width), format::kUndefinedAddress);
    EXPECT_EQ(format::load_address(beyond.data(), width), format::kUnreachableAddress);
    EXPECT_EQ(format::load_address(greatest.data(), width), format::kUnreachableAddress);
  }
  EXPECT_EQ(format::load_address(bytes({255, 255}).data(), 2), format::kUndefinedAddress);
}

// The list says which sections end with a checksum, whatever the message's form.
TEST(DataLayoutMessage, StructuredWithAnyListOfChecksums) {
  const Bytes dims = bytes({0, 2, 1, 8, 4});
  const Bytes index = joined({bytes({1}), little(60, 2), little(40, 8), little(0x100, 8)});
  const auto checksummed = [&](const Bytes& body) {
    const Bytes whole = joined({bytes({5, 4, 0, 1, 0}), body});
    const auto decoded = decode_all(whole, layout);
    EXPECT_TRUE(decoded) << decoded.error().text();
    if (!decoded) return -1;
    EXPECT_EQ(decoded->chunk_dims, (std::vector<std::uint64_t>{8}));
    EXPECT_EQ(decoded->single_stored_size, 60U);
    return int{decoded->structured.checksummed};
  };
  const Bytes lists[] = {bytes({2, 0}), bytes({2, 1, 0}), bytes({2, 1, 1}), bytes({2, 2, 0, 1})};
  const int expected[] = {0, 1, 2, 3};
  for (std::size_t i = 0; i < std::size(lists); ++i) {
    EXPECT_EQ(checksummed(joined({dims, bytes({8}), lists[i], index})), expected[i]) << "prototype " << i;
    EXPECT_EQ(checksummed(joined({dims, index, bytes({8}), lists[i]})), expected[i]) << "version 22 " << i;
    EXPECT_EQ(checksummed(joined({bytes({0}), lists[i], bytes({8}), dims, index})), expected[i])
        << "sectioned " << i;
  }
}

TEST(DataLayoutMessage, ChunkedVersion3And4) {
  const Bytes v3 = bytes({3, 2, 2, 0x10, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 4, 0, 0, 0});
  format::Cursor cursor(v3, kAt, "DataLayoutMessage", {});
  const auto old = layout(cursor);
  ASSERT_TRUE(old);
  EXPECT_EQ(old->chunk_dims, std::vector<std::uint64_t>{8});
  EXPECT_EQ(old->element_size, 4U);
  expect_every_cut_to_fail(v3, layout);
  const Bytes v4 = bytes({4, 2, 0, 2, 1, 8, 4, 3, 10, 0x10, 0, 0, 0, 0, 0, 0, 0});
  format::Cursor other(v4, kAt, "DataLayoutMessage", {});
  const auto fixed = layout(other);
  ASSERT_TRUE(fixed);
  EXPECT_EQ(fixed->index, format::ChunkIndexKind::FixedArray);
  EXPECT_EQ(fixed->fixed_array_page_bits, 10);
  expect_every_cut_to_fail(v4, layout);
  expect_rejected({"no elements", v4, 5, 0, ErrorCode::InvalidValue, "chunk_dimension", 5}, layout);
}

// The worked example of the sparse storage RFC.
TEST(DataLayoutMessage, StructuredSingleChunk) {
  const Bytes message = bytes({5,    4, 0, 1, 0, 0, 2, 1, 8,    4, 8, 2, 1, 0, 1, 0x47, 0,
                               0x43, 0, 0, 0, 0, 0, 0, 0, 0x30, 0, 0, 0, 0, 0, 0, 0});
  format::Cursor cursor(message, kAt, "DataLayoutMessage", {});
  const auto structured = layout(cursor);
  ASSERT_TRUE(structured) << structured.error().text();
  EXPECT_EQ(structured->single_stored_size, 71U);
  EXPECT_EQ(structured->address, 48U);
  EXPECT_EQ(structured->structured.single_section_fields.size(), 8U);
  expect_every_cut_to_fail(message, layout);
}

TEST(FilterPipelineMessage, Versions) {
  const Bytes v2 = bytes({2, 1, 1, 0, 0, 0, 1, 0, 6, 0, 0, 0});
  format::Cursor cursor(v2, kAt, "FilterPipelineMessage", {});
  const auto pipeline = format::decode_filter_pipeline(cursor);
  ASSERT_TRUE(pipeline);
  EXPECT_EQ(pipeline->filters.at(0).client_data, std::vector<std::uint32_t>{6});
  expect_every_cut_to_fail(v2, [](format::Cursor& c) { return format::decode_filter_pipeline(c); });
}

TEST(Selection, BlockBeforeItsStart) {
  const Bytes blocks =
      bytes({2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0});
  format::Cursor cursor(blocks, kAt, "Selection", {});
  const auto rejected = format::decode_selection(cursor);
  ASSERT_FALSE(rejected);
  EXPECT_EQ(rejected.error().field(), "block_end");
  EXPECT_EQ(rejected.error().offset(), kAt + 28);
}

TEST(DataspaceMessage, HasAsManyDimensionsAsTheLimit) {
  const auto space = [](unsigned rank) {
    return joined({bytes({2, static_cast<int>(rank), 0, 1}), repeated(little(2, 8), rank)});
  };
  const auto most = decode_all(space(limits::kMaxRank), dataspace);
  ASSERT_TRUE(most) << most.error().text();
  EXPECT_EQ(most->dims.size(), limits::kMaxRank);
  expect_rejected_whole(space(limits::kMaxRank + 1), ErrorCode::LimitExceeded, "rank", 1, dataspace);
}

TEST(DataLayoutMessage, ChunksHaveAsManyDimensionsAsTheLimit) {
  const auto chunked = [](unsigned rank) {  // the element size is stored as one more dimension
    return joined({bytes({3, 2, static_cast<int>(rank) + 1}), little(kAt, 8), repeated(little(1, 4), rank),
                   little(4, 4)});
  };
  const auto most = decode_all(chunked(limits::kMaxRank), layout);
  ASSERT_TRUE(most) << most.error().text();
  EXPECT_EQ(most->chunk_dims.size(), limits::kMaxRank);
  expect_rejected_whole(chunked(limits::kMaxRank + 1), ErrorCode::InvalidValue, "dimensionality", 2, layout);
}

TEST(FilterPipelineMessage, HasAsManyFiltersAsTheLimit) {
  const auto decode = [](format::Cursor& c) { return format::decode_filter_pipeline(c); };
  const auto pipeline = [](unsigned filters) {
    return joined({bytes({2, static_cast<int>(filters)}), repeated(bytes({3, 0, 0, 0, 0, 0}), filters)});
  };
  const auto most = decode_all(pipeline(limits::kMaxFilters), decode);
  ASSERT_TRUE(most) << most.error().text();
  EXPECT_EQ(most->filters.size(), limits::kMaxFilters);
  expect_rejected_whole(pipeline(limits::kMaxFilters + 1), ErrorCode::LimitExceeded, "filter_count", 1,
                        decode);
}

const auto link_of = [](format::Cursor& c) { return format::decode_link(c); };

TEST(LinkMessage, HardSoftAndExternal) {
  const Bytes hard = joined({bytes({1, 0x14, 7, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0xC3, 0xA9}), little(0x60, 8)});
  const auto one = decode_all(hard, link_of);
  ASSERT_TRUE(one) << one.error().text();
  EXPECT_TRUE(one->is(format::LinkType::Hard));
  EXPECT_EQ(one->address, 0x60U);
  EXPECT_EQ(one->creation_order, 7);
  EXPECT_EQ(one->charset, format::CharacterSet::Utf8);
  EXPECT_EQ(one->name, "\xC3\xA9");
  const Bytes soft = bytes({1, 0x08, 1, 1, 's', 4, 0, '/', 'a', '/', 'b'});
  const auto two = decode_all(soft, link_of);
  ASSERT_TRUE(two) << two.error().text();
  EXPECT_EQ(two->target, "/a/b");
  const Bytes external = bytes({1, 0x08, 64, 1, 'e', 8, 0, 0, 'f', '.', 'h', '5', 0, 'x', 0});
  const auto three = decode_all(external, link_of);
  ASSERT_TRUE(three) << three.error().text();
  EXPECT_EQ(three->file, "f.h5");
  EXPECT_EQ(three->target, "x");
  for (const Bytes& whole : {hard, soft, external}) expect_every_cut_to_fail(whole, link_of);
  expect_rejected({"a reserved kind", soft, 2, 2, ErrorCode::InvalidValue, "type", 2}, link_of);
  expect_rejected({"another version", soft, 0, 2, ErrorCode::UnsupportedVersion, "version", 0}, link_of);
}

TEST(LinkMessage, NamesAreAsLongAsTheLimit) {
  const auto named = [](std::size_t length) {
    return joined({bytes({1, 0x02}), little(length, 4), repeated(bytes({'n'}), length), little(0x60, 8)});
  };
  const auto longest = decode_all(named(limits::kMaxLinkNameBytes), link_of);
  ASSERT_TRUE(longest) << longest.error().text();
  EXPECT_EQ(longest->name.size(), limits::kMaxLinkNameBytes);
  expect_rejected_whole(named(limits::kMaxLinkNameBytes + 1), ErrorCode::LimitExceeded, "name_length", 2,
                        link_of);
}

TEST(FillValueMessage, ThreeVersions) {
  const auto decode = [](format::Cursor& c) { return format::decode_fill_value(c); };
  const Bytes two = bytes({2, 2, 2, 1, 4, 0, 0, 0, 1, 2, 3, 4});
  const Bytes three = bytes({3, 0x2A, 4, 0, 0, 0, 1, 2, 3, 4});
  for (const Bytes& whole : {two, three}) {
    const auto fill = decode_all(whole, decode);
    ASSERT_TRUE(fill) << fill.error().text();
    EXPECT_TRUE(fill->defined);
    EXPECT_EQ(fill->value, bytes({1, 2, 3, 4}));
    EXPECT_EQ(fill->time, format::FillTime::IfSet);
    EXPECT_EQ(fill->allocation_time, 2);
    expect_every_cut_to_fail(whole, decode);
  }
  EXPECT_FALSE(decode_all(bytes({3, 0x1A}), decode)->defined);
  EXPECT_TRUE(decode_all(bytes({3, 0x0A}), decode)->value.empty());
  Bytes both = three;
  both[1] = std::byte{0x3A};  // there, and undefined, which decides
  EXPECT_FALSE(decode_all(both, decode)->defined);
}

TEST(SmallMessages, OldModificationTime) {
  const std::string_view text = "20240229120000";
  format::Cursor cursor(as_bytes(text), kAt, "Test", {});
  EXPECT_EQ(format::decode_modification_time_old(cursor).value(), 1709208000);
  const std::string_view bad = "20230229120000";
  format::Cursor rejected(as_bytes(bad), kAt, "Test", {});
  const auto no_date = format::decode_modification_time_old(rejected);
  ASSERT_FALSE(no_date);
  EXPECT_EQ(no_date.error().field(), "date");
  EXPECT_EQ(no_date.error().offset(), kAt);
}

// The checksum is of the block with zeros in its own place, which is within the block or not looked at.
TEST(FractalHeapDirectBlock, ChecksumAtEveryLength) {
  format::FractalHeapHeader header;
  header.address = 0x1000;
  header.offset_width = 4;
  header.checksummed_direct_blocks = true;
  Bytes whole = bytes({'F', 'H', 'D', 'B', 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  const std::size_t hole = whole.size();
  whole.insert(whole.end(), {std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{'x'}});
  const std::uint32_t sum = lookup3_checksum(whole);
  for (unsigned i = 0; i < 4; ++i) whole[hole + i] = static_cast<std::byte>(sum >> (8 * i));
  const auto check = [&](const Bytes& block) {
    format::Cursor cursor(block, kAt, "FractalHeapDirectBlock", {});
    return format::check_direct_block(cursor, header, 0);
  };
  EXPECT_TRUE(check(whole));
  for (std::size_t length = 0; length < hole + 4; ++length) {
    const auto cut = check(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)));
    ASSERT_FALSE(cut) << length;
    EXPECT_EQ(cut.error().code(), ErrorCode::Truncated) << length;
  }
  whole.back() = std::byte{'y'};
  const auto changed = check(whole);
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code(), ErrorCode::ChecksumMismatch);
  set_metadata_checksums_enabled(false);
  EXPECT_TRUE(check(whole));
  set_metadata_checksums_enabled(true);
}

}  // namespace
}  // namespace h5mount::test
