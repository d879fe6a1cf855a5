// The count of entries in the nodes of an old group made smaller: no checksum covers it, and the names behind
// the last entry must not be lost in silence. What deleted links leave there is no damage.
#include <gtest/gtest.h>

#include "h5mount/object/object.h"
#include "support/h5py_file.h"

namespace h5mount::test {
namespace {

constexpr std::size_t kEntries = 6, kFirstKey = 24, kEntryBytes = 16, kMaxEntries = 32;  // of a node
constexpr std::size_t kMaxNodeBytes = kFirstKey + kMaxEntries * kEntryBytes + 8;
constexpr std::size_t kSymbolNodeBytes = 8 + 8 * 40;

std::vector<std::byte> group_of(int links, const std::string& more = {}) {
  return written_with_h5py("g = f.create_group('g')\nfor i in range(" + std::to_string(links) +
                               "):\n  g['long_name_%04d' % i] = h5py.SoftLink('/')\n" + more,
                           "earliest");
}

// The nodes of /g at `level`, in file order: the root group's own has one entry and level 0.
std::vector<std::size_t> nodes_of(const std::vector<std::byte>& bytes, int level) {
  std::vector<std::size_t> nodes = places_of(bytes, "TREE");
  std::erase_if(nodes, [&](std::size_t at) {
    return bytes[at + 5] != std::byte(level) || bytes[at + kEntries] < std::byte{2};
  });
  return nodes;
}

struct Seen {
  int listed = 0, found = 0, absent = 0, failed = 0;
  std::vector<std::string> damage;
};

// Lists /g, and then searches what was written and one name behind all others, in a group of its own.
Seen look_at(std::vector<std::byte> bytes, int links) {
  Seen seen;
  const auto file = metadata::FileMetadata::open(io::make_memory_source(std::move(bytes)), {});
  if (!file) return seen;
  const auto open_group = [&] {
    const auto address = object::resolve_path(*file, (*file)->root_address(), "/g");
    const auto object = object::open_object(**file, address.value_or(0));
    return object::Group::open(*file, object.value_or(object::Object{}));
  };
  const auto listing = open_group(), searched = open_group();
  EXPECT_TRUE(listing && searched);
  if (!listing || !searched) return seen;
  EXPECT_TRUE((*listing)->for_each([&](const format::Link&) { return ++seen.listed > 0; },
                                   [&](const Error& error) { seen.damage.push_back(error.text()); }));
  for (int i = 0; i <= links; ++i) {
    const auto link = (*searched)->find("long_name_" + std::to_string(10'000 + i).substr(1));
    ++(link ? seen.found : link.error().code() == ErrorCode::NotFound ? seen.absent : seen.failed);
  }
  return seen;
}

TEST(OldGroupCounts, SoundGroupsHaveNoDamage) {
  for (const int links : {0, 1, 8, 9, 60, 700}) {
    const auto bytes = group_of(links);
    const Seen seen = look_at(bytes, links);
    EXPECT_EQ(seen.damage, std::vector<std::string>{}) << links;
    EXPECT_EQ(seen.listed, links);
    EXPECT_EQ(seen.found, links);
    EXPECT_EQ(seen.absent, 1);
  }
}

TEST(OldGroupCounts, ASmallerRootIsDamage) {
  const auto sound = group_of(60);
  const auto nodes = nodes_of(sound, 0);
  ASSERT_EQ(nodes.size(), 1U);
  const auto used = static_cast<int>(sound[nodes[0] + kEntries]);
  for (int count = 0; count < used; ++count) {
    auto bytes = sound;
    bytes[nodes[0] + kEntries] = std::byte(count);
    const Seen seen = look_at(bytes, 60);
    EXPECT_LT(seen.listed, 60);
    EXPECT_EQ(seen.found, seen.listed);
    EXPECT_EQ(seen.absent, 0);
    ASSERT_EQ(seen.damage.size(), 1U) << count;
    EXPECT_NE(seen.damage[0].find("GroupBTree1Node.entries_used"), std::string::npos) << seen.damage[0];
  }
}

TEST(OldGroupCounts, ASmallerNodeOfAnyLevelIsDamage) {
  const auto sound = group_of(700);
  ASSERT_EQ(nodes_of(sound, 1).size(), 1U);
  ASSERT_GT(nodes_of(sound, 0).size(), 2U);
  for (const int level : {0, 1})
    for (const std::size_t node : nodes_of(sound, level)) {
      auto bytes = sound;
      bytes[node + kEntries] = std::byte(static_cast<int>(bytes[node + kEntries]) - 1);
      const Seen seen = look_at(bytes, 700);
      EXPECT_LT(seen.listed, 700);
      EXPECT_EQ(seen.found, seen.listed);
      EXPECT_LE(seen.absent, 1);  // the name behind all that were written, where another node is damaged
      ASSERT_GE(seen.damage.size(), 1U);
      EXPECT_NE(seen.damage[0].find("GroupBTree1Node.entries_used"), std::string::npos) << seen.damage[0];
    }
}

// libhdf5 before 1.8 did not clear what a node no longer uses, nor the symbol table nodes that it gave up.
TEST(OldGroupCounts, DeletedEntriesThatWereNotClearedAreNoDamage) {
  const std::string reopened = "f.close()\nf = h5py.File(sys.argv[1], 'r+')\ng = f['g']\n";
  const auto before = group_of(60);
  for (const int kept : {52, 47, 30}) {
    auto bytes = group_of(60, reopened + "for i in range(59, " + std::to_string(kept - 1) +
                                  ", -1):\n  del g['long_name_%04d' % i]\n");
    const std::size_t node = nodes_of(before, 0)[0];
    ASSERT_EQ(places_of(bytes, "TREE").size(), 2U) << kept;
    const auto used = static_cast<std::size_t>(bytes[node + kEntries]);
    ASSERT_LT(used, static_cast<std::size_t>(before[node + kEntries]));
    std::copy(before.begin() + static_cast<std::ptrdiff_t>(node + kFirstKey + used * kEntryBytes + 8),
              before.begin() + static_cast<std::ptrdiff_t>(node + kMaxNodeBytes),
              bytes.begin() + static_cast<std::ptrdiff_t>(node + kFirstKey + used * kEntryBytes + 8));
    bytes.resize(std::max(bytes.size(), before.size()));
    for (std::size_t i = used; i < static_cast<std::size_t>(before[node + kEntries]); ++i) {
      const auto at = static_cast<std::ptrdiff_t>(
          load_le<std::uint64_t>(before.data() + node + kFirstKey + i * kEntryBytes + 8));
      std::copy(before.begin() + at, before.begin() + at + static_cast<std::ptrdiff_t>(kSymbolNodeBytes),
                bytes.begin() + at);
    }
    const Seen seen = look_at(bytes, 60);
    EXPECT_EQ(seen.damage, std::vector<std::string>{}) << kept;
    EXPECT_EQ(seen.listed, kept);
    EXPECT_EQ(seen.found, kept);
    EXPECT_EQ(seen.absent, 61 - kept);
  }
}

}  // namespace
}  // namespace h5mount::test
