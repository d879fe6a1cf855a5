// KeptTree: a tree under the ids that the kernel knows, which outlive the process (kept_nodes.h). A node that
// got its id from an earlier server is looked up by its names when it is used; if these lead to another
// object, or to a file that has changed meanwhile, the node is Stale. Threads: any.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "h5mount/base/thread_annotations.h"
#include "h5mount/tree/tree.h"
#include "kept_nodes.h"

namespace h5mount::fuse {

class KeptTree final : public tree::Tree {
 public:
  // `inner`: null if the source can no longer be opened; every node is then Stale. `goes_on`: the kernel
  // caches what an earlier server told it; `drop_outdated` will be called.
  KeptTree(std::shared_ptr<tree::Tree> inner, KeptNodes& nodes, bool goes_on);

  // To be called while requests are served. Invalidates what the kernel caches of files that have changed
  // since, or may have. Until that is done the size of a file that grows is told to nobody: the kernel would
  // show its old pages as the beginning of the longer file.
  void drop_outdated();

  std::shared_ptr<void> pin() override;
  bool reloads() const override;
  Result<tree::Entry> lookup(tree::NodeId parent, std::string_view name, RequestBudget& budget) override;
  void forget(tree::NodeId node, std::uint64_t count) override;
  Result<tree::NodeStat> stat(tree::NodeId node, tree::StatDepth depth, RequestBudget& budget) override;
  Result<std::string> readlink(tree::NodeId node) override;
  Result<std::shared_ptr<const tree::DirectoryListing>> open_directory(tree::NodeId node,
                                                                       RequestBudget& budget) override;
  bool lasts(tree::NodeId node) override;
  Result<tree::Entry> lookup_listed(tree::NodeId parent, const tree::DirectoryListing& listing,
                                    std::size_t position, tree::FilesRead& read,
                                    RequestBudget& budget) override;
  Result<std::shared_ptr<tree::OpenNode>> open(tree::NodeId node, RequestBudget& budget) override;
  Result<std::vector<std::string>> list_xattrs(tree::NodeId node, RequestBudget& budget) override;
  Result<std::string> get_xattr(tree::NodeId node, std::string_view name, RequestBudget& budget) override;
  Result<std::vector<tree::NodeSource>> sources_of(tree::NodeId node, RequestBudget& budget) override;
  std::string_view media_type(tree::NodeId node) override;
  Result<std::optional<tree::FileOfNode>> file_of(tree::NodeId node, RequestBudget& budget) override;
  Result<std::shared_ptr<const tree::FileObject>> root_object(tree::NodeId node,
                                                              RequestBudget& budget) override;
  void report(tree::NodeId node, const Error& error) override;
  bool follows(tree::NodeId node) override;
  void set_kernel(std::shared_ptr<tree::KernelPages> kernel) override;
  void file_changed() override;
  std::vector<std::string> watchable() const override;
  void when_more_to_watch(std::function<void()> notify) override;
  FileStat statfs() const override;

 private:
  class Kernel;
  enum class Outdated { No, Pages, All };
  // How much of what the kernel caches of a node is outdated, and the node's time. The nodes of one file
  // share its time, except objects with times of their own.
  struct State {
    Outdated outdated = Outdated::No;
    std::int64_t mtime = 0;
  };

  Result<tree::NodeId> inner_id(tree::NodeId id, RequestBudget& budget);
  Result<tree::NodeId> find_again(tree::NodeId id, RequestBudget& budget);
  Result<tree::Entry> look_up_again(tree::NodeId parent, const KeptNodes::Record& record,
                                    RequestBudget& budget);
  Status check_root(RequestBudget& budget);
  Status check_opened(tree::NodeId id, tree::NodeId found, RequestBudget& budget);
  State look_for_change(tree::NodeId id, std::unordered_map<tree::NodeId, State>& seen);
  State state_of(tree::NodeId id, const std::unordered_map<tree::NodeId, State>& seen);
  void await_dropped(const tree::NodeStat& stat);
  void note_dropped();
  tree::Entry adopted(const tree::Entry& found, tree::NodeId parent, std::string_view name);

  const std::shared_ptr<tree::Tree> inner_;
  KeptNodes& nodes_;
  std::atomic<bool> checked_ = false;  // whether it is known:
  std::atomic<bool> usable_ = false;   // the source is that of the earlier servers
  std::atomic<bool> stopping_ = false;
  Mutex mutex_;
  Condition dropped_;
  bool outdated_ H5_GUARDED_BY(mutex_);        // the kernel may have pages of an earlier server's
  std::shared_ptr<tree::KernelPages> kernel_;  // set before the first request
};

}  // namespace h5mount::fuse
