// Files that change under a tree: what a writer flushed, one state after the other, and the kernel's page
// cache.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "h5mount/tree/tree.h"
#include "support/h5py_file.h"
#include "support/written_source.h"
#include "test_paths.h"

namespace h5mount::test {

using FileStates = std::vector<std::vector<std::byte>>;

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

// Stops one thread at a given one of its reads until it is released.
class Gate {
 public:
  // `who`: the thread whose read is meant; none: any, also one of the worker pool.
  void arm(std::thread::id who, int at) {
    const std::lock_guard lock(mutex_);
    who_ = who, left_ = at, armed_ = true;
  }
  void pass() {
    std::unique_lock lock(mutex_);
    const bool meant = who_ == std::thread::id() || who_ == std::this_thread::get_id();
    if (!armed_ || !meant || --left_ > 0) return;
    armed_ = false;
    reached_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
  }
  bool wait_until_reached() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(30), [&] { return reached_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread::id who_;
  int left_ = 0;
  bool armed_ = false, reached_ = false, open_ = false;
};

inline std::shared_ptr<object::FileSet> files_over(const std::shared_ptr<io::ByteSource>& source,
                                                   metadata::Follow follow = metadata::Follow::Auto) {
  metadata::MetadataOptions options;
  options.follow = follow;
  options.revalidate_interval = std::chrono::milliseconds(0);
  auto files = object::FileSet::open(source, options);
  EXPECT_TRUE(files) << files.error().text();
  return files ? *files : nullptr;
}

inline std::shared_ptr<tree::Tree> tree_over(const std::shared_ptr<object::FileSet>& files) {
  auto tree = tree::Tree::make(
      {std::make_shared<cache::BlockCache>(16U << 20), std::make_shared<cache::WorkerPool>(1), files}, {});
  EXPECT_TRUE(tree) << tree.error().text();
  return tree ? *tree : nullptr;
}

inline std::shared_ptr<tree::Tree> tree_over(const std::shared_ptr<io::ByteSource>& source,
                                             metadata::Follow follow = metadata::Follow::Auto) {
  const auto files = files_over(source, follow);
  return files ? tree_over(files) : nullptr;
}

inline tree::NodeId look_up(tree::Tree& tree, std::string_view path) {
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

// The bytes of a file in memory as a tree shows it at `path`.
inline std::vector<std::byte> bytes_in(const std::vector<std::byte>& file, std::string_view path) {
  const auto tree = tree_over(io::make_memory_source(file), metadata::Follow::Never);
  const auto open = tree->open(look_up(*tree, path));
  dataset::Pieces pieces;
  EXPECT_TRUE(open && (*open)->read(0, 1U << 30, pieces));
  std::vector<std::byte> out(static_cast<std::size_t>(pieces.total()));
  EXPECT_TRUE(dataset::copy_pieces(pieces.list(), out));
  return out;
}

// The states of a file that a writer of fixtures/swmr_states.py flushes.
inline FileStates states_written_by(const std::string& writer) {
  const auto all = written_with_h5py(
      "sys.dont_write_bytecode = True\n"
      "sys.path.insert(0, '" H5MOUNT_SOURCE_ROOT
      "/tests/tree/fixtures')\n"
      "import swmr_states\n"
      "states = swmr_states." +
      writer + R"((sys.argv[1] + '.swmr')
f['count'] = np.array([len(states)], 'u1')
for i, state in enumerate(states): f.create_dataset(str(i), data=np.frombuffer(state, 'u1'))
)");
  FileStates states;
  const auto count = std::to_integer<std::size_t>(bytes_in(all, "count").at(0));
  while (states.size() < count) states.push_back(bytes_in(all, std::to_string(states.size())));
  return states;
}

}  // namespace h5mount::test
