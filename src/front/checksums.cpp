#include "h5mount/front/checksums.h"

#include <algorithm>
#include <deque>
#include <future>
#include <unordered_map>

#include "file_reader.h"
#include "h5mount/base/job_queue.h"
#include "h5mount/base/limits.h"
#include "h5mount/sign/sha256.h"
#include "tree_walk.h"

namespace h5mount::front {
namespace {

using Digest = Result<std::string>;  // hexadecimal

// A name that contains a backslash or a line end is escaped, and the line then begins with a backslash.
std::string line_of(const std::string& digest, const std::string& path) {
  std::string name;
  for (const char c : path) {
    if (c == '\\')
      name += "\\\\";
    else if (c == '\n')
      name += "\\n";
    else if (c == '\r')
      name += "\\r";
    else
      name += c;
  }
  return (name.size() > path.size() ? "\\" : "") + digest + "  " + name + "\n";
}

class Checksums final : public Visitor {
 public:
  Checksums(const Context& context, const ChecksumOptions& options)
      : context_(context),
        options_(options),
        jobs_({.name = "h5-checksum", .threads = std::max(options.threads, 1U), .limit = kMaxPending}) {}

  Result<bool> visit(FoundNode& found) override {
    if (options_.stop != nullptr && options_.stop->load())
      return fail(Error(ErrorCode::Interrupted, "interrupted"));
    if (found.stat.type != tree::NodeType::File || !is_dataset(found)) return true;
    const bool linked = found.stat.nlink > 1;
    if (const auto known = linked_.find(found.stat.ino); linked && known != linked_.end()) {
      lines_.push_back({std::move(found.path), known->second});
    } else {
      auto promise = std::make_shared<std::promise<Digest>>();
      lines_.push_back({found.path, promise->get_future().share()});
      if (linked && linked_.size() < limits::kMaxWalkedObjects)
        linked_.emplace(found.stat.ino, lines_.back().digest);
      jobs_.submit([this, promise, node = std::make_shared<NodeReference>(std::move(found.node))] {
        promise->set_value(digest_of(*node));
      });
    }
    if (lines_.size() >= kMaxPending) H5_TRY(write_first());
    return true;
  }

  Status finish() {
    while (!lines_.empty()) H5_TRY(write_first());
    return context_.out.flush();
  }

 private:
  static constexpr std::size_t kMaxPending = 256;
  struct Line {
    std::string path;
    std::shared_future<Digest> digest;
  };

  bool is_dataset(const FoundNode& found) const {
    const auto kind = context_.tree->get_xattr(found.node.id(), "user.hdf5.kind");
    return kind && *kind == "dataset";
  }

  Digest digest_of(const NodeReference& node) {
    H5_ASSIGN(FileReader file, FileReader::open(context_.tree, node.id()));
    return file.sha256([this](std::uint64_t bytes) -> Status {
      if (options_.stop != nullptr && options_.stop->load())
        return fail(Error(ErrorCode::Interrupted, "interrupted"));
      bytes_.fetch_add(bytes, std::memory_order_relaxed);
      return {};
    });
  }

  Status write_first() {
    const Line line = std::move(lines_.front());
    lines_.pop_front();
    const Digest& digest = line.digest.get();
    if (options_.progress) options_.progress(bytes_.load(std::memory_order_relaxed));
    if (!digest) {
      context_.failed(line.path, digest.error());
      return {};
    }
    return context_.out.add(line_of(*digest, options_.prefix + line.path));
  }

  const Context& context_;
  const ChecksumOptions& options_;
  std::deque<Line> lines_;  // not written yet, in the order of the tree
  std::unordered_map<std::uint64_t, std::shared_future<Digest>> linked_;  // by inode number
  std::atomic<std::uint64_t> bytes_{0};
  JobQueue jobs_;  // last: its threads end before the rest
};

}  // namespace

Status write_checksums(const Context& context, const ChecksumOptions& options) {
  if (!sign::has_sha256())
    return fail(Error(ErrorCode::UnsupportedFeature, "this h5mount has no libcrypto, which checksums need"));
  Checksums checksums(context, options);
  H5_TRY(walk_paths(context.tree, {}, checksums, context.failed));
  return checksums.finish();
}

}  // namespace h5mount::front
