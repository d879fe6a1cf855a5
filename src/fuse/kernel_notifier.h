// KernelNotifier: invalidates the kernel's stale pages and names, from a thread of its own, and stores pages
// in its cache, from the calling thread. Both wait for running reads of the same pages, so a thread that
// answers requests must not invalidate: it queues an order.
#pragma once

#include <fuse_lowlevel.h>

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "h5mount/base/thread_annotations.h"
#include "h5mount/tree/tree.h"

namespace h5mount::fuse {

class KernelNotifier final : public tree::KernelPages {
 public:
  explicit KernelNotifier(fuse_session* session);
  ~KernelNotifier() override;  // drops what is still queued
  KernelNotifier(const KernelNotifier&) = delete;
  KernelNotifier& operator=(const KernelNotifier&) = delete;

  void invalidate(tree::NodeId node, const std::vector<dataset::ByteRange>& ranges,
                  std::function<void()> done) override;
  void invalidate_name(tree::NodeId directory, const std::string& name) override;
  bool store(tree::NodeId node, std::uint64_t offset, const dataset::Pieces& pieces) override;

  // To be called before the session's descriptor is closed: afterwards nothing is written to the kernel.
  // Waits for running writes, so requests must still be answered, or the connection be dead. Further calls do
  // nothing.
  void stop();

 private:
  struct Order {
    tree::NodeId node;
    dataset::ByteRange range = {};
    std::string name = {};            // in the directory `node`, instead of the range; empty: none
    std::function<void()> done = {};  // null: nothing to call
  };
  void notify(const Order& order);
  void run();

  fuse_session* const session_;
  Mutex mutex_;
  Condition wake_;
  std::deque<Order> orders_ H5_GUARDED_BY(mutex_);
  bool stop_ H5_GUARDED_BY(mutex_) = false;
  std::atomic<bool> refusing_ = false;
  std::shared_mutex storing_;  // held (shared) while pages are stored
  std::once_flag stopped_;
  std::thread thread_;
};

}  // namespace h5mount::fuse
