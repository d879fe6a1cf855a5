// Directories that are not opened: what the kernel keeps of them, and what readers get meanwhile.
#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include <cstdio>
#include <memory>
#include <set>
#include <thread>

#include "../../src/fuse/listings/directory_listings.h"
#include "session_fixture.h"

namespace h5mount::test {
namespace {

std::vector<std::string> names_in(DIR* directory, std::size_t most = ~std::size_t{0}) {
  std::vector<std::string> out;
  while (out.size() < most) {
    const dirent* const entry = ::readdir(directory);
    if (entry == nullptr) break;
    out.emplace_back(entry->d_name);
  }
  return out;
}

// Since Linux 6.15.
bool own_advice() {
  struct utsname system = {};
  ::uname(&system);
  int major = 0, minor = 0;
  std::sscanf(system.release, "%d.%d", &major, &minor);
  return major > 6 || (major == 6 && minor >= 15);
}

class SessionDirectoryTest : public SessionTest {
 protected:
  static constexpr int kMany = 3000;

  void add_many() {
    for (int i = 0; i < kMany; ++i)
      tree->add(directory, tree::NodeType::File, "a file with a long name " + std::to_string(10'000 + i));
  }
  static std::size_t list(const Mounted& mount, const std::string& below) {
    DIR* const opened = ::opendir(mount.path(below).c_str());
    if (opened == nullptr) return 0;
    const std::size_t count = names_in(opened).size();
    ::closedir(opened);
    return count;
  }
};

TEST_F(SessionDirectoryTest, TheKernelKeepsAListingThatLastsAndAsksForNoOther) {
  const Mounted mount(tree);
  EXPECT_EQ(list(mount, "dir"), 4U);
  EXPECT_EQ(tree->listings, 1);
  EXPECT_EQ(list(mount, "dir"), 4U);
  EXPECT_EQ(tree->listings, 1);
  tree->kernel()->invalidate(directory, {{0, format::kUnlimited}});
  for (int i = 0; i < 500 && tree->listings == 1; ++i) {
    EXPECT_EQ(list(mount, "dir"), 4U);
    ::usleep(10'000);
  }
  EXPECT_EQ(tree->listings, 2);
}

TEST_F(SessionDirectoryTest, WhatMayDifferIsListedAnewEachTime) {
  tree->all_last = false;
  const Mounted mount(tree);
  for (const std::size_t more : {0U, 1U, 2U}) {
    EXPECT_EQ(list(mount, "dir"), 4U + more);
    EXPECT_EQ(tree->listings, static_cast<int>(1 + more));
    tree->add(directory, tree::NodeType::File, "new " + std::to_string(more));
  }
}

TEST_F(SessionDirectoryTest, WhereNothingTellsOfChangesDirectoriesAreOpened) {
  tree->tells = false;
  const Mounted mount(tree);
  EXPECT_EQ(list(mount, "dir"), 4U);
  EXPECT_EQ(list(mount, "dir"), 4U);
  EXPECT_EQ(tree->listings, 1);  // kept by the kernel as it was told when it opened the directory
}

TEST_F(SessionDirectoryTest, EachReaderOfAChangingDirectoryGetsItsOwnListing) {
  tree->all_last = false;
  add_many();
  const Mounted mount(tree);
  DIR* const first = ::opendir(mount.path("dir").c_str());
  ASSERT_NE(first, nullptr);
  std::vector<std::string> read = names_in(first, 100);
  for (int i = 0; i < kMany; ++i)  // before those that the first reader has not seen
    tree->add_first(directory, "later " + std::to_string(i));
  EXPECT_EQ(list(mount, "dir"), 2U * kMany + 4);
  const std::vector<std::string> rest = names_in(first);
  ::closedir(first);
  read.insert(read.end(), rest.begin(), rest.end());
  EXPECT_EQ(read.size(), kMany + 4U);
  EXPECT_EQ(std::set<std::string>(read.begin(), read.end()).size(), read.size());
}

TEST_F(SessionDirectoryTest, APlaceInAListingIsFoundAgain) {
  add_many();
  const Mounted mount(tree);
  DIR* const opened = ::opendir(mount.path("dir").c_str());
  ASSERT_NE(opened, nullptr);
  (void)names_in(opened, 2000);
  const long place = ::telldir(opened);
  const std::vector<std::string> rest = names_in(opened);
  EXPECT_EQ(rest.size(), kMany + 4U - 2000);
  ::seekdir(opened, place);
  EXPECT_EQ(names_in(opened), rest);
  ::rewinddir(opened);
  EXPECT_EQ(names_in(opened).size(), kMany + 4U);
  ::closedir(opened);
}

// A reader that is faster than the thread that was to prepare its next page does not wait for it.
TEST(OpenListing, APageIsPreparedUnlessItIsAskedForBefore) {
  constexpr fuse::PageRequest kFirst{2, 4096, true, fuse::EntryAttributes::All};
  constexpr fuse::PageRequest kSecond{30, 4096, true, fuse::EntryAttributes::All};
  struct Names final : tree::DirectoryListing {
    std::size_t size() const override { return 100; }
    Item at(std::size_t, std::string&) const override { return {}; }
  };
  fuse::OpenListing listing(2, 0, std::make_shared<Names>());
  EXPECT_FALSE(listing.note_sent(0, 2, kFirst)) << "the first page continues none";
  EXPECT_TRUE(listing.note_sent(2, 30, kSecond));
  EXPECT_FALSE(listing.note_sent(30, 60, kFirst)) << "one is to be prepared";
  EXPECT_EQ(listing.take(kSecond), nullptr);
  EXPECT_FALSE(listing.begin_preparation(kSecond)) << "the reader was first";

  EXPECT_TRUE(listing.note_sent(60, 70, kSecond));
  EXPECT_FALSE(listing.begin_preparation(kFirst));
  EXPECT_TRUE(listing.begin_preparation(kSecond));
  EXPECT_FALSE(listing.begin_preparation(kSecond)) << "another thread does";
  std::thread reader([&] { EXPECT_EQ(listing.take(kSecond), nullptr); });  // waits
  ::usleep(10'000);
  listing.store(nullptr);
  reader.join();
  EXPECT_TRUE(listing.note_sent(70, 80, kFirst));
}

// As `ls -l` does after `ls`. Names with attributes make no lookups, so these are counted.
TEST_F(SessionDirectoryTest, NamesThatAreAskedForOneByOneAreListedAgainWithAttributes) {
  if (!own_advice()) GTEST_SKIP() << "the kernel decides which listings have attributes";
  add_many();
  const Mounted mount(tree);
  const auto in_child = [&](bool with_stat) {
    const pid_t child = ::fork();
    if (child == 0) {
      DIR* const opened = ::opendir(mount.path("dir").c_str());
      struct stat seen;
      int wrong = 0;
      while (const dirent* const entry = ::readdir(opened))
        if (with_stat && ::fstatat(::dirfd(opened), entry->d_name, &seen, AT_SYMLINK_NOFOLLOW) != 0) ++wrong;
      ::_exit(wrong == 0 ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  };
  for (int i = 0; i < 2; ++i) in_child(false);  // the second time the kernel keeps the names
  const int listed = tree->listings, looked_up = tree->lookups;
  in_child(false);
  EXPECT_EQ(tree->listings, listed);
  in_child(true);
  EXPECT_GT(tree->listings, listed);
  EXPECT_LT(tree->lookups - looked_up, kMany / 2);
}

TEST(DirectoryListings, AreFoundByTheirDirectoryAndNumberAndAreBounded) {
  struct Names final : tree::DirectoryListing {
    explicit Names(std::size_t count) : count_(count) {}
    std::size_t size() const override { return count_; }
    Item at(std::size_t, std::string&) const override { return {"name", tree::NodeType::File}; }
    std::size_t count_;
  };
  fuse::DirectoryListings listings;
  const auto add = [&](tree::NodeId directory, bool lasting, std::size_t names = 1) {
    return listings.add(directory, lasting, std::make_shared<Names>(names));
  };
  const auto lasting = add(5, true), one = add(5, false), other = add(5, false);
  EXPECT_EQ(lasting->number(), 0U);
  EXPECT_NE(one->number(), other->number());
  EXPECT_EQ(listings.find(5, 0), lasting);
  EXPECT_EQ(listings.find(5, one->number()), one);
  EXPECT_EQ(listings.find(6, one->number()), nullptr);
  listings.drop_if([&](const fuse::OpenListing& known) { return &known == one.get(); });
  EXPECT_EQ(listings.find(5, one->number()), nullptr);
  listings.drop_if([](const fuse::OpenListing& known) { return known.directory() == 5; });
  EXPECT_EQ(listings.find(5, 0), nullptr);
  for (tree::NodeId node = 10; node < 10 + 2 * fuse::DirectoryListings::kMax; ++node) add(node, true);
  EXPECT_EQ(listings.find(10, 0), nullptr);
  EXPECT_NE(listings.find(9 + 2 * fuse::DirectoryListings::kMax, 0), nullptr);
  add(1, true, fuse::DirectoryListings::kMaxNames + 1);
  EXPECT_NE(listings.find(1, 0), nullptr);
  add(2, true);
  EXPECT_EQ(listings.find(1, 0), nullptr);
}

TEST(ListingOffset, KeepsPositionAndListing) {
  for (const std::uint64_t listing : {std::uint64_t{0}, std::uint64_t{1}, (std::uint64_t{1} << 23) - 1}) {
    const off_t packed = fuse::ListingOffset{123'456'789, listing}.packed();
    EXPECT_GE(packed, 0);
    EXPECT_EQ(fuse::ListingOffset::unpacked(packed).position, 123'456'789U);
    EXPECT_EQ(fuse::ListingOffset::unpacked(packed).listing, listing);
  }
  EXPECT_EQ(fuse::ListingOffset::unpacked(-1).position, 0U);
}

}  // namespace
}  // namespace h5mount::test
