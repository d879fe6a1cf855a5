// ForwardingTree: a tree that answers about its nodes as other trees do about theirs. `target_of` says which
// node of which tree a node stands for; what is not overridden is asked there. `Base`: Tree, or an interface
// derived from it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "h5mount/tree/tree.h"

namespace h5mount::tree {

template <class Base, class Inner = Tree>
class ForwardingTree : public Base {
 public:
  Result<Entry> lookup(NodeId parent, std::string_view name, RequestBudget& budget) override {
    return ask(parent, budget, [&](Inner& tree, NodeId node) { return tree.lookup(node, name, budget); });
  }
  Result<Entry> lookup_listed(NodeId parent, const DirectoryListing& listing, std::size_t position,
                              FilesRead& read, RequestBudget& budget) override {
    return ask(parent, budget, [&](Inner& tree, NodeId node) {
      return tree.lookup_listed(node, listing, position, read, budget);
    });
  }
  Result<NodeStat> stat(NodeId id, StatDepth depth, RequestBudget& budget) override {
    return ask(id, budget, [&](Inner& tree, NodeId node) { return tree.stat(node, depth, budget); });
  }
  Result<std::string> readlink(NodeId id) override {
    RequestBudget budget;
    return ask(id, budget, [](Inner& tree, NodeId node) { return tree.readlink(node); });
  }
  Result<std::shared_ptr<const DirectoryListing>> open_directory(NodeId id, RequestBudget& budget) override {
    return ask(id, budget, [&](Inner& tree, NodeId node) { return tree.open_directory(node, budget); });
  }
  Result<std::shared_ptr<OpenNode>> open(NodeId id, RequestBudget& budget) override {
    return ask(id, budget, [&](Inner& tree, NodeId node) { return tree.open(node, budget); });
  }
  Result<std::vector<std::string>> list_xattrs(NodeId id, RequestBudget& budget) override {
    return ask(id, budget, [&](Inner& tree, NodeId node) { return tree.list_xattrs(node, budget); });
  }
  Result<std::string> get_xattr(NodeId id, std::string_view name, RequestBudget& budget) override {
    return ask(id, budget, [&](Inner& tree, NodeId node) { return tree.get_xattr(node, name, budget); });
  }
  Result<std::vector<NodeSource>> sources_of(NodeId id, RequestBudget& budget) override {
    return ask(id, budget, [&](Inner& tree, NodeId node) { return tree.sources_of(node, budget); });
  }
  Result<std::optional<FileOfNode>> file_of(NodeId id, RequestBudget& budget) override {
    return ask(id, budget, [&](Inner& tree, NodeId node) { return tree.file_of(node, budget); });
  }
  Result<std::shared_ptr<const FileObject>> root_object(NodeId id, RequestBudget& budget) override {
    return ask(id, budget, [&](Inner& tree, NodeId node) { return tree.root_object(node, budget); });
  }
  Result<std::shared_ptr<const FileObject>> object_of(NodeId id, RequestBudget& budget) override {
    return ask(id, budget, [&](Inner& tree, NodeId node) { return tree.object_of(node, budget); });
  }
  // The state of a node that stands for none now: it does not follow, does not last, and shows plain bytes.
  bool follows(NodeId id) override {
    const Target to = target_now(id);
    return to.tree && to.tree->follows(to.node);
  }
  bool lasts(NodeId id) override {
    const Target to = target_now(id);
    return to.tree && to.tree->lasts(to.node);
  }
  std::string_view media_type(NodeId id) override {
    const Target to = target_now(id);
    return to.tree ? to.tree->media_type(to.node) : kPlainBytes;
  }

 protected:
  using Base::Base;

  struct Target {
    std::shared_ptr<Inner> tree;
    NodeId node = 0;
  };
  // Fails where a request for the node is to fail.
  virtual Result<Target> target_of(NodeId id, RequestBudget& budget) = 0;

  Target target_now(NodeId id) {
    RequestBudget budget;
    return target_of(id, budget).value_or(Target{});
  }
  template <class Ask>
  auto ask(NodeId id, RequestBudget& budget, Ask&& question)
      -> decltype(question(std::declval<Inner&>(), id)) {
    H5_ASSIGN(const Target to, target_of(id, budget));
    return std::forward<Ask>(question)(*to.tree, to.node);
  }
};

}  // namespace h5mount::tree
