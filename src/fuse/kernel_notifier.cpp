#include "kernel_notifier.h"

#include <chrono>

#include "reply_pieces.h"

namespace h5mount::fuse {
namespace {

constexpr std::chrono::milliseconds kLongestWait{200};

}  // namespace

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
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    done_.notify_all();
    thread_.join();
  });
}

tree::KernelPages::Ticket KernelNotifier::forget(tree::NodeId node,
                                                 const std::vector<dataset::ByteRange>& ranges) {
  const std::lock_guard lock(mutex_);
  for (const dataset::ByteRange& range : ranges) orders_.push_back({node, range, {}});
  queued_ += ranges.size();
  wake_.notify_one();
  return queued_;
}

tree::KernelPages::Ticket KernelNotifier::forget_name(tree::NodeId directory, const std::string& name) {
  const std::lock_guard lock(mutex_);
  orders_.push_back({directory, {}, name});
  wake_.notify_one();
  return ++queued_;
}

bool KernelNotifier::wait(Ticket ticket) {
  std::unique_lock lock(mutex_);
  return done_.wait_for(lock, kLongestWait, [&] { return stop_ || finished_ >= ticket; }) &&
         finished_ >= ticket;
}

bool KernelNotifier::store(tree::NodeId node, std::uint64_t offset, const dataset::Pieces& pieces) {
  const std::shared_lock lock(storing_);
  if (refusing_ || pieces.total() == 0) return false;
  // libfuse would copy several pieces itself, and read what only the kernel may.
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

void KernelNotifier::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return stop_ || !orders_.empty(); });
    if (stop_) return;
    const Order order = orders_.front();
    orders_.pop_front();
    lock.unlock();
    // A length of zero is all that follows. That the kernel does not know the node (any more) is no error.
    const std::uint64_t length =
        order.range.end == format::kUnlimited ? 0 : order.range.end - order.range.begin;
    if (order.name.empty())
      (void)fuse_lowlevel_notify_inval_inode(session_, order.node, static_cast<off_t>(order.range.begin),
                                             static_cast<off_t>(length));
    else
      (void)fuse_lowlevel_notify_inval_entry(session_, order.node, order.name.c_str(), order.name.size());
    lock.lock();
    ++finished_;
    done_.notify_all();
  }
}

}  // namespace h5mount::fuse
