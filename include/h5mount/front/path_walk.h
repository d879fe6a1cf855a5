// PathWalk: resolves a path of the mounted tree to its node as the kernel does: symlinks are followed within
// the tree, `..` of the root is the root. Paths consist of names as the tree shows them (encoded); a leading
// `/` makes no difference. The caller holds the tree's pin. Threads: any.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "h5mount/tree/tree.h"

namespace h5mount::front {

// Owns one reference of a node that was looked up.
class NodeReference {
 public:
  NodeReference() = default;
  NodeReference(std::shared_ptr<tree::Tree> tree, tree::NodeId node) : tree_(std::move(tree)), node_(node) {}
  ~NodeReference() {
    if (tree_) tree_->forget(node_, 1);
  }
  NodeReference(NodeReference&& other) noexcept
      : tree_(std::move(other.tree_)), node_(std::exchange(other.node_, tree::kRootNode)) {}
  NodeReference& operator=(NodeReference&& other) noexcept {
    std::swap(tree_, other.tree_);
    std::swap(node_, other.node_);
    return *this;
  }
  NodeReference(const NodeReference&) = delete;
  NodeReference& operator=(const NodeReference&) = delete;

  tree::NodeId id() const { return node_; }

 private:
  std::shared_ptr<tree::Tree> tree_;
  tree::NodeId node_ = tree::kRootNode;
};

struct FoundNode {
  NodeReference node;
  tree::NodeStat stat;  // of depth Listing
  std::string path;  // without symlinks, `.` and `..`; names joined by `/`, no leading one; empty: the root
};

// Whether a symlink at the end of a path is followed. A symlink followed by `/` always is.
enum class LastLink { Follow, Keep };

// Fails with NotFound if a name is missing, a component is not a directory, or there are too many symlinks,
// and with the errors of lookups. A caller without a request's budget gets one of its own.
Result<FoundNode> find_path(const std::shared_ptr<tree::Tree>& tree, std::string_view path, LastLink last,
                            RequestBudget& budget = tree::OwnBudget());

// The path of `name` in `directory`.
std::string joined_path(std::string_view directory, std::string_view name);

}  // namespace h5mount::front
