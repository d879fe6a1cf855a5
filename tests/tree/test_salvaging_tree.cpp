// A tree whose file is salvaged when something first needs it. Here the sound file stands for the salvaged
// one.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <span>

#include "h5mount/tree/file_object.h"
#include "h5mount/tree/tree.h"
#include "support/faulty_source.h"
#include "support/h5py_file.h"

namespace h5mount::test {
namespace {

using tree::Tree;

constexpr const char* kScript =
    "import numpy as np\n"
    "g = f.create_group('g')\n"
    "f['plain'] = np.arange(300)\n"
    "g.create_dataset('packed', data=np.arange(4000), chunks=(100,), compression=1)\n";

// Gives a damaged file, and the sound one as what salvage shows of it.
class TestOpener final : public object::SourceOpener {
 public:
  std::vector<std::byte> damaged, sound;
  mutable std::atomic<int> salvaged = 0, failures = 0;
  bool shows_more = true, fills = false;
  std::optional<std::uint64_t> bad_byte;  // of the damaged file, which cannot be read

  Result<object::FoundSource> find_main(const std::string& name) override {
    return object::FoundSource{.key = name, .open = [this]() -> Result<std::shared_ptr<io::ByteSource>> {
                                 const auto source = std::make_shared<FaultySource>(damaged);
                                 source->bad_byte = bad_byte;
                                 return source;
                               }};
  }
  Result<object::FoundSource> find_named(const object::OpenedFile&, std::string_view,
                                         object::NameUse) const override {
    return fail(Error(ErrorCode::NotFound, "there is one file"));
  }
  const object::ExternalAccess& access() const override { return access_; }
  bool may_salvage_main() const override { return true; }
  bool salvage_fills() const override { return fills; }
  Result<std::shared_ptr<io::ByteSource>> salvage_main(const std::function<bool()>&) const override {
    ++salvaged;
    if (failures > 0) {
      --failures;
      return fail(Error(ErrorCode::Io, "not now"));
    }
    if (!shows_more) return nullptr;
    return io::make_memory_source(sound);
  }

 private:
  object::ExternalAccess access_{object::ExternalPolicy::None};
};

class SalvagingTree : public testing::Test {
 protected:
  void SetUp() override {
    opener_->sound = written_with_h5py(kScript, "latest");
    ASSERT_FALSE(opener_->sound.empty());
    damage("FAHD");
    open();
  }

  void damage(std::string_view signature, std::size_t which = 0) {
    opener_->damaged = opener_->sound;
    const auto at = places_of(opener_->damaged, signature);
    ASSERT_GT(at.size(), which);
    std::fill_n(opener_->damaged.begin() + static_cast<std::ptrdiff_t>(at[which]), 16, std::byte{0xA5});
  }
  // The file is sound, and a byte of its structure cannot be read.
  void be_unreadable(std::string_view signature) {
    opener_->damaged = opener_->sound;
    const auto at = places_of(opener_->sound, signature);
    ASSERT_EQ(at.size(), 1U);
    opener_->bad_byte = at[0] + 8;
  }
  void open() {
    auto files = object::FileSet::open("damaged", opener_, {});
    ASSERT_TRUE(files) << files.error().text();
    auto made = Tree::make(
        {std::make_shared<cache::BlockCache>(16U << 20), std::make_shared<cache::WorkerPool>(1), *files}, {});
    ASSERT_TRUE(made) << made.error().text();
    tree_ = *made;
  }

  tree::NodeId node(std::initializer_list<std::string_view> path) {
    tree::NodeId at = tree::kRootNode;
    for (const std::string_view name : path) {
      const auto next = tree_->lookup(at, name);
      EXPECT_TRUE(next) << name << ": " << (next ? "" : next.error().text());
      if (!next) return 0;
      at = next->node;
    }
    return at;
  }
  Result<std::uint64_t> bytes_of(tree::NodeId id) {
    H5_ASSIGN(const auto open, tree_->open(id));
    dataset::Pieces out;
    H5_TRY(open->read(0, 32'000, out));
    return out.total();
  }

  const std::shared_ptr<TestOpener> opener_ = std::make_shared<TestOpener>();
  std::shared_ptr<Tree> tree_;
};

TEST_F(SalvagingTree, WhatIsSoundNeedsNothing) {
  const auto bytes = bytes_of(node({"plain"}));
  ASSERT_TRUE(bytes) << bytes.error().text();
  EXPECT_EQ(*bytes, 2400U);
  EXPECT_EQ(opener_->salvaged, 0);
}

TEST_F(SalvagingTree, WhatCannotBeReadIsReadFromTheSalvagedFile) {
  const tree::NodeId packed = node({"g", "packed"});
  for (int i = 0; i < 2; ++i) {
    const auto bytes = bytes_of(packed);
    ASSERT_TRUE(bytes) << bytes.error().text();
    EXPECT_EQ(*bytes, 32'000U);
  }
  EXPECT_EQ(opener_->salvaged, 1);
  tree_->forget(packed, 1);
}

TEST_F(SalvagingTree, AListingAndTheRemarkNeedIt) {
  EXPECT_FALSE(tree_->get_xattr(node({"plain"}), "user.hdf5.salvage"));
  EXPECT_EQ(opener_->salvaged, 1);
  const auto listing = tree_->open_directory(tree::kRootNode);
  ASSERT_TRUE(listing);
  for (std::size_t i = 0; i < (*listing)->size(); ++i) {
    const auto entry = tree_->lookup_listed(tree::kRootNode, **listing, i);
    ASSERT_TRUE(entry) << entry.error().text();
    tree_->forget(entry->node, 1);
  }
  EXPECT_EQ(opener_->salvaged, 1);
}

TEST_F(SalvagingTree, WhereSalvageShowsNoMoreTheFileStaysAsItIs) {
  opener_->shows_more = false;
  EXPECT_FALSE(bytes_of(node({"g", "packed"})));
  EXPECT_TRUE(bytes_of(node({"plain"})));
  const auto listing = tree_->open_directory(tree::kRootNode);
  ASSERT_TRUE(listing);
  EXPECT_EQ((*listing)->size(), 2U);
  EXPECT_EQ(opener_->salvaged, 1);
}

TEST_F(SalvagingTree, WhatFailedIsTriedAgain) {
  opener_->failures = 1;
  const tree::NodeId packed = node({"g", "packed"});
  (void)bytes_of(packed);  // where looking the node up was not the first to need it
  EXPECT_TRUE(bytes_of(packed));
  EXPECT_EQ(opener_->salvaged, 2);
}

// Its header, the second one of the file, is gone, so that it is not known to be a group.
TEST_F(SalvagingTree, AnObjectThatCannotBeOpenedIsThatOfTheSalvagedFile) {
  damage("OHDR", 1);
  open();
  const auto group = tree_->lookup(tree::kRootNode, "g");
  ASSERT_TRUE(group) << group.error().text();
  EXPECT_EQ(group->stat.type, tree::NodeType::Directory);
  EXPECT_EQ(opener_->salvaged, 1);
  const auto bytes = bytes_of(node({"g", "packed"}));
  ASSERT_TRUE(bytes) << bytes.error().text();
  EXPECT_EQ(*bytes, 32'000U);
}

TEST_F(SalvagingTree, AStructureThatCannotBeReadNeedsIt) {
  be_unreadable("FAHD");
  open();
  const tree::NodeId packed = node({"g", "packed"});
  const auto bytes = bytes_of(packed);
  ASSERT_TRUE(bytes) << bytes.error().text();
  EXPECT_EQ(*bytes, 32'000U);
  EXPECT_EQ(opener_->salvaged, 1);
}

// Salvage has no other bytes for them, unless it fills.
TEST_F(SalvagingTree, DataThatCannotBeReadNeedItOnlyToBeFilled) {
  opener_->damaged = opener_->sound;
  const std::int64_t first[] = {0, 1, 2, 3};
  const auto at = places_of(opener_->sound, as_text(std::as_bytes(std::span(first))));
  ASSERT_EQ(at.size(), 1U);
  opener_->bad_byte = at[0] + 800;
  open();
  const auto bytes = bytes_of(node({"plain"}));
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code(), ErrorCode::Io);
  EXPECT_EQ(opener_->salvaged, 0);
  opener_->fills = true;
  open();
  EXPECT_TRUE(bytes_of(node({"plain"})));
  EXPECT_EQ(opener_->salvaged, 1);
}

TEST_F(SalvagingTree, WhatAListingShowedIsFoundByItsName) {
  opener_->damaged = written_with_h5py("import numpy as np\nf['plain'] = np.arange(300)\n", "latest");
  open();
  EXPECT_FALSE(tree_->lookup(tree::kRootNode, "g"));
  EXPECT_EQ(opener_->salvaged, 0) << "a name that a sound group does not have";
  ASSERT_TRUE(tree_->open_directory(tree::kRootNode));
  EXPECT_TRUE(tree_->lookup(tree::kRootNode, "g"));
  EXPECT_EQ(opener_->salvaged, 1);
}

TEST_F(SalvagingTree, WhoGoesByTheFilesOwnNamesGetsTheSalvagedFile) {
  opener_->damaged = written_with_h5py("import numpy as np\nf['plain'] = np.arange(300)\n", "latest");
  open();
  RequestBudget budget;
  const auto root = tree_->root_object(tree::kRootNode, budget);
  ASSERT_TRUE(root) << root.error().text();
  EXPECT_TRUE((*root)->find_link("g", budget));
  EXPECT_EQ(opener_->salvaged, 1);
}

}  // namespace
}  // namespace h5mount::test
