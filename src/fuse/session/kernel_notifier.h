// KernelNotifier: invalidates the kernel's stale pages and names, from a thread of its own, and stores pages
// in its cache, from the calling thread. Both wait for running reads of the same pages, so a thread that
// answers requests must not invalidate: it queues an order.
#pragma once

#include <fuse_lowlevel.h>

#include <atomic>
#include <functional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "h5mount/base/job_queue.h"
#include "h5mount/tree/tree.h"

namespace h5mount::fuse {

class KernelNotifier final : public tree::KernelPages {
 public:
  explicit KernelNotifier(fuse_session* session);
  ~KernelNotifier() override;  // drops what is still queued

  void invalidate(tree::NodeId node, const std::vector<dataset::ByteRange>& ranges,
                  std::function<void()> done) override;
  void invalidate_name(tree::NodeId directory, const std::string& name) override;
  bool store(tree::NodeId node, std::uint64_t offset, const dataset::Pieces& pieces) override;

  // To be called before the session's descriptor is closed: afterwards nothing is written to the kernel.
  // Waits for running writes, so requests must still be answered, or the connection must be dead.
  void stop();
  // The same without waiting: another thread calls `then` after the last write.
  void stop(std::function<void()> then);

 private:
  void invalidate_range(tree::NodeId node, const dataset::ByteRange& range) const;
  void end_stores();

  fuse_session* const session_;
  std::atomic<bool> refusing_ = false;  // pages to be stored
  std::shared_mutex storing_;           // held (shared) while pages are stored
  // The queue is not bounded: an order must not be dropped, and the thread that queues it must not wait for
  // the reads that the order waits for. There are only a few orders for each node that changes.
  JobQueue orders_{{.name = "h5-notify", .limit = JobQueue::kUnlimited}};
};

}  // namespace h5mount::fuse
