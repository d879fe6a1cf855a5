#include "whole_file.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <thread>
#include <unordered_set>

#include "h5mount/cache/worker_pool.h"

namespace h5mount::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kHidden = "/.h5";
constexpr std::size_t kLookUpEvery = 16;
constexpr std::uint64_t kReadTogetherEvery = 16;

// Shared by all walks of a process, as starting threads is slow.
std::shared_ptr<cache::WorkerPool> workers() {
  static const auto pool = std::make_shared<cache::WorkerPool>(2);
  return pool;
}

class Walk {
 public:
  Walk(tree::Tree& tree, const WalkBounds& bounds, WalkReport& report)
      : tree_(tree), bounds_(bounds), report_(report) {}

  void run() {
    visit({tree::kRootNode, "", {}});
    enter_hidden_directory();
    while (!waiting_.empty() && within_bounds()) {
      const Place next = std::move(waiting_.back());
      waiting_.pop_back();
      visit(next);
      tree_.forget(next.node, 1);
    }
    report_.complete = waiting_.empty() && within_bounds();
  }

 private:
  struct Place {
    tree::NodeId node;
    std::string path;
    std::vector<std::uint64_t> above;  // inode numbers of the directories above
  };

  bool within_bounds() const {
    return report_.nodes < bounds_.nodes && report_.bytes < bounds_.bytes &&
           std::chrono::duration<double>(Clock::now() - began_).count() < bounds_.seconds;
  }

  // Runs one operation; counts its error and records the time of the slowest.
  template <class Operation>
  auto timed(std::string_view name, const std::string& path, Operation&& operation) -> decltype(operation()) {
    const auto from = Clock::now();
    auto result = operation();
    const double seconds = std::chrono::duration<double>(Clock::now() - from).count();
    if (seconds > report_.slowest_seconds) {
      report_.slowest_seconds = seconds;
      report_.slowest = std::string(name) + " " + path;
    }
    if (!result) {
      ++report_.errors;
      if (result.error().code() == ErrorCode::Internal)
        violation("internal error: " + result.error().text(), path);
      if (result.error().text().empty()) violation("an error without words", path);
    }
    return result;
  }

  void violation(const std::string& what, const std::string& path) {
    report_.violations.push_back(path + ": " + what);
  }

  void enter_hidden_directory() {
    const auto hidden = tree_.lookup(tree::kRootNode, ".h5");
    if (hidden && hidden->stat.type == tree::NodeType::Directory)
      waiting_.push_back({hidden->node, std::string(kHidden), {}});
  }

  void visit(const Place& place) {
    ++report_.nodes;
    const auto stat =
        timed("stat", place.path, [&] { return tree_.stat(place.node, tree::StatDepth::Full); });
    xattrs(place);
    if (!stat) return;
    switch (stat->type) {
      case tree::NodeType::Directory:
        return directory(place, stat->ino);
      case tree::NodeType::Symlink:
        (void)timed("readlink", place.path, [&] { return tree_.readlink(place.node); });
        return;
      case tree::NodeType::File:
        return file(place);
    }
  }

  void xattrs(const Place& place) {
    const auto names = timed("list_xattrs", place.path, [&] { return tree_.list_xattrs(place.node); });
    (void)timed("get_xattr", place.path,
                [&] { return tree_.get_xattr(place.node, "user.a name that is not there"); });
    if (!names) return;
    for (const std::string& name : *names) {
      if (report_.xattrs % 8 == 0)
        (void)timed("get_xattr", place.path,
                    [&] { return tree_.get_xattr(place.node, name.substr(0, 200) + "-"); });
      if (++report_.xattrs % 64 == 0 && !within_bounds()) return;
      const auto value =
          timed("get_xattr " + name, place.path, [&] { return tree_.get_xattr(place.node, name); });
      if (name.size() > 255) violation("xattr name too long for Linux", place.path);
      if (value) report_.bytes += value->size() / 64;
    }
  }

  void directory(const Place& place, std::uint64_t ino) {
    if (std::ranges::find(place.above, ino) != place.above.end())
      return violation("a directory below itself: `find` would never end", place.path);
    const auto listing =
        timed("open_directory", place.path, [&] { return tree_.open_directory(place.node); });
    if (!listing) return;
    std::vector<std::uint64_t> above = place.above;
    above.push_back(ino);
    std::unordered_set<std::string> names;
    for (std::size_t i = 0; i < (*listing)->size() && within_bounds(); ++i) {
      const std::string name = (*listing)->name_at(i);
      check_name(place, name);
      if (!names.insert(name).second) violation("the same name twice", place.path);
      if (walked_by_others(place, i)) continue;
      // What will not be visited is looked up here and there.
      if (waiting_.size() < bounds_.nodes || i % kLookUpEvery == 0) enter(place, **listing, i, above);
    }
    look_up_absent(place, **listing);
    if (place.path.starts_with("/.h5/slice/") || place.path.starts_with("/.h5/fields/"))
      enter_unlisted(place, above);
  }

  bool walked_by_others(const Place& place, std::size_t position) const {
    return place.path == kHidden && position % bounds_.hidden_step != bounds_.first_hidden;
  }

  // Selections, and views of parts: any can be looked up, none is listed.
  void enter_unlisted(const Place& place, const std::vector<std::uint64_t>& above) {
    for (const char* name : {"1:", "::2", "...,-1", "-3:,::3.npy", "0:2.csv", ":,1:.tiff", "r.ndjson"}) {
      if (!within_bounds() || waiting_.size() >= bounds_.nodes) return;
      const std::string path = place.path + "/" + name;
      const auto entry = timed("lookup", path, [&] { return tree_.lookup(place.node, name); });
      if (entry) waiting_.push_back({entry->node, path, above});
    }
  }

  // Absent names, spread over the order of names and hashes: each takes another path through the group's
  // index.
  void look_up_absent(const Place& place, const tree::DirectoryListing& listing) {
    (void)timed("lookup", place.path, [&] { return tree_.lookup(place.node, "a name that is not there"); });
    const std::size_t step = std::max<std::size_t>(1, listing.size() / 32);
    for (std::size_t i = 0; i < listing.size() && within_bounds(); i += step) {
      const std::string name = listing.name_at(i).substr(0, 200) + "-";
      const auto found = timed("lookup", place.path, [&] { return tree_.lookup(place.node, name); });
      if (found) tree_.forget(found->node, 1);
    }
  }

  void check_name(const Place& place, std::string_view name) {
    const bool bad = name.empty() || name == "." || name == ".." || name.size() > 255 ||
                     name.find('/') != std::string_view::npos || name.find('\0') != std::string_view::npos;
    if (bad) violation("not a file name: '" + std::string(name) + "'", place.path);
  }

  // Looks up a listed name by name and by position; both must agree.
  void enter(const Place& place, const tree::DirectoryListing& listing, std::size_t position,
             const std::vector<std::uint64_t>& above) {
    const std::string path = place.path + "/" + listing.name_at(position);
    const auto entry =
        timed("lookup_listed", path, [&] { return tree_.lookup_listed(place.node, listing, position); });
    const auto again =
        timed("lookup", path, [&] { return tree_.lookup(place.node, listing.name_at(position)); });
    if (again) tree_.forget(again->node, 1);
    if (!entry) return;
    if (again && again->stat.ino != entry->stat.ino)
      ++report_.errors;  // two links with the same name, in a damaged group
    if (waiting_.size() < bounds_.nodes)
      waiting_.push_back({entry->node, path, above});
    else
      tree_.forget(entry->node, 1);
  }

  void file(const Place& place) {
    ++report_.files;
    const auto open = timed("open", place.path, [&] { return tree_.open(place.node); });
    if (!open) return;
    const auto stat =
        timed("stat", place.path, [&] { return tree_.stat(place.node, tree::StatDepth::Size); });
    const std::uint64_t size = stat ? stat->size : 0;
    const std::uint64_t half = bounds_.bytes_per_file / 2;
    read(place, **open, 0, half, size);
    if (size > half) read(place, **open, size - std::min(size, half), half, size);
    read(place, **open, size, 4096, size);
    std::uint64_t at = size * 0x9e3779b97f4a7c15ULL;
    for (int i = 0; size > 0 && i < 4; ++i, at = at * 6364136223846793005ULL + 1442695040888963407ULL)
      read(place, **open, at % size, 4096, size);
    seek(place, **open, size);
    read_in_order(place, size);
  }

  // Several readers read the file from its beginning, in requests small enough to trigger read-ahead: runs of
  // chunks are located and decoded by all workers. What one request reads has no read-ahead: of these files a
  // few are read by several at once, as threads cost more than all else.
  void read_in_order(const Place& place, std::uint64_t size) {
    constexpr std::uint64_t kRequest = 16U << 10;
    constexpr unsigned kReaders = 2;
    const std::uint64_t length = std::min(size, bounds_.bytes_per_file);
    if (length == 0 || !within_bounds()) return;
    if (length <= kRequest && report_.files % kReadTogetherEvery != 0) return;
    const auto read_all = [&] {
      const auto open = tree_.open(place.node);
      for (std::uint64_t at = 0; open && at < length; at += kRequest) {
        dataset::Pieces pieces;
        (void)(*open)->read(at, std::min(kRequest, length - at), pieces);
      }
    };
    const auto begin = Clock::now();
    std::vector<std::jthread> readers;
    for (unsigned i = 0; i < kReaders; ++i) readers.emplace_back(read_all);
    readers.clear();
    report_.slowest_seconds =
        std::max(report_.slowest_seconds, std::chrono::duration<double>(Clock::now() - begin).count());
    report_.bytes += kReaders * length;
  }

  // Reads in requests of FUSE's size. Every byte is accessed, so that a sanitizer checks its address.
  void read(const Place& place, tree::OpenNode& open, std::uint64_t offset, std::uint64_t length,
            std::uint64_t size) {
    constexpr std::uint64_t kRequest = 128U << 10;
    for (std::uint64_t done = 0; done < length && within_bounds(); done += kRequest) {
      const std::uint64_t want = std::min(kRequest, length - done);
      dataset::Pieces pieces;
      const auto got = timed("read", place.path, [&] { return open.read(offset + done, want, pieces); });
      if (!got) return;
      const std::uint64_t there = offset + done < size ? std::min(want, size - offset - done) : 0;
      if (pieces.total() != there) violation("a read gave other than its length", place.path);
      unsigned sum = 0;
      for (const dataset::Piece& piece : pieces.list())
        if (!piece.kernel_only())
          for (const std::byte byte : piece.bytes) sum += std::to_integer<unsigned>(byte);
      sum_ = sum;
      report_.bytes += pieces.total();
      if (there < want) return;
    }
  }

  void seek(const Place& place, tree::OpenNode& open, std::uint64_t size) {
    std::uint64_t at = 0;
    for (int step = 0; step < 16 && at < size && within_bounds(); ++step) {
      const auto data = timed("seek_data", place.path, [&] { return open.seek_data(at); });
      if (!data) return;
      if (*data < at || *data >= size) return violation("data outside the file", place.path);
      const auto hole = timed("seek_hole", place.path, [&] { return open.seek_hole(*data); });
      if (!hole) return;
      if (*hole <= *data || *hole > size) return violation("a hole that is not after its data", place.path);
      at = *hole;
    }
  }

  tree::Tree& tree_;
  const WalkBounds& bounds_;
  WalkReport& report_;
  std::vector<Place> waiting_;
  Clock::time_point began_ = Clock::now();
  volatile unsigned sum_ = 0;
};

}  // namespace

WalkReport walk_whole_file(std::shared_ptr<io::ByteSource> source, const WalkBounds& bounds) {
  WalkReport report;
  const auto began = Clock::now();
  auto files = object::FileSet::open(std::move(source), metadata::MetadataOptions{.force = true});
  if (!files) {
    ++report.errors;
    return report;
  }
  dataset::ReadEnvironment environment{std::make_shared<cache::BlockCache>(32U << 20), workers(),
                                       *std::move(files)};
  const auto tree = tree::Tree::make(environment, tree::TreeOptions{});
  report.slowest_seconds = std::chrono::duration<double>(Clock::now() - began).count();
  report.slowest = "open";
  if (!tree) {
    ++report.errors;
    return report;
  }
  report.opened = true;
  Walk(**tree, bounds, report).run();
  return report;
}

}  // namespace h5mount::test
