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

#include "followed.h"
#include "h5mount/base/checksum.h"
#include "h5mount/metadata/torn_retry.h"

namespace h5mount::test {
namespace {

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
  ASSERT_EQ(first.size(), second.size());
  int reads_in_all = 0, stale = 0;
  // The file is written before each of the reads that one request makes.
  for (int written_at = 0; written_at <= reads_in_all; ++written_at) {
    std::atomic<int> reads = 0;
    std::atomic<bool> armed = false;
    auto source = std::make_shared<WrittenSource>(first);
    source->on_read = [&, raw = source.get()] {
      if (armed && reads++ == written_at) raw->write(second);
    };
    const auto tree = tree_over(source);
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
  auto source = std::make_shared<WrittenSource>(first);
  const auto tree = tree_over(source);
  ASSERT_TRUE(tree);
  const auto entry = tree->lookup(tree::kRootNode, "a");
  ASSERT_TRUE(entry) << entry.error().text();
  source->write(second);
  const auto stale = [](const auto& result) { return !result && result.error().code() == ErrorCode::Stale; };
  EXPECT_TRUE(stale(tree->lookup(tree::kRootNode, "c")));
  EXPECT_TRUE(stale(tree->stat(entry->node, tree::StatDepth::Full)));
  EXPECT_TRUE(stale(tree->open_directory(tree::kRootNode)));
  EXPECT_TRUE(stale(tree->list_xattrs(entry->node)));
  EXPECT_TRUE(stale(tree->open(entry->node)));
}

TEST(ChangedFile, SaysWhyWhereItCanBeAsked) {
  const auto first = written_with_h5py("f['a'] = 1"), second = written_with_h5py("f['c'] = 1");
  auto source = std::make_shared<WrittenSource>(first);
  const auto tree = tree_over(source);
  ASSERT_TRUE(tree);
  const auto entry = tree->lookup(tree::kRootNode, "a");
  ASSERT_TRUE(entry) << entry.error().text();
  source->write(second);
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
  auto source = std::make_shared<WrittenSource>(first);
  const auto tree = tree_over(source);
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
  source->write(second);
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
  const auto files = files_over(*source);
  ASSERT_TRUE(files);
  const auto tree = tree_over(files);
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

// A dataset with more chunks than are counted, before and after its writer appended to it.
struct GrowingDataset {
  static constexpr std::uint64_t kBefore = 5000 * 16 * 4, kAfter = 6000 * 16 * 4;

  GrowingDataset(const FileStates& states, std::function<void()> on_read)
      : source(std::make_shared<WrittenSource>(states[0])), second(states[1]) {
    source->on_read = std::move(on_read);
    tree = tree_over(source);
    tree->set_kernel(pages);
    const auto entry = tree->lookup(tree::kRootNode, "d");
    EXPECT_TRUE(entry) << entry.error().text();
    node = entry ? entry->node : 0;
    open = *tree->open(node);
    EXPECT_EQ(tree->stat(node, tree::StatDepth::Size)->size, kBefore);
    dataset::Pieces shown;  // the end, which is not finished
    EXPECT_TRUE(open->read(kBefore - 65'536, 65'536, shown));
  }

  void grow() { source->write(second); }

  std::shared_ptr<WrittenSource> source;
  std::vector<std::byte> second;
  std::shared_ptr<tree::Tree> tree;
  std::shared_ptr<NotedPages> pages = std::make_shared<NotedPages>();
  tree::NodeId node = 0;
  std::shared_ptr<tree::OpenNode> open;
};

// A writer's file after each of two flushes.
FileStates two_flushes() {
  return states_written_by("two_flushes");
}

TEST(Publishing, NoSizeComesBeforeThePagesThatItMakesWrongAreGone) {
  const FileStates states = two_flushes();
  ASSERT_EQ(states.size(), 2U);
  // A run alone counts the reads up to the step in which a thread determines the stale ranges.
  std::atomic<int> reads = 0;
  int last = 0;
  {
    GrowingDataset alone(states, [&] { ++reads; });
    alone.pages->on_invalidate = [&] { last = reads; };
    alone.grow();
    reads = 0;
    EXPECT_EQ(alone.tree->stat(alone.node, tree::StatDepth::Size)->size, GrowingDataset::kAfter);
    ASSERT_GE(last, 1) << "nothing was dropped";
  }
  Gate gate;
  GrowingDataset shared(states, [&] { gate.pass(); });
  const std::uint64_t dropped = shared.pages->invalidated;
  shared.grow();
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
  const FileStates states = two_flushes();
  ASSERT_EQ(states.size(), 2U);
  GrowingDataset growing(states, nullptr);
  growing.pages->delaying = true;
  growing.grow();
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
