// /.h5/sparse through the tree: sparse datasets as directories of their lists, by every path in the tree.
#include <gtest/gtest.h>

#include <algorithm>

#include "h5mount/tree/tree.h"
#include "support/corpus.h"

namespace h5mount::test {
namespace {

class SparseDirectory : public testing::Test {
 protected:
  void open(const std::filesystem::path& file) {
    auto files = object::FileSet::open(file.string(), object::ExternalPolicy::None, {});
    ASSERT_TRUE(files) << files.error().text();
    auto tree = tree::Tree::make({std::make_shared<cache::BlockCache>(16U << 20),
                                  std::make_shared<cache::WorkerPool>(2), *std::move(files)},
                                 {});
    ASSERT_TRUE(tree) << tree.error().text();
    tree_ = *std::move(tree);
  }

  Result<tree::Entry> at(std::initializer_list<std::string_view> path) {
    tree::Entry entry{tree::kRootNode, {}};
    for (const std::string_view name : path) {
      H5_ASSIGN(entry, tree_->lookup(entry.node, name));
    }
    return entry;
  }

  std::vector<std::string> names_in(tree::NodeId directory) {
    std::vector<std::string> names;
    const auto listing = tree_->open_directory(directory);
    EXPECT_TRUE(listing) << listing.error().text();
    if (!listing) return names;
    for (std::size_t i = 0; i < (*listing)->size(); ++i) names.push_back((*listing)->name_at(i));
    return names;
  }

  std::vector<std::byte> content(tree::NodeId file) {
    const auto stat = tree_->stat(file, tree::StatDepth::Full);
    const auto opened = tree_->open(file);
    EXPECT_TRUE(opened) << opened.error().text();
    dataset::Pieces pieces;
    if (!opened || !(*opened)->read(0, 1U << 30, pieces)) return {};
    EXPECT_EQ(pieces.total(), stat->size);
    std::vector<std::byte> out;
    for (const dataset::Piece& piece : pieces.list())
      out.insert(out.end(), piece.bytes.begin(), piece.bytes.end());
    return out;
  }

  std::string text_of(tree::NodeId file) {
    const auto bytes = content(file);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  std::shared_ptr<tree::Tree> tree_;
};

TEST_F(SparseDirectory, HoldsTheListsOfASparseDataset) {
  open(source_root() / "tests/data/sparse/ambiguous.h5");
  const auto dataset = at({".h5", "sparse", "s_unsorted_1d"});
  ASSERT_TRUE(dataset) << dataset.error().text();
  EXPECT_EQ(dataset->stat.type, tree::NodeType::Directory);
  EXPECT_EQ(names_in(dataset->node), (std::vector<std::string>{"coordinates", "values", "count"}));
  EXPECT_EQ(text_of(at({".h5", "sparse", "s_unsorted_1d", "count"})->node), "12\n");
  EXPECT_EQ(content(at({".h5", "sparse", "s_unsorted_1d", "values"})->node).size(), 12U * 4);

  const auto bytes = content(at({".h5", "sparse", "s_unsorted_1d", "coordinates"})->node);
  std::vector<std::uint64_t> coordinates(bytes.size() / 8);
  for (std::size_t i = 0; i < coordinates.size(); ++i)
    coordinates[i] = load_le<std::uint64_t>(bytes.data() + 8 * i);
  EXPECT_EQ(coordinates, (std::vector<std::uint64_t>{2, 3, 8, 11, 12, 16, 24, 27, 29, 31, 34, 45}));

  const auto layout = tree_->get_xattr(dataset->node, "user.hdf5.layout");
  ASSERT_TRUE(layout) << layout.error().text();
  EXPECT_EQ(*layout, "sparse");
}

TEST_F(SparseDirectory, LeavesOutWhatIsNotSparse) {
  open(source_root() / "tests/data/sparse/fills_and_corners.h5");
  const auto room = at({".h5", "sparse"});
  ASSERT_TRUE(room) << room.error().text();
  const auto names = names_in(room->node);
  EXPECT_FALSE(names.empty());
  for (const std::string& name : names) EXPECT_FALSE(name.starts_with("dense")) << name;
  for (const std::string& name : names_in(tree::kRootNode)) {
    const bool listed = std::ranges::find(names, name) != names.end();
    EXPECT_EQ(at({".h5", "sparse", name}).has_value(), listed) << name;
    EXPECT_EQ(listed, !name.starts_with("dense")) << name;
  }
  EXPECT_EQ(at({".h5", "sparse", "dense"}).error().code(), ErrorCode::NotFound);
}

TEST_F(SparseDirectory, ADatasetWithoutElementsHasEmptyLists) {
  open(source_root() / "tests/data/sparse/fills_and_corners.h5");
  std::size_t empty = 0;
  for (const std::string& name : names_in(at({".h5", "sparse"})->node)) {
    const auto file = at({name});
    ASSERT_TRUE(file) << name;
    if (file->stat.type != tree::NodeType::File || tree_->stat(file->node, tree::StatDepth::Full)->size != 0)
      continue;
    EXPECT_EQ(text_of(at({".h5", "sparse", name, "count"})->node), "0\n");
    EXPECT_TRUE(content(at({".h5", "sparse", name, "coordinates"})->node).empty());
    EXPECT_TRUE(content(at({".h5", "sparse", name, "values"})->node).empty());
    ++empty;
  }
  EXPECT_GE(empty, 1U);
}

TEST_F(SparseDirectory, DamageIsToldWhenTheListsAreOpened) {
  open(source_root() / "tests/data/sparse/bad-checksum.h5");
  for (const std::string& name : names_in(at({".h5", "sparse"})->node)) {
    const auto list = at({".h5", "sparse", name, "coordinates"});
    ASSERT_TRUE(list) << list.error().text();
    const auto opened = tree_->open(list->node);
    EXPECT_EQ(opened.has_value(), !name.starts_with("s_bad")) << name;
    EXPECT_TRUE(opened || opened.error().code() == ErrorCode::ChecksumMismatch) << opened.error().text();
  }
}

TEST_F(SparseDirectory, SectionsAreToldWithTheirFilters) {
  open(source_root() / "tests/data/sparse/filter_masks.h5");
  std::size_t filtered = 0;
  for (const std::string& name : names_in(at({".h5", "sparse"})->node)) {
    const auto sections = tree_->get_xattr(at({name})->node, "user.hdf5.sections");
    ASSERT_TRUE(sections) << sections.error().text();
    EXPECT_TRUE(sections->starts_with("[") && sections->ends_with("]")) << *sections;
    filtered += sections->find(R"("section":1,"filters":[{"id":)") != std::string::npos;
  }
  EXPECT_GE(filtered, 1U);
}

}  // namespace
}  // namespace h5mount::test
