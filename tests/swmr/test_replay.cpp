// Every state that a SWMR writer's file goes through: its writes are recorded, then done one by one on a
// copy, each torn at every 512 bytes of the file, and each state is read by one tree that follows the file
// (and some by a new one).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "frames.h"
#include "h5mount/base/log.h"
#include "h5mount/tree/tree.h"
#include "support/corpus.h"

namespace h5mount::test {
namespace {

constexpr std::uint64_t kElements = 8 * 16;
constexpr std::uint64_t kFrameBytes = kElements * 2;

struct Write {
  std::uint64_t offset, length;  // all ones: cut
  std::string bytes;
};

std::vector<Write> load_writes(const std::filesystem::path& path) {
  const std::vector<std::byte> log = read_whole_file(path);
  std::vector<Write> out;
  for (std::size_t at = 0; at + 16 <= log.size();) {
    Write& write = out.emplace_back();
    std::memcpy(&write.offset, &log[at], 8);
    std::memcpy(&write.length, &log[at + 8], 8);
    at += 16;
    if (write.length == ~std::uint64_t{0}) continue;
    write.bytes.assign(reinterpret_cast<const char*>(&log[at]), write.length);
    at += write.length;
  }
  return out;
}

std::shared_ptr<tree::Tree> open_tree(const std::filesystem::path& path,
                                      std::chrono::milliseconds retry_for = {}) {
  metadata::MetadataOptions options;
  options.follow = metadata::Follow::Auto;
  options.force = true;
  options.revalidate_interval = std::chrono::milliseconds(0);
  options.retry_for = retry_for;  // nothing mends a torn state here: no use in waiting
  dataset::ReadEnvironment environment;
  auto files = object::FileSet::open(path, object::ExternalPolicy::None, options);
  if (!files) return nullptr;
  environment.files = *files;
  environment.cache = std::make_shared<cache::BlockCache>(8U << 20);
  environment.workers = std::make_shared<cache::WorkerPool>(1);
  auto tree = tree::Tree::make(environment, {});
  return tree ? *tree : nullptr;
}

Result<std::string> read_all(tree::OpenNode& node, std::uint64_t size) {
  dataset::Pieces pieces;
  H5_TRY(node.read(0, size, pieces));
  std::string out(pieces.total(), '\0');
  H5_TRY(dataset::copy_pieces(pieces.list(), std::as_writable_bytes(std::span(out))));
  return out;
}

struct Counts {
  std::size_t states = 0, torn = 0, errors_torn = 0, errors_whole = 0, wrong = 0, lost = 0;
  std::string first_error;
};

// One reader of /frames, with what it has seen so far.
class Reader {
 public:
  explicit Reader(std::shared_ptr<tree::Tree> tree) : tree_(std::move(tree)) {}

  bool open() {
    auto found = tree_->lookup(tree::kRootNode, "frames");
    if (!found) return false;
    node_ = found->node;
    auto opened = tree_->open(node_);
    if (opened) file_ = *opened;
    return file_ != nullptr;
  }

  void look(const std::string& right, bool torn, Counts& counts) {
    ++counts.states;
    counts.torn += torn;
    const Status seen = check(right, counts);
    if (seen) return;
    ++(torn ? counts.errors_torn : counts.errors_whole);
    if (!torn && counts.first_error.empty()) counts.first_error = seen.error().text();
  }

  std::uint64_t complete() const { return complete_; }
  Result<std::string> state() { return tree_->get_xattr(tree::kRootNode, "user.state"); }

 private:
  Status check(const std::string& right, Counts& counts) {
    if (file_ == nullptr && !open()) return fail({ErrorCode::InvalidValue, "frames cannot be opened"});
    H5_ASSIGN(const tree::NodeStat stat, tree_->stat(node_, tree::StatDepth::Size));
    H5_ASSIGN(const std::string bytes, read_all(*file_, stat.size));
    if (bytes.size() > right.size()) return ++counts.wrong, Status();
    std::uint64_t complete = 0;
    bool whole = true;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const bool same = bytes[i] == right[i];
      whole = whole && same;
      if (!same && bytes[i] != 0) ++counts.wrong;
      if (whole && (i + 1) % kFrameBytes == 0) ++complete;
    }
    if (complete < complete_) ++counts.lost;
    complete_ = std::max(complete_, complete);
    return {};
  }

  std::shared_ptr<tree::Tree> tree_;
  tree::NodeId node_ = 0;
  std::shared_ptr<tree::OpenNode> file_;
  std::uint64_t complete_ = 0;
};

class Replay : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(Replay, EveryStateReadsRight) {
  set_log_level(LogLevel::Error);
  const auto [index, filter] = GetParam();
  const char* const wanted = std::getenv("SWMR_REPLAY_FRAMES");
  const std::uint64_t frames = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 40;
  std::string place = (std::filesystem::temp_directory_path() / "h5mount-replay-XXXXXX").string();
  ASSERT_NE(::mkdtemp(place.data()), nullptr);
  const std::filesystem::path directory(place), made = directory / "made.h5", copy = directory / "copy.h5",
                                                record = directory / "record";
  const std::string words =
      std::string(" index=") + index + " filter=" + filter + " frames=" + std::to_string(frames);
  ASSERT_EQ(std::system((SWMR_WRITER " " + made.string() + words + " create=1").c_str()), 0);
  std::filesystem::copy_file(made, copy);
  ASSERT_EQ(
      std::system(("SWMR_RECORD_FILE=" + made.string() + " SWMR_RECORD_LOG=" + record.string() +
                   " LD_PRELOAD=" SWMR_RECORDER " " SWMR_WRITER " " + made.string() + words + " restart=1")
                      .c_str()),
      0);
  const std::vector<Write> writes = load_writes(record);
  ASSERT_GT(writes.size(), frames);
  const std::string right = frames_image(frames, kElements);
  const int fd = ::open(copy.c_str(), O_RDWR);
  ASSERT_GE(fd, 0);
  Reader reader(open_tree(copy));
  Counts counts, fresh;
  std::size_t number = 0;
  for (const Write& write : writes) {
    if (write.length == ~std::uint64_t{0}) {
      ASSERT_EQ(::ftruncate(fd, static_cast<off_t>(write.offset)), 0);
    } else {
      std::uint64_t done = 0;
      while (done < write.length) {
        const std::uint64_t at = write.offset + done;
        const std::uint64_t part = std::min(write.length - done, 512 - at % 512);
        ASSERT_EQ(::pwrite(fd, write.bytes.data() + done, part, static_cast<off_t>(at)),
                  static_cast<ssize_t>(part));
        done += part;
        if (done < write.length) reader.look(right, true, counts);
      }
    }
    reader.look(right, false, counts);
    if (++number % 16 == 0) {
      if (auto tree = open_tree(copy))
        Reader(std::move(tree)).look(right, false, fresh);
      else
        ++fresh.errors_whole;
    }
  }
  ::close(fd);
  EXPECT_EQ(counts.wrong + fresh.wrong, 0U);
  EXPECT_EQ(counts.lost, 0U) << "frames that were there and then not";
  EXPECT_EQ(counts.errors_whole, 0U) << counts.first_error;
  EXPECT_EQ(fresh.errors_whole, 0U) << fresh.first_error;
  EXPECT_EQ(reader.complete(), frames);
  const auto state = reader.state();
  EXPECT_TRUE(state && *state == std::to_string(frames)) << (state ? *state : state.error().text());
  std::cout << index << ' ' << filter << ": writes " << writes.size() << ", states "
            << counts.states + fresh.states << " (torn " << counts.torn << "), errors in torn states "
            << counts.errors_torn << ", in whole ones " << counts.errors_whole + fresh.errors_whole
            << ", wrong bytes " << counts.wrong + fresh.wrong << '\n';
  std::filesystem::remove_all(directory);
}

INSTANTIATE_TEST_SUITE_P(Indexes, Replay,
                         ::testing::Values(std::pair("ea", "none"), std::pair("ea", "deflate"),
                                           std::pair("bt2", "none"), std::pair("bt2", "deflate"),
                                           std::pair("fa", "none"), std::pair("fa", "deflate")));

}  // namespace
}  // namespace h5mount::test
