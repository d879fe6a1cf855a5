// A small file with an old group (symbol table, version 1 B-tree, local heap) and one invalid field at a
// time: each gives a specific error and affects only the entries below it.
#include <gtest/gtest.h>

#include "h5mount/object/object.h"
#include "support/byte_builder.h"

namespace h5mount::test {
namespace {

constexpr std::uint64_t kHeader = 96, kTree = 160, kHeap = 800, kSymbols = 1024, kSegment = 16'384;
constexpr std::uint64_t kUndefined = ~std::uint64_t{0};

struct Symbol {
  std::uint64_t name_offset = 0, header = kHeader;
};

// The fields that tests change. By default the group has two links, "alpha" and "beta", to the root itself.
struct OldGroupFile {
  std::uint8_t level = 0;
  std::uint16_t leaf_k = 4;
  std::optional<std::uint16_t> tree_entries = {};
  std::vector<std::uint64_t> children = {kSymbols};
  std::string segment = std::string("\0\0\0\0\0\0\0\0alpha\0\0\0beta\0\0\0\0", 24);
  std::optional<std::uint64_t> segment_size = {};
  std::uint64_t segment_address = kSegment;
  std::vector<Symbol> symbols = {{8}, {16}};
  std::optional<std::uint16_t> symbol_count = {};
  std::string_view tree_signature = "TREE", symbol_signature = "SNOD", heap_signature = "HEAP";

  std::vector<std::byte> bytes() const {
    ByteBuilder b;
    b.text("\x89HDF\r\n\x1a\n").u32(0).u8(0).u8(8).u8(8).u8(0).u16(leaf_k).u16(16).u32(0);
    const std::uint64_t end = kSegment + segment.size() + 64;
    b.u64(0).u64(kUndefined).u64(end).u64(kUndefined).u64(0).u64(kHeader).u64(0).zeros(16);
    b.at(kHeader).u8(1).u8(0).u16(1).u32(1).u32(24).u32(0).u16(0x11).u16(16).u32(0).u64(kTree).u64(kHeap);
    b.at(kTree).text(tree_signature).u8(0).u8(level);
    b.u16(tree_entries.value_or(static_cast<std::uint16_t>(children.size()))).u64(kUndefined).u64(kUndefined);
    for (const std::uint64_t child : children) b.u64(0).u64(child);
    b.u64(16);
    b.at(kHeap)
        .text(heap_signature)
        .u32(0)
        .u64(segment_size.value_or(segment.size()))
        .u64(kUndefined)
        .u64(segment_address);
    b.at(kSymbols).text(symbol_signature).u8(1).u8(0);
    b.u16(symbol_count.value_or(static_cast<std::uint16_t>(symbols.size())));
    for (const Symbol& s : symbols) b.u64(s.name_offset).u64(s.header).zeros(24);
    return b.at(kSegment).text(segment).at(end).bytes();
  }
};

struct Listed {
  std::vector<std::string> names;
  std::vector<ErrorCode> damage;
  std::vector<std::string>
      places;  // of the damage: structure.field, and the offset from the structure's start
  std::optional<Error> error;
};

std::string place_of(const Error& error, std::uint64_t structure_at) {
  return std::string(error.structure()) + "." + std::string(error.field()) + "+" +
         std::to_string(error.offset() - structure_at);
}

Listed list(const OldGroupFile& file) {
  Listed out;
  const auto metadata = metadata::FileMetadata::open(io::make_memory_source(file.bytes()), {});
  if (!metadata) return out.error = metadata.error(), out;
  const auto root = object::open_object(**metadata, (*metadata)->root_address());
  if (!root) return out.error = root.error(), out;
  const auto group = object::Group::open(*metadata, *root);
  if (!group) return out.error = group.error(), out;
  const Status done =
      (*group)->for_each([&](const format::Link& link) { return out.names.push_back(link.name), true; },
                         [&](const Error& error) {
                           out.damage.push_back(error.code());
                           out.places.push_back(place_of(error, kSymbols));
                         });
  if (!done) out.error = done.error();
  (void)(*group)->find("alpha");
  (void)(*group)->find("zeta");
  return out;
}

// `place`: as place_of formats it for the structure at `structure_at`.
void expect_error(const OldGroupFile& file, ErrorCode code, std::string_view place,
                  std::uint64_t structure_at) {
  const Listed listed = list(file);
  ASSERT_TRUE(listed.error.has_value());
  EXPECT_EQ(listed.error->code(), code) << listed.error->text();
  EXPECT_EQ(place_of(*listed.error, structure_at), place) << listed.error->text();
}

TEST(HostileOldGroup, TheUnchangedFileIsValid) {
  const Listed listed = list({});
  EXPECT_FALSE(listed.error) << listed.error->text();
  EXPECT_EQ(listed.names, (std::vector<std::string>{"alpha", "beta"}));
}

TEST(HostileOldGroup, WrongSignatures) {
  expect_error({.tree_signature = "TREF"}, ErrorCode::BadSignature, "GroupBTree1Node.signature+0", kTree);
  expect_error({.heap_signature = "HEAQ"}, ErrorCode::BadSignature, "LocalHeap.signature+0", kHeap);
  const Listed listed = list({.symbol_signature = "SNOE"});
  EXPECT_EQ(listed.damage, std::vector{ErrorCode::BadSignature});
  EXPECT_EQ(listed.places, std::vector<std::string>{"SymbolTableNode.signature+0"});
}

TEST(HostileOldGroup, MoreEntriesThanANodeHolds) {
  expect_error({.tree_entries = 33}, ErrorCode::LimitExceeded, "GroupBTree1Node.entries_used+6", kTree);
  const Listed listed = list({.symbol_count = 9});
  EXPECT_EQ(listed.damage, std::vector{ErrorCode::LimitExceeded});
  EXPECT_EQ(listed.places, std::vector<std::string>{"SymbolTableNode.symbol_count+6"});
}

TEST(HostileOldGroup, LevelsThatDoNotDecrease) {
  // A node that is its own child, and one whose child is a symbol table node instead of a B-tree node.
  EXPECT_EQ(list({.level = 1, .children = {kTree}}).damage, std::vector{ErrorCode::Cycle});
  EXPECT_EQ(list({.level = 1, .children = {kSymbols}}).damage, std::vector{ErrorCode::BadSignature});
  EXPECT_EQ(list({.level = 255, .children = {kTree}}).damage, std::vector{ErrorCode::Cycle});
}

// The tree's key is the node's last name, so a node without names lacks at least that one.
TEST(HostileOldGroup, ANodeWithoutNames) {
  const Listed listed = list({.symbol_count = 0});
  EXPECT_EQ(listed.names, std::vector<std::string>{});
  EXPECT_EQ(listed.damage, std::vector{ErrorCode::InvalidValue});
}

TEST(HostileOldGroup, TheSameNodeTwiceIsListedOnce) {
  const Listed listed = list({.children = {kSymbols, kSymbols, kSymbols}});
  EXPECT_EQ(listed.names.size(), 2U);
  // The first node does not end with its upper key, which is that of the second.
  EXPECT_EQ(listed.damage, (std::vector{ErrorCode::InvalidValue, ErrorCode::Cycle, ErrorCode::Cycle}));
}

TEST(HostileOldGroup, NamesOutsideTheHeap) {
  const Listed listed = list({.symbols = {{8}, {24}, {1U << 30}, {kUndefined}}});
  EXPECT_EQ(listed.names, std::vector<std::string>{"alpha"});
  // Three names, and the name of the node's upper key.
  EXPECT_EQ(listed.damage, (std::vector{ErrorCode::OutOfRange, ErrorCode::OutOfRange, ErrorCode::OutOfRange,
                                        ErrorCode::InvalidValue}));
}

TEST(HostileOldGroup, NameWithoutAnEnd) {
  OldGroupFile file;
  file.segment = std::string("\0\0\0\0\0\0\0\0alpha\0\0\0betabeta", 24);
  const Listed listed = list(file);
  EXPECT_EQ(listed.names, std::vector<std::string>{"alpha"});
  EXPECT_EQ(listed.damage, std::vector{ErrorCode::Truncated});
}

TEST(HostileOldGroup, SegmentElsewhere) {
  for (const std::uint64_t address :
       {std::uint64_t{1} << 40, kUndefined, kUndefined - 8, std::uint64_t{1} << 63}) {
    const Listed listed = list({.segment_address = address});
    EXPECT_TRUE(listed.names.empty());
    EXPECT_EQ(listed.damage.size(), 2U);
  }
  EXPECT_TRUE(list({.segment_size = kUndefined}).names.size() <= 2U);
}

// 150 links that share one name of nearly 1 MiB in a file of 1 MiB: the name must not be held in memory 150
// times.
TEST(HostileOldGroup, OneLongNameForAllLinks) {
  OldGroupFile file;
  file.leaf_k = 100;
  file.segment = std::string(1'000'000, 'x') + '\0';
  file.symbols.assign(150, {0});
  const Listed listed = list(file);
  ASSERT_TRUE(listed.error.has_value());
  EXPECT_EQ(listed.error->code(), ErrorCode::LimitExceeded);
  EXPECT_LT(listed.names.size(), 100U);
}

}  // namespace
}  // namespace h5mount::test
