// ForestFiles: the files of a forest: each is opened when it is needed, compared with its source when
// somebody looks at it or a change is reported, and dropped by age. Threads: any; no lock is held while a
// file is opened or looked at.
#pragma once

#include <memory>
#include <optional>

#include "h5mount/base/shared_slot.h"
#include "open_trees.h"
#include "sibling_files.h"

namespace h5mount::tree {

class ForestFiles {
 public:
  ForestFiles(const ForestOptions& options, PlaceTable& places)
      : options_(options), places_(places), trees_(options.most_trees) {}

  OpenTrees& trees() { return trees_; }
  std::shared_ptr<KernelPages> kernel() const { return kernel_.load(); }
  void set_kernel(const std::shared_ptr<KernelPages>& kernel);
  // See Tree::when_more_to_watch; for trees that open other files.
  void when_more_to_watch(const std::function<void()>& notify);

  // The file's tree. The error of opening it is kept until the file changes, or for a minute.
  Result<OpenTreePtr> open(NodeId id, const Place& place, RequestBudget& budget);
  OpenTreePtr opened(const Place& place);  // null: it is not open
  std::optional<Error> error_of(const Place& place) const;

  // The file was looked at: if it is not the one that its tree was made from, its name gets a new place.
  void compare(NodeId id, const Place& place, const ForestEntry& now);
  // The name belongs to another file, or to none.
  void take_name(NodeId id, const Place& place);
  // Drops the tree if nobody knows a node of it any more.
  void drop_unused(OpenTreePtr tree);
  // The same, called when something of the tree that was open is closed.
  void give_back(OpenTreePtr tree) {
    drop_unused(std::move(tree));
    drop_oldest();
  }

  // The answer of stat(2) about a place. `entry`: its present state. Opens nothing.
  NodeStat stat_of(const Place& place, const ForestEntry& entry) const;

 private:
  // The number from which the inode numbers of a place's nodes are made, and its own.
  static std::uint64_t ino_of(const Place& place, const ForestEntry& entry);
  Result<OpenTreePtr> make(NodeId id, const Place& place, OpenableFile& openable);
  Result<std::shared_ptr<SourceTree>> make_tree(NodeId id, const Place& place, std::uint64_t number,
                                                const ForestEntry& entry) const;
  OpenableFilePtr openable_of(NodeId id);
  void drop_oldest();

  const ForestOptions& options_;
  PlaceTable& places_;
  OpenTrees trees_;
  const std::shared_ptr<SiblingFiles> siblings_ = std::make_shared<SiblingFiles>();
  SharedSlot<KernelPages> kernel_;
  SharedSlot<const std::function<void()>> notify_;
};

}  // namespace h5mount::tree
