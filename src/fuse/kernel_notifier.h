// KernelNotifier: tells the kernel what to drop, from a thread of its own. Dropping pages waits for reads of
// them that are under way, so a thread that answers requests must not do it: it queues, and waits for a
// moment at most.
#pragma once

#include <fuse_lowlevel.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "h5mount/view/tree.h"

namespace h5mount::fuse {

class KernelNotifier final : public KernelPages {
 public:
  explicit KernelNotifier(fuse_session* session);
  ~KernelNotifier() override;  // what is still queued is left
  KernelNotifier(const KernelNotifier&) = delete;
  KernelNotifier& operator=(const KernelNotifier&) = delete;

  Ticket forget(NodeId node, const std::vector<ByteRange>& ranges) override;
  bool wait(Ticket ticket) override;

 private:
  struct Order {
    NodeId node;
    ByteRange range;
  };
  void run();

  fuse_session* const session_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::deque<Order> orders_;
  Ticket queued_ = 0, finished_ = 0;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace h5mount::fuse
