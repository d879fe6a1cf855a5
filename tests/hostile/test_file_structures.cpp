// As test_structures.cpp, of structures that belong to the file and to no object.
#include "h5mount/base/limits.h"
#include "h5mount/format/cache_image.h"
#include "h5mount/format/free_space.h"
#include "h5mount/format/shared_message_table.h"
#include "named_fields.h"

namespace h5mount::test {
namespace {

constexpr std::uint64_t kNone = format::kUndefinedAddress;
constexpr auto kVersion = ErrorCode::UnsupportedVersion;
constexpr auto kSignature = ErrorCode::BadSignature;
constexpr auto kLimit = ErrorCode::LimitExceeded;
constexpr auto kShort = ErrorCode::Truncated;
constexpr auto kSum = ErrorCode::ChecksumMismatch;

TEST(HostileFields, SharedMessageTables) {
  NamedFields m("SharedMessageTableMessage");
  m.u8("version", 0).address("table", 0x100).u8("index_count", 8);
  expect_each_rejected(m, format::decode_shared_message_table_message,
                       {{"version", 1, kVersion}, {"index_count", 0}, {"index_count", 9}});
  NamedFields t("SharedMessageTable");
  t.text("signature", "SMTB")
      .u8("version", 0)
      .u8("index_kind", 0)
      .u16("types", 2)
      .u32("least", 0)
      .u16("list_cutoff", 0)
      .u16("tree_cutoff", 0);
  t.u16("count", 0).address("index", kNone).address("heap", kNone).checksum();
  expect_each_rejected(
      t, [](format::Cursor& c) { return format::decode_shared_message_table(c, 1); },
      {{"signature", 0, kSignature}, {"version", 1, kVersion}, {"index_kind", 2}, {"checksum", 1, kSum}});
}

TEST(HostileFields, FreeSpace) {
  NamedFields m("FreeSpaceManager");
  m.text("signature", "FSHD").u8("version", 0).u8("client", 1).length("total", 9).length("count", 3);
  m.length("stored", 3).length("ghosts", 0).u16("classes", 1).u16("shrink", 80).u16("expand", 120);
  m.u16("address_bits", 64).length("largest_section", 300).address("list_address", 0x100);
  m.length("list_bytes", 64).length("list_space", 80).checksum();
  expect_each_rejected(m, format::decode_free_space_manager,
                       {{"signature", 0, kSignature},
                        {"version", 1, kVersion},
                        {"list_bytes", 81},
                        {"list_bytes", 16},
                        {"list_space", limits::kMaxNodeBytes + 1, kLimit},
                        {"checksum", 1, kSum}});
  format::Cursor cursor = m.cursor();
  const auto manager = format::decode_free_space_manager(cursor);
  ASSERT_TRUE(manager);
  EXPECT_EQ(manager->address_width, 8U);
  EXPECT_EQ(manager->size_width, 2U);
  EXPECT_EQ(manager->count_width, 1U);

  NamedFields s("FreeSpaceSections");
  s.text("signature", "FSSE").u8("version", 0).address("manager_address", 0x200);
  s.u8("section_count", 2).u16("section_size", 300).u64("a", 0x1000).u8("kind", 0).u64("b", 0x2000);
  s.u8("kind[1]", 0).u8("section_count[1]", 1).u16("size[1]", 7).u64("c", 0x3000).u8("kind[2]", 0).checksum();
  std::vector<std::pair<std::uint64_t, std::uint64_t>> found;
  const auto decode = [&](format::Cursor& c) {
    found.clear();
    return format::decode_free_sections(
        c, *manager, [&](std::uint64_t address, std::uint64_t bytes) { found.emplace_back(address, bytes); });
  };
  format::Cursor sections = s.cursor();
  ASSERT_TRUE(decode(sections));
  EXPECT_EQ(found, (std::vector<std::pair<std::uint64_t, std::uint64_t>>{
                       {0x1000, 300}, {0x2000, 300}, {0x3000, 7}}));
  expect_each_rejected(
      s, decode,
      {{"signature", 0, kSignature}, {"version", 1, kVersion}, {"section_count", 4}, {"checksum", 1, kSum}});
}

// Sections of a heap that lie in an indirect block have data behind their class, as wide as the addresses
// say.
TEST(HostileFields, FreeSpaceOfAHeap) {
  const format::FreeSpaceManager manager{
      .of_heap = true, .section_count = 4, .address_width = 4, .size_width = 2, .count_width = 1};
  NamedFields s("FreeSpaceSections");
  s.text("signature", "FSSE").u8("version", 0).address("manager_address", 0x200);
  s.u8("section_count", 3).u16("size", 300).u32("a", 0x1000).u8("class", 1);
  s.u32("a.offset", 0x100).u16("a.row", 1).u16("a.column", 2).u16("a.blocks", 3);
  s.u32("b", 0x2000).u8("class[1]", 0).u32("c", 0x3000).u8("class[2]", 3).uint("c.data", 7, 8);
  s.u16("c.blocks", 1)
      .u8("section_count[1]", 1)
      .u16("size[1]", 7)
      .u32("d", 0x4000)
      .u8("class[3]", 0)
      .checksum();
  std::vector<std::pair<std::uint64_t, std::uint64_t>> found;
  const auto decode = [&](format::Cursor& c) {
    found.clear();
    return format::decode_free_sections(
        c, manager, [&](std::uint64_t address, std::uint64_t bytes) { found.emplace_back(address, bytes); });
  };
  format::Cursor sections = s.cursor();
  ASSERT_TRUE(decode(sections));
  EXPECT_EQ(found, (std::vector<std::pair<std::uint64_t, std::uint64_t>>{
                       {0x1000, 300}, {0x2000, 300}, {0x3000, 300}, {0x4000, 7}}));
  expect_each_rejected(s, decode, {{"section_count", 5}, {"checksum", 1, kSum}});
}

// Version 0 has fewer fields, but early writers of version 1 called theirs 0 too.
TEST(HostileFields, FileSpaceInfo) {
  const auto managers = [](unsigned count, bool old, std::uint8_t version) {
    NamedFields m("FileSpaceInfoMessage");
    m.u8("version", version).u8("strategy", 1);
    if (!old) m.u8("persists", 1);
    m.length("threshold", 1);
    if (!old) m.length("page_size", 4096).u16("page_end_threshold", 0).address("end", 0x9000);
    for (unsigned i = 0; i < count; ++i)
      m.address("manager_address" + (i == 0 ? std::string() : std::to_string(i)),
                i % 2 == 0 ? 0x100 * i : kNone);
    format::Cursor cursor = m.cursor();
    return format::decode_file_space_info(cursor);
  };
  EXPECT_EQ(managers(12, false, 1).value().managers.size(), 6U);
  EXPECT_EQ(managers(12, false, 0).value().managers.size(), 6U);
  EXPECT_EQ(managers(6, true, 0).value().managers.size(), 3U);
  EXPECT_EQ(managers(12, false, 1).value().page_bytes, 4096U);
  EXPECT_EQ(managers(6, true, 0).value().page_bytes, 0U);
  EXPECT_EQ(managers(11, false, 1).error().code(), kShort);
  EXPECT_EQ(managers(12, false, 2).error().code(), kVersion);
}

TEST(HostileFields, CacheImages) {
  NamedFields i("MetadataCacheImage");
  i.text("signature", "MDCI").u8("version", 0).u8("flags", 0).length("length", 0).u32("entry_count", 1);
  i.u32("type", 0).u32("children", 0).u16("parents", 0).u32("lru", 0).address("entry.address", 0x100);
  i.length("entry.size", 4).u32("bytes", 0).checksum();
  expect_each_rejected(i, format::decode_cache_image,
                       {{"signature", 0, kSignature},
                        {"version", 1, kVersion},
                        {"entry_count", 2, kShort},
                        {"entry_count", (1U << 24) + 1, kLimit},
                        {"entry.address", kNone},
                        {"entry.size", 9, kShort},
                        {"checksum", 1, kSum}});
}

}  // namespace
}  // namespace h5mount::test
