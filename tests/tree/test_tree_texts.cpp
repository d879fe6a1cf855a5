// /.h5/list.txt and metadata.jsonl: what asks for their sizes makes them, and nothing else does.
#include <gtest/gtest.h>

#include <map>

#include "../../src/tree/core/external_files.h"
#include "../../src/tree/core/open_nodes.h"
#include "../../src/tree/objects/object_walk.h"
#include "../../src/tree/views/group_table.h"
#include "h5mount/tree/tree.h"
#include "shown_tree.h"
#include "support/corpus.h"
#include "support/large_allocations.h"

namespace h5mount::test {
namespace {

class TreeTexts : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto files = object::FileSet::open((source_root() / "tests/data/weather.h5").string(),
                                       object::ExternalPolicy::None, {});
    ASSERT_TRUE(files) << files.error().text();
    auto tree = tree::Tree::make({std::make_shared<cache::BlockCache>(16U << 20),
                                  std::make_shared<cache::WorkerPool>(2), *std::move(files)},
                                 {});
    ASSERT_TRUE(tree) << tree.error().text();
    tree_ = *std::move(tree);
    const auto hidden = tree_->lookup(tree::kRootNode, ".h5");
    ASSERT_TRUE(hidden);
    hidden_ = hidden->node;
  }

  tree::NodeId listed() {
    const auto listing = tree_->open_directory(hidden_);
    EXPECT_TRUE(listing);
    for (std::size_t i = 0; i < (*listing)->size(); ++i) {
      if ((*listing)->name_at(i) != GetParam()) continue;
      RequestBudget budget;
      tree::FilesRead read;
      const auto entry = tree_->lookup_listed(hidden_, **listing, i, read, budget);
      EXPECT_TRUE(entry);
      EXPECT_EQ(entry->stat.size, 0U);
      EXPECT_FALSE(entry->stat.complete);  // the kernel asks again
      EXPECT_LT(budget.spent(), 1000U);
      return entry->node;
    }
    ADD_FAILURE() << "not listed";
    return 0;
  }

  std::shared_ptr<tree::Tree> tree_;
  tree::NodeId hidden_ = 0;
};

TEST_P(TreeTexts, AListingDoesNotMakeThemAndAStatDoes) {
  const tree::NodeId node = listed();
  const auto stat = tree_->stat(node, tree::StatDepth::Full);
  ASSERT_TRUE(stat) << stat.error().text();
  EXPECT_GT(stat->size, 1000U);
  EXPECT_GT(stat->blocks, 0U);
  const auto opened = tree_->open(node);
  ASSERT_TRUE(opened) << opened.error().text();
  dataset::Pieces pieces;
  ASSERT_TRUE((*opened)->read(0, 1U << 30, pieces));
  EXPECT_EQ(pieces.total(), stat->size);
  RequestBudget again;  // it is remembered
  EXPECT_TRUE(tree_->stat(node, tree::StatDepth::Full, again));
  EXPECT_LT(again.spent(), 1000U);
}

TEST_P(TreeTexts, AStatHasABudget) {
  const tree::NodeId node = listed();
  RequestBudget budget;
  budget.interrupt();
  const auto stat = tree_->stat(node, tree::StatDepth::Full, budget);
  ASSERT_FALSE(stat);
  EXPECT_EQ(stat.error().code(), ErrorCode::Interrupted);
  EXPECT_GT(tree_->stat(node, tree::StatDepth::Full)->size, 1000U);
}

// Memory is taken by what a value needs and not by what one may have: 16 MiB for each of 3,000 would be most
// of the time of the whole text.
TEST(MetadataLines, AValueTakesAsMuchMemoryAsItNeeds) {
  const ShownTree tree(
      written_with_h5py("for i in range(30):\n"
                        "  d = f.create_dataset(str(i), data=i)\n"
                        "  for j in range(100): d.attrs[f'a{j}'] = j"));
  const std::uint64_t before = large_allocations();
  const std::string text = tree.text(".h5/metadata.jsonl");
  EXPECT_GT(text.size(), 3000U * 10);
  EXPECT_LT(large_allocations() - before, 300U);
}

// Finds out what tables leave out of a group before the walk goes on to its members.
class TableVisitor final : public tree::ObjectVisitor {
 public:
  explicit TableVisitor(tree::ServedFile& file) : file_(file) {}
  Status visit_object(const tree::WalkedPlace&, const tree::OpenedObject& object) override {
    if (object.object.kind == object::ObjectKind::Group)
      opened_ = tree::absent_views_of_group(file_, object, budget_).opened;
    else if (known_.contains(&object))
      ++again;
    for (const tree::OpenedObjectPtr& member : opened_) known_.emplace(member.get(), member);
    return {};
  }
  std::vector<tree::OpenedObjectPtr> take_opened() override { return std::move(opened_); }
  Status visit_link(const tree::WalkedPlace&, const format::Link&, const tree::SymlinkPath&) override {
    return {};
  }
  Status visit_damage(const tree::WalkedPlace&, const Error& why) override { return fail(why); }

  std::size_t again = 0;  // members that were not opened anew

 private:
  tree::ServedFile& file_;
  RequestBudget budget_;
  std::vector<tree::OpenedObjectPtr> opened_;
  std::map<const tree::OpenedObject*, tree::OpenedObjectPtr> known_;  // so that no address is used again
};

TEST(MetadataLines, MembersOfATableAreOpenedOnce) {
  constexpr std::size_t kMembers = 1000;  // more than the cache of objects has room for
  const auto files =
      files_over(io::make_memory_source(written_with_h5py("for i in range(1000): f['g/d%d' % i] = [i]")),
                 metadata::Follow::Never);
  const dataset::ReadEnvironment environment{std::make_shared<cache::BlockCache>(1U << 20),
                                             std::make_shared<cache::WorkerPool>(1), files};
  const auto context = std::make_shared<const tree::MountContext>(tree::MountContext{
      environment, {}, 0, std::make_shared<tree::ExternalFiles>(), std::make_shared<tree::OpenNodes>()});
  const auto file = std::make_shared<tree::ServedFile>(context, files->main(), 0, 0);
  TableVisitor visitor(*file);
  RequestBudget budget;
  ASSERT_TRUE(tree::walk_objects(file, visitor, budget));
  EXPECT_EQ(visitor.again, kMembers);
}

INSTANTIATE_TEST_SUITE_P(Texts, TreeTexts, testing::Values("list.txt", "metadata.jsonl"),
                         [](const auto& which) { return std::string(which.param, 4); });

}  // namespace
}  // namespace h5mount::test
