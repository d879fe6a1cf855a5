// A tree whose file is salvaged when something first needs it. Here the sound file stands for the salvaged
// one.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "h5mount/tree/tree.h"
#include "support/h5py_file.h"

namespace h5mount::test {
namespace {

using tree::Tree;

constexpr const char* kScript =
    "import numpy as np\n"
    "g = f.create_group('g')\n"
    "f['plain'] = np.arange(300)\n"
    "g.create_dataset('packed', data=np.arange(4000), chunks=(100,), compression=1)\n";

Tree::Source source_of(std::vector<std::byte> bytes) {
  auto files = object::FileSet::open(io::make_memory_source(std::move(bytes)), {});
  EXPECT_TRUE(files) << files.error().text();
  return {{std::make_shared<cache::BlockCache>(16U << 20), std::make_shared<cache::WorkerPool>(1),
           files ? *files : nullptr},
          {}};
}

class SalvagingTree : public testing::Test {
 protected:
  void SetUp() override {
    sound_ = written_with_h5py(kScript, "latest");
    ASSERT_FALSE(sound_.empty());
    auto damaged = sound_;
    const auto at = places_of(damaged, "FAHD");
    ASSERT_EQ(at.size(), 1U);
    std::fill_n(damaged.begin() + static_cast<std::ptrdiff_t>(at[0]), 16, std::byte{0xA5});
    auto made =
        Tree::make_salvaging(source_of(std::move(damaged)),
                             [this](const std::function<bool()>&) -> Result<std::optional<Tree::Source>> {
                               ++salvaged_;
                               if (failures_ > 0) {
                                 --failures_;
                                 return fail(Error(ErrorCode::Io, "not now"));
                               }
                               if (!shows_more_) return std::nullopt;
                               return source_of(sound_);
                             });
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

  std::vector<std::byte> sound_;
  std::atomic<int> salvaged_ = 0, failures_ = 0;
  bool shows_more_ = true;
  std::shared_ptr<Tree> tree_;
};

TEST_F(SalvagingTree, WhatIsSoundNeedsNothing) {
  const auto bytes = bytes_of(node({"plain"}));
  ASSERT_TRUE(bytes) << bytes.error().text();
  EXPECT_EQ(*bytes, 2400U);
  EXPECT_EQ(salvaged_, 0);
}

TEST_F(SalvagingTree, WhatCannotBeReadIsReadFromTheSalvagedFile) {
  const tree::NodeId packed = node({"g", "packed"});
  for (int i = 0; i < 2; ++i) {
    const auto bytes = bytes_of(packed);
    ASSERT_TRUE(bytes) << bytes.error().text();
    EXPECT_EQ(*bytes, 32'000U);
  }
  EXPECT_EQ(salvaged_, 1);
  tree_->forget(packed, 1);
}

TEST_F(SalvagingTree, AListingAndTheRemarkNeedIt) {
  EXPECT_FALSE(tree_->get_xattr(node({"plain"}), "user.hdf5.salvage"));
  EXPECT_EQ(salvaged_, 1);
  const auto listing = tree_->open_directory(tree::kRootNode);
  ASSERT_TRUE(listing);
  for (std::size_t i = 0; i < (*listing)->size(); ++i) {
    const auto entry = tree_->lookup_listed(tree::kRootNode, **listing, i);
    ASSERT_TRUE(entry) << entry.error().text();
    tree_->forget(entry->node, 1);
  }
  EXPECT_EQ(salvaged_, 1);
}

TEST_F(SalvagingTree, WhereSalvageShowsNoMoreTheFileStaysAsItIs) {
  shows_more_ = false;
  EXPECT_FALSE(bytes_of(node({"g", "packed"})));
  EXPECT_TRUE(bytes_of(node({"plain"})));
  const auto listing = tree_->open_directory(tree::kRootNode);
  ASSERT_TRUE(listing);
  EXPECT_EQ((*listing)->size(), 2U);
  EXPECT_EQ(salvaged_, 1);
}

TEST_F(SalvagingTree, WhatFailedIsTriedAgain) {
  failures_ = 1;
  const tree::NodeId packed = node({"g", "packed"});
  EXPECT_FALSE(bytes_of(packed));
  EXPECT_TRUE(bytes_of(packed));
  EXPECT_EQ(salvaged_, 2);
}

}  // namespace
}  // namespace h5mount::test
