// /.h5/log and /.h5/status: the mount's own messages and counters. Both change continuously, so every read is
// a request.
//
// The log is one growing text whose oldest lines are dropped (base/log.h). An open file of it begins with the
// line that was the oldest when its first byte was read; a reader that continues gets the lines added since
// (`tail -f`).
#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <memory>
#include <utility>

#include "../core/open_files.h"
#include "h5mount/base/log.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/view/view.h"
#include "virtual_directories.h"

namespace h5mount::tree {

namespace {

constexpr std::uint64_t kMaxReadBytes = 1U << 20;

class OpenLog : public OpenWithoutHoles {
 public:
  bool keeps_pages() const override { return false; }
  bool direct() const override { return true; }
  Status read(std::uint64_t offset, std::uint64_t length, dataset::Pieces& out, RequestBudget&) override {
    if (offset == 0) begin_ = kept_log().begin;
    const std::uint64_t begin = begin_;
    if (offset > ~begin) return {};
    auto text = read_kept_log(begin + offset, static_cast<std::size_t>(std::min(length, kMaxReadBytes)));
    if (!text) return fail({ErrorCode::Stale, "lines of the log that were dropped meanwhile"});
    view::add_text(std::make_shared<const std::string>(*std::move(text)), 0, length, out);
    return {};
  }

 private:
  std::uint64_t size() const override { return kept_log().end - begin_; }

  std::atomic<std::uint64_t> begin_ = kept_log().begin;
};

class LogNode : public Node {
 public:
  explicit LogNode(MountContextPtr context) : Node(virtual_key("log")), context_(std::move(context)) {}

  bool lasts() const override { return false; }
  std::string_view media_type() const override { return kPlainText; }

  Result<NodeStat> stat(StatDepth, RequestBudget&) override {
    const KeptLog kept = kept_log();
    NodeStat stat = virtual_stat(*context_, NodeType::File, key().name);
    set_size(stat, kept.end - kept.begin);
    if (kept.last != 0) stat.mtime = kept.last, stat.mtime_nanoseconds = 0;
    stat.complete = false;
    return stat;
  }

  Result<std::shared_ptr<OpenNode>> open(RequestBudget&) override { return open_log(); }

 private:
  MountContextPtr context_;
};

struct StatusText {
  std::string text;
  std::time_t made = std::time(nullptr);
};
using StatusTextPtr = std::shared_ptr<const StatusText>;

class StatusNode : public Node {
 public:
  explicit StatusNode(MountContextPtr context) : Node(virtual_key("status")), context_(std::move(context)) {}

  bool lasts() const override { return false; }
  std::string_view media_type() const override { return kPlainText; }

  // While a handle has a text open, the size is that text's. Otherwise a text is made, which an opening that
  // follows soon will show: programs that ask for the size and then read as many bytes (tar) get one whole
  // text.
  Result<NodeStat> stat(StatDepth depth, RequestBudget&) override {
    StatusTextPtr status = opened();
    if (!status) {
      status = make();
      if (depth != StatDepth::Listing) measured(status);
    }
    NodeStat stat = virtual_stat(*context_, NodeType::File, key().name);
    set_size(stat, status->text.size());
    stat.mtime = status->made;
    stat.mtime_nanoseconds = 0;
    stat.complete = false;
    return stat;
  }

  Result<std::shared_ptr<OpenNode>> open(RequestBudget&) override {
    StatusTextPtr status = take_measured();
    if (!status) status = make();
    const MutexLock lock(mutex_);
    opened_ = status;
    return open_text(std::shared_ptr<const std::string>(status, &status->text), false);  // of this moment
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kSoon{1};

  StatusTextPtr make() const {
    return std::make_shared<const StatusText>(StatusText{.text = context_->options.status()});
  }
  StatusTextPtr opened() const {
    const MutexLock lock(mutex_);
    return opened_.lock();
  }
  void measured(const StatusTextPtr& status) {
    const MutexLock lock(mutex_);
    measured_ = status;
    measured_at_ = Clock::now();
  }
  StatusTextPtr take_measured() {
    const MutexLock lock(mutex_);
    StatusTextPtr status = std::exchange(measured_, nullptr);
    return Clock::now() - measured_at_ <= kSoon ? status : nullptr;
  }

  MountContextPtr context_;
  mutable Mutex mutex_;
  std::weak_ptr<const StatusText> opened_ H5_GUARDED_BY(mutex_);  // the text opened last
  StatusTextPtr measured_ H5_GUARDED_BY(mutex_);                  // by the last stat; null if that was opened
  Clock::time_point measured_at_ H5_GUARDED_BY(mutex_);
};

}  // namespace

std::shared_ptr<OpenNode> open_log() {
  return std::make_shared<OpenLog>();
}

NodePtr make_log_file(const VirtualDirectorySetup& setup) {
  return std::make_shared<LogNode>(setup.context);
}

NodePtr make_status_file(const VirtualDirectorySetup& setup) {
  return setup.context->options.status ? std::make_shared<StatusNode>(setup.context) : nullptr;
}

}  // namespace h5mount::tree
