// KernelNotifier: tells the kernel what to drop, from a thread of its own, and gives it pages, from whatever
// thread has made them. Both wait for reads of these pages that are under way, so a thread that answers
// requests must not do it: it queues, and waits for a moment at most.
#pragma once

#include <fuse_lowlevel.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "h5mount/tree/tree.h"

namespace h5mount::fuse {

class KernelNotifier final : public tree::KernelPages {
 public:
  explicit KernelNotifier(fuse_session* session);
  ~KernelNotifier() override;  // what is still queued is left
  KernelNotifier(const KernelNotifier&) = delete;
  KernelNotifier& operator=(const KernelNotifier&) = delete;

  Ticket forget(tree::NodeId node, const std::vector<dataset::ByteRange>& ranges) override;
  Ticket forget_name(tree::NodeId directory, const std::string& name) override;
  bool wait(Ticket ticket) override;
  bool store(tree::NodeId node, std::uint64_t offset, const dataset::Pieces& pieces) override;

  // Before the descriptor of the session is closed: after it nothing is written to the kernel any more. Waits
  // for what is being written, so requests must still be answered, or the connection be dead. More than once
  // does nothing.
  void stop();

 private:
  struct Order {
    tree::NodeId node;
    dataset::ByteRange range;
    std::string name;  // in the node, instead of the range; empty: none
  };
  void run();

  fuse_session* const session_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::deque<Order> orders_;
  Ticket queued_ = 0, finished_ = 0;
  bool stop_ = false;
  std::atomic<bool> refusing_ = false;
  std::shared_mutex storing_;
  std::once_flag stopped_;
  std::thread thread_;
};

}  // namespace h5mount::fuse
