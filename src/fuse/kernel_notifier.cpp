#include "kernel_notifier.h"

#include "reply_pieces.h"

namespace h5mount::fuse {
KernelNotifier::KernelNotifier(fuse_session* session) : session_(session), thread_([this] { run(); }) {}

KernelNotifier::~KernelNotifier() {
  stop();
}

void KernelNotifier::stop() {
  std::call_once(stopped_, [this] {
    refusing_ = true;
    {
      const std::unique_lock no_store_under_way(storing_);
    }
    {
      const MutexLock lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    thread_.join();
  });
}

void KernelNotifier::invalidate(tree::NodeId node, const std::vector<dataset::ByteRange>& ranges,
                                std::function<void()> done) {
  const MutexLock lock(mutex_);
  if (stop_) return;
  for (const dataset::ByteRange& range : ranges) orders_.push_back({.node = node, .range = range});
  if (!ranges.empty()) orders_.back().done = std::move(done);
  wake_.notify_one();
}

void KernelNotifier::invalidate_name(tree::NodeId directory, const std::string& name) {
  const MutexLock lock(mutex_);
  if (stop_) return;
  orders_.push_back({.node = directory, .name = name});
  wake_.notify_one();
}

bool KernelNotifier::store(tree::NodeId node, std::uint64_t offset, const dataset::Pieces& pieces) {
  const std::shared_lock lock(storing_);
  if (refusing_ || pieces.total() == 0) return false;
  // libfuse would copy several pieces itself, and so read `kernel_only` pages.
  thread_local std::vector<std::byte> gathered;
  ByteSpan bytes = pieces.list().front().bytes;
  if (pieces.list().size() > 1) {
    if (!flatten(pieces, gathered)) return false;
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

// It is no error that the kernel does not know the node.
void KernelNotifier::notify(const Order& order) {
  if (!order.name.empty()) {
    (void)fuse_lowlevel_notify_inval_entry(session_, order.node, order.name.c_str(), order.name.size());
    return;
  }
  // A length of zero means everything from the offset on.
  const std::uint64_t length =
      order.range.end == format::kUnlimited ? 0 : order.range.end - order.range.begin;
  (void)fuse_lowlevel_notify_inval_inode(session_, order.node, static_cast<off_t>(order.range.begin),
                                         static_cast<off_t>(length));
}

void KernelNotifier::run() {
  MutexLock lock(mutex_);
  for (;;) {
    while (!stop_ && orders_.empty()) wake_.wait(lock);
    if (stop_) return;
    const Order order = std::move(orders_.front());
    orders_.pop_front();
    lock.unlock();
    notify(order);
    if (order.done) order.done();
    lock.lock();
  }
}

}  // namespace h5mount::fuse
