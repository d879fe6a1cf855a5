// One invalid value in each field that a message's decoder checks; the error must have the right code,
// structure, field and offset. The datatype message has its own tests in tests/format.
#include "h5mount/base/limits.h"
#include "h5mount/format/data_layout.h"
#include "h5mount/format/dataspace.h"
#include "h5mount/format/filter_pipeline.h"
#include "h5mount/format/messages.h"
#include "h5mount/format/selection.h"
#include "h5mount/format/virtual_mapping.h"
#include "named_fields.h"

namespace h5mount::test {
namespace {

constexpr auto kVersion = ErrorCode::UnsupportedVersion;
constexpr auto kFeature = ErrorCode::UnsupportedFeature;
constexpr auto kLimit = ErrorCode::LimitExceeded;
constexpr auto kShort = ErrorCode::Truncated;
constexpr auto kInvalid = ErrorCode::InvalidValue;

TEST(HostileFields, Dataspaces) {
  NamedFields s("DataspaceMessage");
  s.u8("version", 2)
      .u8("rank", 1)
      .u8("flags", 1)
      .u8("type", 1)
      .length("dimension_size", 5)
      .length("maximum_size", 5);
  expect_each_rejected(s, format::decode_dataspace,
                       {{"version", 3, kVersion},
                        {"rank", 33, kLimit},
                        {"rank", 3, kShort},
                        {"type", 3},
                        {"type", 0, kInvalid, "rank"}});
}

// Fields that others contradict, or that concern writers alone, end nothing: what counts is read.
TEST(HostileFields, WhatDoesNotDecideIsNotRefused) {
  NamedFields s("DataspaceMessage");
  s.u8("version", 2).u8("rank", 1).u8("flags", 1).u8("type", 1).length("dimension_size", 5);
  s.length("maximum_size", 4);
  format::Cursor space_cursor = s.cursor();
  const auto space = format::decode_dataspace(space_cursor);
  ASSERT_TRUE(space) << space.error().text();
  EXPECT_EQ(space->max_dims, space->dims);
  EXPECT_EQ(space->max_below.name, "maximum_size");
  EXPECT_EQ(space->max_below.value, 4U);

  NamedFields both("FillValueMessage");
  both.u8("version", 3).u8("flags", 0x3E).u32("size", 4).u32("value", 7);
  format::Cursor fill_cursor = both.cursor();
  const auto fill = format::decode_fill_value(fill_cursor);
  ASSERT_TRUE(fill) << fill.error().text();
  EXPECT_FALSE(fill->defined);
  EXPECT_TRUE(fill->value.empty());
  EXPECT_EQ(fill->time, format::FillTime::IfSet);

  for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{9}, std::uint64_t{1} << 32}) {
    NamedFields layout("DataLayoutMessage");
    layout.u8("version", 4).u8("class", 2).u8("flags", 0).u8("dimensionality", 2).u8("dimension_width", 8);
    layout.u64("chunk_dimension", 8).u64("element_size", size).u8("index_type", 3).u8("page_bits", 10);
    layout.address("index", 0x100);
    format::Cursor cursor = layout.cursor();
    const auto decoded = format::decode_data_layout(cursor);
    ASSERT_TRUE(decoded) << decoded.error().text();
    EXPECT_EQ(decoded->chunk_dims, (std::vector<std::uint64_t>{8}));
  }
}

TEST(HostileFields, OldDataLayouts) {
  NamedFields old("DataLayoutMessage");
  old.u8("version", 1)
      .u8("dimensionality", 2)
      .u8("class", 2)
      .uint("reserved", 0, 5)
      .address("address", 0x100);
  old.u32("chunk_dimension", 8).u32("element_size", 4);
  expect_each_rejected(old, format::decode_data_layout,
                       {{"version", 0, kVersion},
                        {"version", 6, kVersion},
                        {"dimensionality", 1},
                        {"dimensionality", 34},
                        {"class", 3},
                        {"chunk_dimension", 0}});
  NamedFields three("DataLayoutMessage");
  three.u8("version", 3)
      .u8("class", 2)
      .u8("dimensionality", 2)
      .address("btree", 0x100)
      .u32("chunk_dimension", 8);
  three.u32("element_size", 4);
  expect_each_rejected(three, format::decode_data_layout,
                       {{"class", 3},
                        {"dimensionality", 1},
                        {"dimensionality", 34},
                        {"dimensionality", 3, kShort},
                        {"chunk_dimension", 0}});
}

TEST(HostileFields, NewDataLayouts) {
  NamedFields four("DataLayoutMessage");
  four.u8("version", 4).u8("class", 2).u8("flags", 0).u8("dimensionality", 2).u8("dimension_width", 8);
  four.u64("chunk_dimension", 8)
      .u64("element_size", 4)
      .u8("index_type", 3)
      .u8("page_bits", 10)
      .address("index", 0x100);
  expect_each_rejected(four, format::decode_data_layout,
                       {{"class", 4},
                        {"flags", 4},
                        {"dimensionality", 1},
                        {"dimension_width", 0},
                        {"dimension_width", 9},
                        {"chunk_dimension", 0},
                        {"index_type", 0},
                        {"index_type", 6}});
  NamedFields sparse("DataLayoutMessage");
  sparse.u8("version", 5)
      .u8("class", 4)
      .u8("property_version", 0)
      .u16("structured_chunk_type", 0)
      .u8("flags", 0);
  sparse.u8("dimensionality", 2).u8("dimension_width", 1).u8("chunk_dimension", 8).u8("element_size", 4);
  sparse.u8("offset_size", 8)
      .u8("section_count", 2)
      .u8("checksummed_section_count", 1)
      .u8("checksummed_section", 0);
  sparse.u8("index_type", 3).u8("page_bits", 10).address("index", 0x100);
  expect_each_rejected(sparse, format::decode_data_layout,
                       {{"property_version", 1, kVersion},
                        {"structured_chunk_type", 2, kFeature},
                        {"flags", 4},
                        {"section_count", 3, kFeature},
                        {"checksummed_section_count", 3},
                        {"checksummed_section", 2},
                        {"index_type", 2}});
}

TEST(HostileFields, FilterPipelines) {
  NamedFields p("FilterPipelineMessage");
  p.u8("version", 2).u8("filter_count", 1).u16("filter_id", 1).u16("flags", 0).u16("client_value_count", 1);
  p.u32("client_data", 6);
  expect_each_rejected(
      p, format::decode_filter_pipeline,
      {{"version", 0, kVersion}, {"filter_count", 33, kLimit}, {"client_value_count", 2, kShort}});
  NamedFields s("SectionPipelineMessage");
  s.u8("version", 3)
      .u8("section_count", 2)
      .u8("section_number", 0)
      .u8("filter_count", 1)
      .u16("filter_list_bytes", 6);
  s.u16("filter_id", 1)
      .u16("flags", 0)
      .u16("client_value_count", 0)
      .u8("section_number[1]", 1)
      .u8("filter_count[1]", 0);
  s.u16("filter_list_bytes[1]", 0);
  expect_each_rejected(s, format::decode_section_pipeline,
                       {{"version", 2, kVersion},
                        {"section_count", 200, kShort},
                        {"section_number[1]", 0},
                        {"filter_count", 0, kInvalid, "filter_list_bytes"},
                        {"filter_count", 33, kLimit},
                        {"client_value_count", 1, kShort}});
}

TEST(HostileFields, FillValues) {
  NamedFields two("FillValueMessage");
  two.u8("version", 2)
      .u8("allocation_time", 2)
      .u8("fill_time", 2)
      .u8("defined", 1)
      .u32("size", 4)
      .u32("value", 7);
  expect_each_rejected(two, format::decode_fill_value,
                       {{"version", 4, kVersion}, {"size", 5, kShort, "value"}});
}

TEST(HostileFields, Links) {
  NamedFields soft("LinkMessage");
  soft.u8("version", 1)
      .u8("flags", 0x08)
      .u8("type", 1)
      .u8("name_length", 1)
      .u8("name", 's')
      .u16("value_length", 2);
  soft.u16("value", 0x6161);
  expect_each_rejected(soft, format::decode_link,
                       {{"version", 2, kVersion},
                        {"type", 2},
                        {"type", 63},
                        {"name_length", 255, kShort},
                        {"value_length", 3, kShort, "value"}});
  NamedFields external("LinkMessage");
  external.u8("version", 1)
      .u8("flags", 0x08)
      .u8("type", 64)
      .u8("name_length", 1)
      .u8("name", 'e')
      .u16("value_length", 5);
  external.u8("external_version", 0).text("external_file_name", std::string_view("f\0", 2));
  external.text("external_object_path", std::string_view("x\0", 2));
  expect_each_rejected(external, format::decode_link, {{"external_object_path", 0x4141, kShort}});
}

TEST(HostileFields, Attributes) {
  NamedFields a("AttributeMessage");
  a.u8("version", 3)
      .u8("flags", 0)
      .u16("name_size", 2)
      .u16("datatype_size", 8)
      .u16("dataspace_size", 4)
      .u8("charset", 0);
  a.text("name", std::string_view("a\0", 2)).u64("datatype", 0).u32("dataspace", 0);
  expect_each_rejected(a, format::decode_attribute,
                       {{"version", 4, kVersion}, {"flags", 4}, {"datatype_size", 13, kShort, "datatype"}});
  NamedFields i("AttributeInfoMessage");
  i.u8("version", 0).u8("flags", 0).address("heap", 0x100).address("index", 0x200);
  expect_each_rejected(i, format::decode_attribute_info, {{"version", 1, kVersion}});
}

TEST(HostileFields, SmallMessages) {
  NamedFields files("ExternalDataFilesMessage");
  files.u8("version", 1).zeros(3).u16("allocated", 1).u16("used_slots", 1).address("heap", 0x100);
  files.length("name", 0).length("offset", 0).length("size", 9);
  expect_each_rejected(
      files, format::decode_external_data_files,
      {{"version", 2, kVersion}, {"used_slots", 2}, {"allocated", 0, kInvalid, "used_slots"}});
  expect_rejected(files.with("allocated", 3), {"used_slots", 2, kShort}, format::decode_external_data_files);
  NamedFields shared("SharedMessage");
  shared.u8("version", 2).u8("type", 0).address("header", 0x100);
  expect_each_rejected(shared, format::decode_shared_reference, {{"version", 4, kVersion}});
  NamedFields time("ObjectModificationTimeMessage");
  time.u8("version", 1).zeros(3).u32("seconds", 1);
  expect_each_rejected(time, format::decode_modification_time, {{"version", 0, kVersion}});
  NamedFields date("ObjectModificationTimeOldMessage");
  date.text("date", "2024").text("month", "02").text("day", "2").u8("day[1]", '9').text("rest", "120000");
  expect_each_rejected(date, format::decode_modification_time_old,
                       {{"day[1]", 'x'}, {"month", 0x3331, kInvalid, "date"}});
}

TEST(HostileFields, Selections) {
  NamedFields points("Selection");
  points.u32("selection_type", 1).u32("selection_version", 2).u8("encoding_width", 2).u32("rank", 1);
  points.u16("point_count", 1).u16("point_coordinate", 3);
  expect_each_rejected(points, format::decode_selection,
                       {{"selection_type", 4},
                        {"selection_version", 3, kVersion},
                        {"encoding_width", 3},
                        {"rank", 0},
                        {"rank", 33},
                        {"point_count", 2, kShort}});
  NamedFields slab("Selection");
  slab.u32("selection_type", 2)
      .u32("selection_version", 3)
      .u8("flags", 1)
      .u8("encoding_width", 2)
      .u32("rank", 1);
  slab.u16("start", 0).u16("stride", 4).u16("count", 2).u16("block", 3);
  expect_each_rejected(slab, format::decode_selection,
                       {{"selection_version", 0, kVersion},
                        {"flags", 2},
                        {"encoding_width", 0},
                        {"rank", 2, kShort},
                        {"stride", 0},
                        {"block", 5}});
  NamedFields blocks("Selection");
  blocks.u32("selection_type", 2)
      .u32("selection_version", 3)
      .u8("flags", 0)
      .u8("encoding_width", 2)
      .u32("rank", 1);
  blocks.u16("block_count", 2).u16("start", 1).u16("block_end", 1).u16("start[1]", 4).u16("block_end[1]", 6);
  expect_each_rejected(blocks, format::decode_selection,
                       {{"block_count", 3, kShort}, {"block_end", 0}, {"block_end[1]", 3}});
}

Result<std::size_t> mappings_in(format::Cursor& cursor) {
  std::size_t count = 0;
  H5_TRY(format::for_each_virtual_mapping(cursor, [&](format::VirtualMapping, std::size_t) -> Status {
    ++count;
    return {};
  }));
  return count;
}

// The maximum number of mappings takes 36 MiB with the shortest names and `all` selections.
TEST(HostileFields, AVirtualLayoutHasAsManyMappingsAsTheLimit) {
  std::vector<std::byte> bytes(9);
  std::vector<std::byte> entry = {std::byte{'f'}, {}, std::byte{'d'}, {}};
  for (int part = 0; part < 2; ++part) {
    entry.push_back(std::byte{3});
    entry.resize(entry.size() + 3);
    entry.push_back(std::byte{1});
    entry.resize(entry.size() + 11);
  }
  for (std::size_t i = 0; i < limits::kMaxVirtualMappings; ++i)
    bytes.insert(bytes.end(), entry.begin(), entry.end());
  for (int i = 0; i < 8; ++i)
    bytes[1U + static_cast<unsigned>(i)] = static_cast<std::byte>(limits::kMaxVirtualMappings >> (8 * i));
  const std::uint32_t sum = lookup3_checksum(bytes);
  for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<std::byte>(sum >> (8 * i)));
  format::Cursor cursor(bytes, 0, "VirtualMappings", {});
  const auto most = mappings_in(cursor);
  ASSERT_TRUE(most) << most.error().text();
  EXPECT_EQ(*most, limits::kMaxVirtualMappings);
}

NamedFields virtual_mappings(std::uint64_t entries, std::uint8_t flags) {
  NamedFields m("VirtualMappings");
  m.u8("version", 1)
      .length("entry_count", entries)
      .u8("entry_flags", flags)
      .text("file", std::string_view("f\0", 2));
  m.text("dataset", std::string_view("d\0", 2));
  for (const char* const which : {"source", "view"}) m.u32(which, 3).u32("all", 1).u64("unused", 0);
  return m.checksum();
}

TEST(HostileFields, VirtualMappings) {
  expect_each_rejected(virtual_mappings(1, 0), mappings_in,
                       {{"version", 2, kVersion},
                        {"entry_count", 2, kShort},
                        {"entry_count", limits::kMaxVirtualMappings + 1, kLimit},
                        {"entry_flags", 8},
                        {"checksum", 1, ErrorCode::ChecksumMismatch}});
  NamedFields earlier("VirtualMappings");
  earlier.u8("version", 1).length("entry_count", 2);
  for (const char* const entry : {"", "[1]"}) {
    earlier.u8(std::string("entry_flags") + entry, *entry == 0 ? 4 : 6);
    if (*entry == 0)
      earlier.text("dataset", std::string_view("d\0", 2));
    else
      earlier.length("source_dataset_name", 0);
    for (int part = 0; part < 2; ++part) earlier.u32("all", 3).u32("version_of_all", 1).u64("unused", 0);
  }
  earlier.checksum();
  expect_each_rejected(earlier, mappings_in, {{"source_dataset_name", 1}});
}

}  // namespace
}  // namespace h5mount::test
