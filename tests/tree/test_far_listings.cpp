// A client that lists one directory of a far file after the other waits a few times, not once a directory.
#include <gtest/gtest.h>

#include "followed.h"
#include "support/far_source.h"
#include "support/h5py_file.h"

namespace h5mount::test {
namespace {

class FarListings : public testing::Test {
 protected:
  void open(const std::string& script) {
    source_ = std::make_shared<FarSource>(io::make_memory_source(written_with_h5py(script)), 16U << 10);
    tree_ = tree_over(source_, metadata::Follow::Never);
    source_->forget();
  }

  // As `ls -l` does: a directory's names, then what each is. Returns the directories in it.
  std::vector<tree::NodeId> list(tree::NodeId directory) {
    std::vector<tree::NodeId> below;
    const auto listing = tree_->open_directory(directory);
    EXPECT_TRUE(listing);
    if (!listing) return below;
    std::string made;
    for (std::size_t i = 0; i < (*listing)->size(); ++i) {
      (void)(*listing)->at(i, made);
      const auto found = tree_->lookup_listed(directory, **listing, i);
      EXPECT_TRUE(found);
      if (!found) continue;
      EXPECT_TRUE(tree_->stat(found->node, tree::StatDepth::Full));
      if (found->stat.type == tree::NodeType::Directory) below.push_back(found->node);
    }
    return below;
  }
  void list_all(tree::NodeId directory) {
    for (const tree::NodeId below : list(directory)) list_all(below);
  }

  // How often a client had to wait.
  std::uint64_t rounds() const { return source_->rounds() + source_->untold().size(); }

  std::shared_ptr<FarSource> source_;
  std::shared_ptr<tree::Tree> tree_;
};

TEST_F(FarListings, GroupsOneAfterTheOtherAreAskedForTogether) {
  open(
      "for g in range(100):\n"
      "  for i in range(5): f['g%02d/d%d' % (g, i)] = np.zeros(20_000, 'u1')");
  list_all(tree::kRootNode);
  EXPECT_LE(rounds(), 25U);
}

TEST_F(FarListings, WhoListsOneGroupGetsOne) {
  open(
      "for g in range(100):\n"
      "  for i in range(5): f['g%02d/d%d' % (g, i)] = np.zeros(20_000, 'u1')");
  const auto groups = list(tree::kRootNode);
  ASSERT_EQ(groups.size(), 100U);
  source_->forget();
  list(groups[50]);
  std::uint64_t bytes = 0;
  for (const ByteRange& range : source_->told()) bytes += range.end - range.begin;
  EXPECT_LE(bytes, 16U * (16U << 10));
}

TEST_F(FarListings, SizesOfTextAreAskedForTogether) {
  open(
      "for i in range(100):\n"
      "  f['d%02d' % i] = np.zeros(20_000, 'u1')\n"
      "  f['t%02d' % i] = np.array(['x' * (i + 1) * 50, 'y'], h5py.string_dtype())");
  list_all(tree::kRootNode);
  EXPECT_LE(rounds(), 12U);
}

}  // namespace
}  // namespace h5mount::test
