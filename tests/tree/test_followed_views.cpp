// Views that were looked up and read while a file was quiet, once a SWMR writer rewrites its last rows and
// appends: each shows what a tree that was just opened shows, whichever other views share its dataset.
#include <gtest/gtest.h>

#include <thread>

#include "followed.h"

namespace h5mount::test {
namespace {

// One view file as a client uses it.
class ReadView {
 public:
  ReadView(std::shared_ptr<tree::Tree> tree, std::shared_ptr<PageCache> pages, std::string_view path)
      : tree_(std::move(tree)), pages_(std::move(pages)), node_(look_up(*tree_, path)) {}

  void open() {
    auto opened = tree_->open(node_);
    EXPECT_TRUE(opened) << opened.error().text();
    if (opened) open_ = *std::move(opened);
  }
  void close() { open_.reset(); }
  std::string read() {
    if (!open_) open();
    const auto stat = tree_->stat(node_, tree::StatDepth::Size);
    EXPECT_TRUE(stat) << stat.error().text();
    return stat && open_ ? pages_->read(node_, *open_, stat->size) : "no bytes";
  }

 private:
  std::shared_ptr<tree::Tree> tree_;
  std::shared_ptr<PageCache> pages_;
  tree::NodeId node_;
  std::shared_ptr<tree::OpenNode> open_;
};

// Columns of letters, which datasets of many layouts share.
FileStates states_of_a_writer() {
  return states_written_by("letters");
}

// Each pair shares a dataset.
constexpr const char* kViews[] = {
    ".h5/slice/d/:,0",
    ".h5/slice/d/:,1",
    ".h5/slice/d/:,0.npy",
    ".h5/slice/d/:,1.csv",
    ".h5/plain.zarr/z/0.0",
    ".h5/plain.zarr/z/0.1",
    ".h5/stored.zarr/z/0.0",
    ".h5/stored.zarr/z/0.1",
    ".h5/v3.zarr/z/c.0.0",
    ".h5/v3.zarr/z/c.0.1",
    ".h5/fields/c/a",
    ".h5/fields/c/b",
    ".h5/slice/w/:,0",
    ".h5/slice/w/:,1",
    ".h5/plain.zarr/w/3.0",
    ".h5/plain.zarr/w/3.1",
    ".h5/fields/c/a.csv",
    ".h5/fields/c/b.ndjson",
    ".h5/csv/t.csv",
    ".h5/parquet/t.parquet",
    ".h5/slice/v/:,0",
    ".h5/slice/v/:,1",
    ".h5/plain.zarr/short/0",
    ".h5/plain.zarr/pair/0.0",
    ".h5/stored.zarr/packed/0",
    ".h5/v3.zarr/packed/c.0",
    ".h5/v3.zarr/pair/c.0.1",
    ".h5/npy/d.npy",
    ".h5/csv/d.csv",
    ".h5/csv/c.csv",
    ".h5/ndjson/c.ndjson",
    "d",
    "z",
    "v",
};

class FollowedViews : public testing::TestWithParam<bool> {};

TEST_P(FollowedViews, ShowTheNewestStateWhateverSharesTheirDataset) {
  const FileStates states = states_of_a_writer();
  const auto source = std::make_shared<WrittenSource>(states[0]);
  const auto tree = tree_over(source);
  const auto pages = std::make_shared<PageCache>();
  tree->set_kernel(pages);
  std::vector<std::unique_ptr<ReadView>> views;
  for (const char* path : kViews) {
    views.push_back(std::make_unique<ReadView>(tree, pages, path));
    views.back()->open();
  }
  EXPECT_EQ(ReadView(tree, pages, ".h5/plain.zarr/short/0").read(), "aa..");
  EXPECT_EQ(views[0]->read(), "AAAA");
  EXPECT_EQ(views[1]->read(), "aaaa");
  for (std::size_t state = 0; state < states.size(); ++state) {
    if (state > 0) source->write(states[state]);
    tree->file_changed();
    const auto fresh = tree_over(io::make_memory_source(states[state]));
    for (std::size_t i = 0; i < views.size(); ++i) {
      if (GetParam()) views[i]->close();
      ReadView right(fresh, std::make_shared<PageCache>(), kViews[i]);
      // A size is published once the pages before it were dropped, which a worker may be doing.
      const std::string wanted = right.read();
      for (int wait = 0; wait < 200 && views[i]->read() != wanted; ++wait)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      EXPECT_EQ(views[i]->read(), wanted) << kViews[i] << " in state " << state;
    }
  }
  EXPECT_EQ(views[0]->read(), "AAADOPQRST");
  EXPECT_EQ(views[1]->read(), "aaadopqrst");
  EXPECT_EQ(ReadView(tree, pages, ".h5/plain.zarr/short/0").read(), "aaFFFFHH..");
  EXPECT_EQ(ReadView(tree, pages, ".h5/plain.zarr/pair/0.0").read(), "aaGaaGGGG");
  EXPECT_EQ(ReadView(tree, pages, ".h5/plain.zarr/pair/1.0").read(), "GGG......");
}

INSTANTIATE_TEST_SUITE_P(Handles, FollowedViews, testing::Bool(),
                         [](const auto& info) { return info.param ? "OpenedAnew" : "Held"; });

}  // namespace
}  // namespace h5mount::test
