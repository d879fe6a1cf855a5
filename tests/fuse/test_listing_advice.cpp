// Which listings bring attributes.
#include "../../src/fuse/ops/listing_advice.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "session_fixture.h"

namespace h5mount::test {
namespace {

using fuse::EntryAttributes, fuse::ListingAdvice;

constexpr pid_t kProcess = 4711;

TEST(ListingAdvice, AProcessThatIsNotKnownGetsMostAttributesOfTheFirstReply) {
  ListingAdvice advice;
  EXPECT_EQ(advice.advise(kProcess, 1, true), EntryAttributes::Most);
  EXPECT_EQ(advice.advise(kProcess, 1, false), EntryAttributes::None);
}

TEST(ListingAdvice, ALookupOfAnEntryWithoutAttributesAsksForThem) {
  ListingAdvice advice;
  advice.note_listed(kProcess, 1, 2);
  advice.note_lookup(kProcess, 7);  // in a directory that it did not list
  EXPECT_EQ(advice.advise(kProcess, 1, false), EntryAttributes::None);
  advice.note_lookup(kProcess + 1, 1);  // another process
  EXPECT_EQ(advice.advise(kProcess, 1, false), EntryAttributes::None);
  advice.note_lookup(kProcess, 1);
  EXPECT_EQ(advice.advise(kProcess, 1, false), EntryAttributes::All);
  EXPECT_EQ(advice.advise(kProcess, 2, true), EntryAttributes::All);
}

TEST(ListingAdvice, WhoGoesOnWithoutLookupsGetsNames) {
  ListingAdvice advice;
  advice.note_listed(kProcess, 1, 1);
  EXPECT_EQ(advice.advise(kProcess, 2, true), EntryAttributes::Most);  // one entry may be chance
  advice.note_listed(kProcess, 2, 1);
  EXPECT_EQ(advice.advise(kProcess, 2, true), EntryAttributes::Most);  // the same directory once more
  EXPECT_EQ(advice.advise(kProcess, 3, true), EntryAttributes::None);
  advice.note_listed(kProcess, 3, 1000);
  advice.note_lookup(kProcess, 3);
  EXPECT_EQ(advice.advise(kProcess, 4, true), EntryAttributes::All);
}

TEST(ListingAdvice, DirectoriesWithoutEntriesHeldOutTellNothing) {
  ListingAdvice advice;
  for (tree::NodeId directory = 1; directory < 10; ++directory) {
    EXPECT_EQ(advice.advise(kProcess, directory, true), EntryAttributes::Most);
    advice.note_listed(kProcess, directory, 0);
  }
}

TEST(ListingAdvice, AProcessIsForgottenForOneOfTheSamePlace) {
  ListingAdvice advice;
  advice.note_listed(kProcess, 1, 1);
  advice.note_lookup(kProcess, 1);
  const pid_t other = kProcess + static_cast<pid_t>(ListingAdvice::kProcesses);
  EXPECT_EQ(advice.advise(other, 2, true), EntryAttributes::Most);
  EXPECT_EQ(advice.advise(kProcess, 2, true), EntryAttributes::Most);
}

TEST(ListingAdvice, FewEntriesAreHeldOut) {
  std::size_t out = 0;
  for (std::size_t position = 0; position < 1000; ++position)
    out += ListingAdvice::held_out(position) ? 1 : 0;
  EXPECT_EQ(out, 15U);
}

// Whether the kernel leaves it to the session: see op_init.
bool kernel_leaves_it() {
  utsname name{};
  unsigned major = 0, minor = 0;
  return ::uname(&name) == 0 && std::sscanf(name.release, "%u.%u", &major, &minor) == 2 &&
         std::pair(major, minor) >= std::pair(6U, 15U);
}

std::vector<std::string> names_in(const std::filesystem::path& directory) {
  std::vector<std::string> out;
  DIR* const stream = ::opendir(directory.c_str());
  while (const dirent* entry = ::readdir(stream)) {
    EXPECT_NE(entry->d_type, DT_UNKNOWN);
    if (entry->d_name[0] != '.') out.emplace_back(entry->d_name);
  }
  ::closedir(stream);
  return out;
}

constexpr int kDirectories = 20, kFiles = 1500;

void add_directories(FakeTree& tree) {
  for (int d = 0; d < kDirectories; ++d) {
    const tree::NodeId id = tree.add(tree::kRootNode, tree::NodeType::Directory, fmt::format("d{}", d));
    for (int f = 0; f < kFiles; ++f) tree.add(id, tree::NodeType::File, fmt::format("file{:05}", f), "x");
  }
}

// As find does for -size: all names of a directory, then the attributes of each.
TEST_F(SessionTest, AProgramThatStatsWhatItHasListedMakesFewLookups) {
  if (!kernel_leaves_it()) GTEST_SKIP() << "the kernel's replies to readdir are too small";
  add_directories(*tree);
  const Mounted mount(tree);
  for (int d = 0; d < kDirectories; ++d) {
    const auto directory = mount.path(fmt::format("d{}", d));
    const std::vector<std::string> names = names_in(directory);
    ASSERT_EQ(names.size(), static_cast<std::size_t>(kFiles));
    struct stat seen = {};
    for (const std::string& name : names) {
      ASSERT_EQ(::lstat((directory / name).c_str(), &seen), 0);
      ASSERT_EQ(seen.st_size, 1);
    }
  }
  EXPECT_LT(tree->lookups, 2 * kFiles);
}

TEST_F(SessionTest, AProgramThatOnlyListsHasNoEntriesLookedUp) {
  if (!kernel_leaves_it()) GTEST_SKIP() << "the kernel's replies to readdir are too small";
  add_directories(*tree);
  const Mounted mount(tree);
  for (int d = 0; d < kDirectories; ++d)
    EXPECT_EQ(names_in(mount.path(fmt::format("d{}", d))).size(), static_cast<std::size_t>(kFiles));
  EXPECT_LT(tree->listed_lookups, 1000);  // of 30,000 entries: those of the first reply
}

}  // namespace
}  // namespace h5mount::test
