// SurvivingTree: a tree under the ids that the kernel knows, which outlive the process (surviving_nodes.h). A
// node that got its id from an earlier server is looked up by its names when it is used; if these lead to
// another object, or to a file that has changed meanwhile, the node is Stale. Threads: any.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "h5mount/base/thread_annotations.h"
#include "h5mount/tree/forwarding_tree.h"
#include "surviving_nodes.h"

namespace h5mount::survive {

class SurvivingTree final : public tree::ForwardingTree<tree::Tree> {
 public:
  // `inner`: null if the source can no longer be opened; every node is then Stale. `goes_on`: the kernel
  // caches what an earlier server told it. What has changed since, or may have, is invalidated once there is
  // a kernel to tell. Until that is done the size of a file that grows is told to nobody: the kernel would
  // show its old pages as the beginning of the longer file.
  SurvivingTree(std::shared_ptr<tree::Tree> inner, SurvivingNodes& nodes, bool goes_on);

  std::shared_ptr<void> pin() override { return inner_ ? inner_->pin() : nullptr; }
  bool reloads() const override { return inner_ && inner_->reloads(); }
  Result<tree::Entry> lookup(tree::NodeId parent, std::string_view name, RequestBudget& budget) override;
  void forget(tree::NodeId node, std::uint64_t count) override;
  Result<tree::NodeStat> stat(tree::NodeId node, tree::StatDepth depth, RequestBudget& budget) override;
  Result<tree::Entry> lookup_listed(tree::NodeId parent, const tree::DirectoryListing& listing,
                                    std::size_t position, tree::FilesRead& read,
                                    RequestBudget& budget) override;
  Result<std::shared_ptr<tree::OpenNode>> open(tree::NodeId node, RequestBudget& budget) override;
  void report(tree::NodeId node, const Error& error) override;
  void set_kernel(std::shared_ptr<tree::KernelPages> kernel) override;
  void file_changed() override;
  std::vector<std::string> watchable() const override {
    return inner_ ? inner_->watchable() : std::vector<std::string>{};
  }
  void when_more_to_watch(std::function<void()> notify) override {
    if (inner_) inner_->when_more_to_watch(std::move(notify));
  }
  FileStat statfs() const override { return inner_ ? inner_->statfs() : FileStat{}; }

 private:
  class Kernel;
  enum class Outdated { No, Pages, All };
  // How much of what the kernel caches of a node is outdated, and the node's time. The nodes of one file
  // share its time, except objects with times of their own.
  struct State {
    Outdated outdated = Outdated::No;
    std::int64_t mtime = 0;
  };

  Result<Target> target_of(tree::NodeId id, RequestBudget& budget) override;
  Result<Target> find_again(tree::NodeId id, RequestBudget& budget);
  Result<tree::Entry> look_up_again(tree::NodeId parent, const SurvivingNodes::Record& record,
                                    RequestBudget& budget);
  Status check_root(RequestBudget& budget);
  Status check_opened(tree::NodeId id, tree::NodeId found, RequestBudget& budget);
  void drop_outdated();
  State look_for_change(tree::NodeId id, std::unordered_map<tree::NodeId, State>& seen);
  State state_of(tree::NodeId id, const std::unordered_map<tree::NodeId, State>& seen);
  void await_dropped(const tree::NodeStat& stat);
  void note_dropped();
  tree::Entry adopted(const tree::Entry& found, tree::NodeId parent, std::string_view name);

  const std::shared_ptr<tree::Tree> inner_;
  SurvivingNodes& nodes_;
  std::atomic<bool> checked_ = false;  // whether it is known:
  std::atomic<bool> usable_ = false;   // the source is that of the earlier servers
  std::atomic<bool> stopping_ = false;
  Mutex mutex_;
  Condition dropped_;
  bool outdated_ H5_GUARDED_BY(mutex_);        // the kernel may have pages of an earlier server's
  std::shared_ptr<tree::KernelPages> kernel_;  // set before the first request
  const bool goes_on_;
  std::thread dropping_;
};

}  // namespace h5mount::survive
