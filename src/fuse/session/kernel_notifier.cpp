#include "kernel_notifier.h"

#include <mutex>
#include <utility>

#include "../ops/reply_pieces.h"

namespace h5mount::fuse {

KernelNotifier::KernelNotifier(fuse_session* session) : session_(session) {}

KernelNotifier::~KernelNotifier() {
  stop();
}

void KernelNotifier::end_stores() {
  refusing_ = true;
  const std::unique_lock no_store_under_way(storing_);
}

void KernelNotifier::stop() {
  end_stores();
  orders_.stop();
}

void KernelNotifier::stop(std::function<void()> then) {
  orders_.stop_with([this, then = std::move(then)] {
    end_stores();
    then();
  });
}

void KernelNotifier::invalidate(tree::NodeId node, const std::vector<dataset::ByteRange>& ranges,
                                std::function<void()> done) {
  if (ranges.empty()) return;
  orders_.submit([this, node, ranges, done = std::move(done)] {
    for (const dataset::ByteRange& range : ranges) invalidate_range(node, range);
    if (done) done();
  });
}

// If the kernel does not know the node, that is not an error.
void KernelNotifier::invalidate_range(tree::NodeId node, const dataset::ByteRange& range) const {
  // A length of zero means everything from the offset on.
  const std::uint64_t length = range.end == format::kUnlimited ? 0 : range.end - range.begin;
  (void)fuse_lowlevel_notify_inval_inode(session_, node, static_cast<off_t>(range.begin),
                                         static_cast<off_t>(length));
}

void KernelNotifier::invalidate_name(tree::NodeId directory, const std::string& name) {
  orders_.submit([this, directory, name] {
    (void)fuse_lowlevel_notify_inval_entry(session_, directory, name.c_str(), name.size());
  });
}

bool KernelNotifier::store(tree::NodeId node, std::uint64_t offset, const dataset::Pieces& pieces) {
  const std::shared_lock lock(storing_);
  if (refusing_ || pieces.total() == 0) return false;
  // libfuse would copy several pieces itself, and so read `kernel_only` pages.
  thread_local std::vector<std::byte> gathered;
  ByteSpan bytes = pieces.list().front().bytes;
  if (pieces.list().size() > 1) {
    if (!flatten(pieces.list(), gathered)) return false;
    bytes = gathered;
  }
  fuse_bufvec buffer = {};
  buffer.count = 1;
  buffer.buf[0].size = bytes.size();
  buffer.buf[0].mem = const_cast<std::byte*>(bytes.data());
  buffer.buf[0].fd = -1;
  return fuse_lowlevel_notify_store(session_, node, static_cast<off_t>(offset), &buffer,
                                    fuse_buf_copy_flags{}) == 0;
}

}  // namespace h5mount::fuse
