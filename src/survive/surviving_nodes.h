// SurvivingNodes: the nodes that the kernel knows of a mount that survives its servers. Their ids are the
// mount's, not the tree's: the next server finds the same node under an id by the names that led to it.
//
// The next server accepts only what is possible: a name that may be looked up, a parent that is known. Lookup
// counts may be too high, by lookups that were counted for answers that nobody got; such a node is kept as
// long as the mount exists. Threads: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "h5mount/base/thread_annotations.h"
#include "surviving_memory.h"

namespace h5mount::survive {

class SurvivingNodes {
 public:
  // Takes over what an earlier server wrote.
  explicit SurvivingNodes(const SurvivingMemory& memory);

  struct Record {
    tree::NodeId parent = 0;
    std::string name;
    std::uint64_t ino = 0;
    std::int64_t mtime = 0;
    bool follows = false, others = false;
  };
  // References to a node of the tree, which the caller has to drop.
  struct Dropped {
    tree::NodeId node = 0;
    std::uint64_t count = 0;
  };

  // Counts a lookup of the tree's node `found`, for which the tree has counted one. Throws std::bad_alloc if
  // no more nodes can be kept.
  tree::NodeId adopt(const tree::Entry& found, tree::NodeId parent, std::string_view name);
  Dropped forget(tree::NodeId id, std::uint64_t count);
  // A forget that may have been counted already.
  Dropped forget_exactly(tree::NodeId id, std::uint64_t count);
  // To be called when the node is opened. `version`: that of the files its bytes come from; 0: not known.
  // `others`: the bytes may come from other files. Returns false if an earlier server has opened another
  // version.
  bool note_opened(tree::NodeId id, std::uint64_t version, bool others);

  // The tree's node for an id; nullopt if this server has not found it yet.
  std::optional<tree::NodeId> found(tree::NodeId id) const;
  std::optional<tree::NodeId> id_of(tree::NodeId found) const;
  // The record of an id; nullopt if the id is not known.
  std::optional<Record> record(tree::NodeId id) const;
  // Sets the tree's node of a record, for which the tree has counted a lookup. Returns false if the node was
  // found by another thread, or forgotten, meanwhile.
  bool resolve(tree::NodeId id, tree::NodeId found);
  std::vector<tree::NodeId> ids() const;

  // Whether the root, which no lookup leads to, is the one that was noted. True if none was noted yet.
  bool same_root(const tree::NodeStat& now, std::uint64_t version) const;
  void note_root(const tree::NodeStat& now, std::uint64_t version);
  void note_root_follows();
  bool root_follows() const { return memory_.header().root_follows != 0; }

 private:
  struct Local {
    tree::NodeId found = 0;  // 0: not yet
    std::uint64_t references = 0;
    tree::NodeId parent = 0;
    std::uint32_t lookups = 0, children = 0;
    bool opened = false;  // by this server
  };

  void take_over() H5_REQUIRES(mutex_);
  tree::NodeId place(tree::NodeId parent, std::string_view name, const tree::NodeStat& stat)
      H5_REQUIRES(mutex_);
  std::string name_of(const SharedNode& node) const;
  void free_place(std::uint32_t index) H5_REQUIRES(mutex_);
  Dropped drop(tree::NodeId id, std::uint64_t count) H5_REQUIRES(mutex_);
  void free_unused(tree::NodeId id) H5_REQUIRES(mutex_);

  const SurvivingMemory& memory_;
  mutable Mutex mutex_;
  std::unordered_map<tree::NodeId, Local> nodes_ H5_GUARDED_BY(mutex_);
  std::unordered_map<tree::NodeId, tree::NodeId> ids_ H5_GUARDED_BY(mutex_);  // by the tree's
  std::vector<std::uint32_t> free_nodes_ H5_GUARDED_BY(mutex_), free_tails_ H5_GUARDED_BY(mutex_);
};

}  // namespace h5mount::survive
