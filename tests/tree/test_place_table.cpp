// Places of a forest: by id, by name, and by the directory that they are in.
#include "../../src/tree/forest/place_table.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace h5mount::tree {
namespace {

constexpr auto kFile = ForestEntry::Kind::Hdf5;

class PlaceTableTest : public ::testing::Test {
 protected:
  FolderPtr folder(const std::string& name) {
    const auto made = table.adopt(root, name, ForestEntry::Kind::Directory, 1);
    return std::make_shared<Folder>(nullptr, name, made.id);
  }
  std::vector<std::string> names(const Folder& in) const {
    auto out = table.names_in(in);
    std::ranges::sort(out);
    return out;
  }

  const FolderPtr root = std::make_shared<Folder>(nullptr, "", kRootNode);
  PlaceTable table{root};
};

TEST_F(PlaceTableTest, NamesOfADirectoryAreThoseThatSomebodyKnows) {
  const FolderPtr a = folder("a"), b = folder("b");
  std::vector<NodeId> ids;
  for (const char* name : {"1", "2", "3", "4"}) ids.push_back(table.adopt(a, name, kFile, 1).id);
  const NodeId other = table.adopt(b, "1", kFile, 1).id;
  EXPECT_EQ(names(*root), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(names(*a), (std::vector<std::string>{"1", "2", "3", "4"}));
  table.forget(ids[1], 1);  // in the middle of the list
  table.detach(ids[3]);     // its first
  EXPECT_EQ(names(*a), (std::vector<std::string>{"1", "3"}));
  table.forget(ids[3], 1);
  table.detach(ids[3]);
  EXPECT_EQ(names(*a), (std::vector<std::string>{"1", "3"}));
  const auto replaced = table.adopt(a, "1", kFile, 2);  // its last, by another file
  EXPECT_EQ(replaced.detached, ids[0]);
  EXPECT_EQ(names(*a), (std::vector<std::string>{"1", "3"}));
  EXPECT_EQ(table.find_name(*a, "1"), replaced.id);
  table.forget(ids[0], 1);
  table.forget(ids[2], 1);
  table.forget(replaced.id, 1);
  EXPECT_TRUE(names(*a).empty());
  EXPECT_EQ(names(*b), std::vector<std::string>{"1"});
  table.forget(other, 1);
  EXPECT_EQ(table.size(), 2U);
  EXPECT_EQ(table.adopt(a, "5", kFile, 1).detached, 0U);
  EXPECT_EQ(names(*a), std::vector<std::string>{"5"});
}

// As after an overflow of the queue of changes, where every directory may have changed.
TEST_F(PlaceTableTest, TheNamesOfAllDirectoriesTakeAsMuchWorkAsThereAreNames) {
  constexpr std::uint64_t kFolders = 300, kFiles = 40;
  std::vector<FolderPtr> folders;
  for (std::uint64_t i = 0; i < kFolders; ++i) {
    folders.push_back(folder(std::to_string(i)));
    for (std::uint64_t j = 0; j < kFiles; ++j) table.adopt(folders.back(), std::to_string(j), kFile, 1);
  }
  for (const FolderPtr& one : folders) EXPECT_EQ(table.names_in(*one).size(), kFiles);
  EXPECT_EQ(table.looked_at(), kFolders * kFiles);
}

}  // namespace
}  // namespace h5mount::tree
