// Views that were looked up and read while a file was quiet, once a SWMR writer rewrites its last rows and
// appends: each shows what a tree that was just opened shows, whichever other views share its dataset.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "h5mount/tree/tree.h"
#include "support/h5py_file.h"
#include "support/stamped_source.h"

namespace h5mount::test {
namespace {

using States = std::vector<std::vector<std::byte>>;

// A file in one of several states.
class StatedFile final : public StampedSource {
 public:
  explicit StatedFile(const States& states) : states_(states) {}

  void become(std::size_t state) { now_ = state; }

  Status read_at(std::uint64_t offset, MutableByteSpan out) const override {
    const std::vector<std::byte>& bytes = states_[now_];
    if (offset > bytes.size() || out.size() > bytes.size() - offset)
      return fail(Error(ErrorCode::Truncated, "StatedFile", "bytes", offset));
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
    return {};
  }
  std::uint64_t size() const override { return states_[now_].size(); }
  Result<io::SourceStamp> stamp() override {
    const std::size_t now = now_;
    return io::SourceStamp{.size = size(), .modified = static_cast<std::int64_t>(now + 1), .sum = now + 1};
  }
  std::string name() const override { return "stated file"; }

 private:
  const States& states_;
  std::atomic<std::size_t> now_ = 0;
};

// The kernel's page cache: a page is requested once, and then only after it was invalidated.
class PageCache final : public tree::KernelPages {
 public:
  static constexpr std::uint64_t kPage = 4096;

  void invalidate(tree::NodeId node, const std::vector<dataset::ByteRange>& ranges,
                  std::function<void()> done) override {
    {
      const std::lock_guard lock(mutex_);
      std::erase_if(pages_, [&](const auto& page) {
        const std::uint64_t begin = page.first.second * kPage;
        return page.first.first == node && std::ranges::any_of(ranges, [&](const auto& range) {
                 return begin < range.end && range.begin < begin + kPage;
               });
      });
    }
    if (done) done();
  }
  bool store(tree::NodeId, std::uint64_t, const dataset::Pieces&) override { return false; }

  // What a client reads of a file with that size.
  std::string read(tree::NodeId node, tree::OpenNode& open, std::uint64_t size) {
    std::string out;
    for (std::uint64_t page = 0; page * kPage < size; ++page) out += page_of(node, page, open);
    out.resize(static_cast<std::size_t>(size));
    return out;
  }

 private:
  std::string page_of(tree::NodeId node, std::uint64_t page, tree::OpenNode& open) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = pages_.find({node, page}); known != pages_.end()) return known->second;
    }
    dataset::Pieces pieces;
    const Status done = open.read(page * kPage, kPage, pieces);
    EXPECT_TRUE(done) << done.error().text();
    std::string bytes(static_cast<std::size_t>(pieces.total()), '\0');
    EXPECT_TRUE(dataset::copy_pieces(pieces.list(), std::as_writable_bytes(std::span(bytes))));
    bytes.resize(kPage);  // the kernel fills a page up with zeros
    const std::lock_guard lock(mutex_);
    return pages_[{node, page}] = bytes;
  }

  std::mutex mutex_;
  std::map<std::pair<tree::NodeId, std::uint64_t>, std::string> pages_;
};

std::shared_ptr<tree::Tree> tree_over(const std::shared_ptr<io::ByteSource>& source) {
  metadata::MetadataOptions options;
  options.follow = metadata::Follow::Auto;
  options.revalidate_interval = std::chrono::milliseconds(0);
  auto files = object::FileSet::open(source, options);
  EXPECT_TRUE(files) << files.error().text();
  if (!files) return nullptr;
  auto tree = tree::Tree::make(
      {std::make_shared<cache::BlockCache>(16U << 20), std::make_shared<cache::WorkerPool>(1), *files}, {});
  EXPECT_TRUE(tree) << tree.error().text();
  return tree ? *tree : nullptr;
}

tree::NodeId look_up(tree::Tree& tree, std::string_view path) {
  tree::NodeId node = tree::kRootNode;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const auto entry = tree.lookup(node, path.substr(begin, end - begin));
    EXPECT_TRUE(entry) << path << ": " << entry.error().text();
    if (!entry) return 0;
    node = entry->node;
    begin = end + 1;
  }
  return node;
}

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

// The states of a file: quiet, and after each flush of a SWMR writer that rewrites the last row and appends.
// Column 0 of `d` has capitals, column 1 small letters. `z`, `w` and `c` have them too: in chunks of
// one column, in chunks of one element, and as two members.
States states_of_a_writer() {
  const auto all = written_with_h5py(R"(
path = sys.argv[1] + '.swmr'
states = []
def keep():
    w.flush()
    states.append(open(path, 'rb').read())
pair = np.dtype([('a', 'u1'), ('b', 'u1')])
w = h5py.File(path, 'w', libver='latest')
w.create_dataset('d', (4, 2), 'u1', maxshape=(None, 2), chunks=(64, 2))
w.create_dataset('z', (4, 2), 'u1', maxshape=(None, 2), chunks=(4, 1))
w.create_dataset('w', (4, 2), 'u1', maxshape=(None, 2), chunks=(1, 1))
w.create_dataset('c', (4,), pair, maxshape=(None,), chunks=(64,))
def put(row, letter):
    a, b = ord(letter), ord(letter) + 32
    w['d'][row] = (a, b)
    w['z'][row] = (a, b)
    w['w'][row] = (a, b)
    w['c'][row] = np.array((a, b), pair)
for row in range(4): put(row, 'A')
w.close()
states.append(open(path, 'rb').read())
w = h5py.File(path, 'r+', libver='latest')
w.swmr_mode = True
for letter in 'BCD':
    put(3, letter); keep()
for row, letter in enumerate('EFGHIJ', 4):
    for name in 'dzwc': w[name].resize(row + 1, 0)
    keep()
    put(row, letter); keep()
    put(row, chr(ord(letter) + 10)); keep()
w.close()
for i, state in enumerate(states): f.create_dataset(str(i), data=np.frombuffer(state, 'u1'))
)");
  if (all.empty()) return {};
  States states;
  const auto tree = tree_over(io::make_memory_source(all));
  for (std::size_t count = (*tree->open_directory(tree::kRootNode))->size(); states.size() < count;) {
    const auto open = tree->open(look_up(*tree, std::to_string(states.size())));
    dataset::Pieces pieces;
    EXPECT_TRUE(open && (*open)->read(0, 1U << 30, pieces));
    auto& bytes = states.emplace_back(static_cast<std::size_t>(pieces.total()));
    EXPECT_TRUE(dataset::copy_pieces(pieces.list(), bytes));
  }
  return states;
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
    ".h5/npy/d.npy",
    ".h5/csv/d.csv",
    ".h5/csv/c.csv",
    ".h5/ndjson/c.ndjson",
    "d",
    "z",
};

class FollowedViews : public testing::TestWithParam<bool> {};

TEST_P(FollowedViews, ShowTheNewestStateWhateverSharesTheirDataset) {
  const States states = states_of_a_writer();
  ASSERT_FALSE(states.empty()) << "h5py wrote no file";
  const auto source = std::make_shared<StatedFile>(states);
  const auto tree = tree_over(source);
  const auto pages = std::make_shared<PageCache>();
  tree->set_kernel(pages);
  std::vector<std::unique_ptr<ReadView>> views;
  for (const char* path : kViews) {
    views.push_back(std::make_unique<ReadView>(tree, pages, path));
    views.back()->open();
  }
  EXPECT_EQ(views[0]->read(), "AAAA");
  EXPECT_EQ(views[1]->read(), "aaaa");
  for (std::size_t state = 0; state < states.size(); ++state) {
    source->become(state);
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
}

INSTANTIATE_TEST_SUITE_P(Handles, FollowedViews, testing::Bool(),
                         [](const auto& info) { return info.param ? "OpenedAnew" : "Held"; });

}  // namespace
}  // namespace h5mount::test
