// A file that is written while it is read through the tree: no request mixes two states, and no size is
// published before the pages that it makes stale are dropped.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <fstream>
#include <functional>
#include <mutex>
#include <thread>

#include "h5mount/base/checksum.h"
#include "h5mount/metadata/torn_retry.h"
#include "h5mount/tree/tree.h"
#include "support/h5py_file.h"
#include "support/stamped_source.h"

namespace h5mount::test {
namespace {

// Two states of a file; every read calls a hook first.
class TwoStates final : public StampedSource {
 public:
  TwoStates(std::vector<std::byte> first, std::vector<std::byte> second)
      : states_{std::move(first), std::move(second)} {}

  void change() { second_ = true; }

  Status read_at(std::uint64_t offset, MutableByteSpan out) const override {
    if (on_read) on_read();
    const auto& bytes = states_[second_ ? 1 : 0];
    if (offset > bytes.size() || out.size() > bytes.size() - offset)
      return fail(Error(ErrorCode::Truncated, "TwoStates", "bytes", offset));
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
    return {};
  }
  std::uint64_t size() const override { return states_[second_ ? 1 : 0].size(); }
  Result<io::SourceStamp> stamp() override {
    return io::SourceStamp{.size = size(), .modified = second_ ? 2 : 1, .sum = second_ ? 2U : 1U};
  }
  std::string name() const override { return "two states"; }

  std::function<void()> on_read;

 private:
  std::vector<std::byte> states_[2];
  std::atomic<bool> second_ = false;
};

// Counts requested invalidations. They complete at once, or when the test says so.
class NotedPages final : public tree::KernelPages {
 public:
  void invalidate(tree::NodeId, const std::vector<dataset::ByteRange>& ranges,
                  std::function<void()> done) override {
    if (on_invalidate) on_invalidate();
    invalidated += ranges.size();
    if (delaying)
      delayed = std::move(done);
    else if (done)
      done();
  }
  bool store(tree::NodeId, std::uint64_t, const dataset::Pieces&) override { return false; }
  std::atomic<std::uint64_t> invalidated{0};
  std::function<void()> on_invalidate;
  bool delaying = false;
  std::function<void()> delayed;
};

std::shared_ptr<object::FileSet> files_of(const std::shared_ptr<io::ByteSource>& source,
                                          metadata::Follow follow) {
  metadata::MetadataOptions options;
  options.follow = follow;
  options.revalidate_interval = std::chrono::milliseconds(0);
  auto files = object::FileSet::open(source, options);
  EXPECT_TRUE(files) << files.error().text();
  return files ? *files : nullptr;
}

std::shared_ptr<tree::Tree> tree_of(const std::shared_ptr<object::FileSet>& files) {
  auto tree = tree::Tree::make(
      {std::make_shared<cache::BlockCache>(16U << 20), std::make_shared<cache::WorkerPool>(2), files}, {});
  EXPECT_TRUE(tree) << tree.error().text();
  return tree ? *tree : nullptr;
}

std::shared_ptr<tree::Tree> tree_of(const std::shared_ptr<io::ByteSource>& source, metadata::Follow follow) {
  const auto files = files_of(source, follow);
  return files ? tree_of(files) : nullptr;
}

// ---- no mixed bytes

class MixedBytes : public testing::TestWithParam<const char*> {};

TEST_P(MixedBytes, AreNeverGiven) {
  const std::string make =
      std::string("f.create_dataset('d', data=np.full(300000, VALUE, 'u1'), ") + GetParam() + ")";
  const auto with = [&](const char* value) {
    std::string script = make;
    script.replace(script.find("VALUE"), 5, value);
    return written_with_h5py(script);
  };
  const auto first = with("7"), second = with("9");
  if (first.empty()) GTEST_SKIP() << "no h5py to write a file with";
  ASSERT_EQ(first.size(), second.size());
  int reads_in_all = 0, stale = 0;
  // The file is written before each of the reads that one request makes.
  for (int written_at = 0; written_at <= reads_in_all; ++written_at) {
    std::atomic<int> reads = 0;
    std::atomic<bool> armed = false;
    auto source = std::make_shared<TwoStates>(first, second);
    source->on_read = [&, raw = source.get()] {
      if (armed && reads++ == written_at) raw->change();
    };
    const auto tree = tree_of(source, metadata::Follow::Auto);
    ASSERT_TRUE(tree);
    const auto entry = tree->lookup(tree::kRootNode, "d");
    ASSERT_TRUE(entry) << entry.error().text();
    const auto open = tree->open(entry->node);
    ASSERT_TRUE(open) << open.error().text();
    armed = true;
    dataset::Pieces pieces;
    const Status read = (*open)->read(0, 300'000, pieces);
    armed = false;
    reads_in_all = std::max(reads_in_all, std::min(reads.load(), 64));
    if (!read) {
      EXPECT_EQ(read.error().code(), ErrorCode::Stale) << read.error().text();
      ++stale;
      continue;
    }
    ASSERT_EQ(pieces.total(), 300'000U);
    for (const dataset::Piece& piece : pieces.list())
      for (const std::byte byte : piece.bytes)
        ASSERT_EQ(byte, std::byte{7}) << "written before read " << written_at;
  }
  EXPECT_GE(stale, 1);
}

INSTANTIATE_TEST_SUITE_P(Layouts, MixedBytes,
                         testing::Values("chunks=(30000,)", "chunks=(30000,), compression='gzip'",
                                         "chunks=(30000,), shuffle=True", "chunks=None"));

// ---- requests for a changed file

TEST(ChangedFile, GivesNeitherNamesNorAttributes) {
  const auto first = written_with_h5py("f['a'] = 1\nf['b'] = 2"),
             second = written_with_h5py("f['c'] = 1\nf['d'] = 2");
  if (first.empty()) GTEST_SKIP() << "no h5py to write a file with";
  auto source = std::make_shared<TwoStates>(first, second);
  const auto tree = tree_of(source, metadata::Follow::Auto);
  ASSERT_TRUE(tree);
  const auto entry = tree->lookup(tree::kRootNode, "a");
  ASSERT_TRUE(entry) << entry.error().text();
  source->change();
  const auto stale = [](const auto& result) { return !result && result.error().code() == ErrorCode::Stale; };
  EXPECT_TRUE(stale(tree->lookup(tree::kRootNode, "c")));
  EXPECT_TRUE(stale(tree->stat(entry->node, tree::StatDepth::Full)));
  EXPECT_TRUE(stale(tree->open_directory(tree::kRootNode)));
  EXPECT_TRUE(stale(tree->list_xattrs(entry->node)));
  EXPECT_TRUE(stale(tree->open(entry->node)));
}

TEST(ChangedFile, SaysWhyWhereItCanBeAsked) {
  const auto first = written_with_h5py("f['a'] = 1"), second = written_with_h5py("f['c'] = 1");
  ASSERT_FALSE(first.empty()) << "h5py wrote no file";
  auto source = std::make_shared<TwoStates>(first, second);
  const auto tree = tree_of(source, metadata::Follow::Auto);
  ASSERT_TRUE(tree);
  const auto entry = tree->lookup(tree::kRootNode, "a");
  ASSERT_TRUE(entry) << entry.error().text();
  source->change();
  for (const tree::NodeId node : {tree::kRootNode, entry->node}) {
    const auto why = tree->get_xattr(node, "user.hdf5.error");
    ASSERT_TRUE(why) << why.error().text();
    EXPECT_NE(why->find("-o reload"), std::string::npos) << *why;
    EXPECT_FALSE(tree->get_xattr(node, "user.hdf5.kind"));
  }
}

// Entries of one reply are confirmed together, after the last of them was read.
TEST(ChangedFile, IsNoticedAfterTheLastEntryOfAPage) {
  const auto first = written_with_h5py("for i in range(9): f.create_group(str(i))"),
             second = written_with_h5py("for i in range(9): f[str(i)] = 1");
  if (first.empty()) GTEST_SKIP() << "no h5py to write a file with";
  auto source = std::make_shared<TwoStates>(first, second);
  const auto tree = tree_of(source, metadata::Follow::Auto);
  ASSERT_TRUE(tree);
  const auto listing = tree->open_directory(tree::kRootNode);
  ASSERT_TRUE(listing) << listing.error().text();
  ASSERT_EQ((*listing)->size(), 9U);
  const auto look_up = [&](std::size_t position, tree::FilesRead& read) {
    RequestBudget budget;
    return tree->lookup_listed(tree::kRootNode, **listing, position, read, budget);
  };
  tree::FilesRead before, after;
  EXPECT_TRUE(look_up(0, before));
  EXPECT_TRUE(before.confirm_unchanged());
  EXPECT_TRUE(look_up(1, after));
  source->change();
  const Status changed = after.confirm_unchanged();
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code(), ErrorCode::Stale);
  const auto one = tree->lookup_listed(tree::kRootNode, **listing, 2);
  ASSERT_FALSE(one);
  EXPECT_EQ(one.error().code(), ErrorCode::Stale);
}

// ---- damage in a file of another clock

// A SWMR writer's flags, 400 damaged headers, and a time in the future: nobody writes the file, so no read
// waits for a writer.
TEST(DamagedFile, IsNotWaitedForThoughItsTimeLiesInTheFuture) {
  auto bytes = written_with_h5py("for i in range(400): f['d%04d' % i] = i");
  if (bytes.empty()) GTEST_SKIP() << "no h5py to write a file with";
  std::uint64_t root = 0;
  std::memcpy(&root, bytes.data() + 36, sizeof root);
  const auto headers = places_of(bytes, "OHDR");
  for (const std::size_t at : headers)
    if (at != root) flip(bytes, at, 16);
  bytes[11] = std::byte{5};
  const std::uint32_t checksum = lookup3_checksum(ByteSpan(bytes).first(44));
  std::memcpy(bytes.data() + 44, &checksum, sizeof checksum);
  const auto path =
      std::filesystem::temp_directory_path() / ("h5mount-future-" + std::to_string(::getpid()) + ".h5");
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  const struct timespec future[] = {{2'114'380'800, 0}, {2'114'380'800, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), future, 0), 0);
  const auto source = io::open_file_source(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(source);
  const auto files = files_of(*source, metadata::Follow::Auto);
  ASSERT_TRUE(files);
  const auto tree = tree_of(files);
  ASSERT_TRUE(tree);
  EXPECT_TRUE(tree->follows(tree::kRootNode));
  const auto listing = tree->open_directory(tree::kRootNode);
  ASSERT_TRUE(listing) << listing.error().text();
  ASSERT_EQ((*listing)->size(), 400U);
  for (std::size_t i = 0; i < (*listing)->size(); ++i)
    (void)tree->lookup_listed(tree::kRootNode, **listing, i);
  EXPECT_EQ(files->main()->followed->retries().milliseconds, 0U);
}

// ---- sizes and pages

// Stops one thread at a given one of its reads until it is released.
class Gate {
 public:
  void arm(std::thread::id who, int at) {
    const std::lock_guard lock(mutex_);
    who_ = who, left_ = at, armed_ = true;
  }
  void pass() {
    std::unique_lock lock(mutex_);
    if (!armed_ || std::this_thread::get_id() != who_ || --left_ > 0) return;
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

// A dataset with more chunks than are counted, before and after its writer appended to it.
struct GrowingDataset {
  static constexpr std::uint64_t kBefore = 5000 * 16 * 4, kAfter = 6000 * 16 * 4;

  GrowingDataset(const std::vector<std::byte>& first, const std::vector<std::byte>& second,
                 std::function<void()> on_read)
      : source(std::make_shared<TwoStates>(first, second)) {
    source->on_read = std::move(on_read);
    tree = tree_of(source, metadata::Follow::Auto);
    tree->set_kernel(pages);
    const auto entry = tree->lookup(tree::kRootNode, "d");
    EXPECT_TRUE(entry) << entry.error().text();
    node = entry ? entry->node : 0;
    open = *tree->open(node);
    EXPECT_EQ(tree->stat(node, tree::StatDepth::Size)->size, kBefore);
    dataset::Pieces shown;  // the end, which is not finished
    EXPECT_TRUE(open->read(kBefore - 65'536, 65'536, shown));
  }

  std::shared_ptr<TwoStates> source;
  std::shared_ptr<tree::Tree> tree;
  std::shared_ptr<NotedPages> pages = std::make_shared<NotedPages>();
  tree::NodeId node = 0;
  std::shared_ptr<tree::OpenNode> open;
};

// A writer's file after each of two flushes, one after the other, each preceded by its length.
std::pair<std::vector<std::byte>, std::vector<std::byte>> two_flushes() {
  const auto both = written_with_h5py(R"(
import os, struct
path = sys.argv[1] + '.swmr'
w = h5py.File(path, 'w', libver='latest')
d = w.create_dataset('d', (5000 * 16,), 'i4', maxshape=(None,), chunks=(16,))
d[:4990 * 16] = 1
w.swmr_mode = True
d.flush()
first = open(path, 'rb').read()
d.resize((6000 * 16,))
d[4990 * 16:] = 2
d.flush()
second = open(path, 'rb').read()
os.environ['HDF5_USE_FILE_LOCKING'] = 'FALSE'
f.create_dataset('first', data=np.frombuffer(first, 'u1'))
f.create_dataset('second', data=np.frombuffer(second, 'u1'))
)");
  if (both.empty()) return {};
  const auto tree = tree_of(io::make_memory_source(both), metadata::Follow::Never);
  const auto bytes_of = [&](const char* name) {
    const auto entry = tree->lookup(tree::kRootNode, name);
    dataset::Pieces pieces;
    EXPECT_TRUE(entry && (*tree->open(entry->node))->read(0, 1U << 30, pieces));
    std::vector<std::byte> out(static_cast<std::size_t>(pieces.total()));
    EXPECT_TRUE(dataset::copy_pieces(pieces.list(), out));
    return out;
  };
  return {bytes_of("first"), bytes_of("second")};
}

TEST(Publishing, NoSizeComesBeforeThePagesThatItMakesWrongAreGone) {
  const auto [first, second] = two_flushes();
  if (first.empty()) GTEST_SKIP() << "no h5py to write a file with";
  // A run alone counts the reads up to the step in which a thread determines the stale ranges.
  std::atomic<int> reads = 0;
  int last = 0;
  {
    GrowingDataset alone(first, second, [&] { ++reads; });
    alone.pages->on_invalidate = [&] { last = reads; };
    alone.source->change();
    reads = 0;
    EXPECT_EQ(alone.tree->stat(alone.node, tree::StatDepth::Size)->size, GrowingDataset::kAfter);
    ASSERT_GE(last, 1) << "nothing was dropped";
  }
  Gate gate;
  GrowingDataset shared(first, second, [&] { gate.pass(); });
  const std::uint64_t dropped = shared.pages->invalidated;
  shared.source->change();
  std::thread slow([&] {
    gate.arm(std::this_thread::get_id(), last);
    EXPECT_EQ(shared.tree->stat(shared.node, tree::StatDepth::Size)->size, GrowingDataset::kAfter);
  });
  const bool reached = gate.wait_until_reached();
  EXPECT_TRUE(reached);
  const auto meanwhile = shared.tree->stat(shared.node, tree::StatDepth::Size);
  EXPECT_EQ(shared.pages->invalidated, dropped);
  ASSERT_TRUE(meanwhile) << meanwhile.error().text();
  EXPECT_EQ(meanwhile->size, GrowingDataset::kBefore)
      << "the new size, and none of the old pages was dropped";
  EXPECT_FALSE(meanwhile->complete) << "the kernel is to ask again";
  gate.open();
  slow.join();
  EXPECT_GT(shared.pages->invalidated, dropped);
  EXPECT_EQ(shared.tree->stat(shared.node, tree::StatDepth::Size)->size, GrowingDataset::kAfter);
}

// The kernel drops a page only when running reads of it have ended: until then stat returns the old size.
TEST(Publishing, NoSizeComesBeforeTheKernelHasDroppedThePages) {
  const auto [first, second] = two_flushes();
  if (first.empty()) GTEST_SKIP() << "no h5py to write a file with";
  GrowingDataset growing(first, second, nullptr);
  growing.pages->delaying = true;
  growing.source->change();
  for (int i = 0; i < 2; ++i) {
    const auto meanwhile = growing.tree->stat(growing.node, tree::StatDepth::Size);
    ASSERT_TRUE(meanwhile) << meanwhile.error().text();
    EXPECT_EQ(meanwhile->size, GrowingDataset::kBefore);
    EXPECT_FALSE(meanwhile->complete) << "the kernel is to ask again";
  }
  ASSERT_TRUE(growing.pages->delayed);
  growing.pages->delayed();
  const auto published = growing.tree->stat(growing.node, tree::StatDepth::Size);
  ASSERT_TRUE(published) << published.error().text();
  EXPECT_EQ(published->size, GrowingDataset::kAfter);
  EXPECT_TRUE(published->complete);
}

}  // namespace
}  // namespace h5mount::test
