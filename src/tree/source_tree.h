// SourceTree: the tree of one opened source, with the state that a replaceable tree needs to know of it.
#pragma once

#include "h5mount/tree/tree.h"
#include "objects/metadata_lines.h"

namespace h5mount::tree {

// The place of a source's tree among other trees: its ids and inode numbers differ from theirs.
struct SourcePlace {
  NodeId root = kRootNode;  // the root's id
  NodeId below = 0;         // all other ids are above
  std::uint64_t ino_seed =
      0;  // 0: the source is mounted by itself; its root's inode number is then kRootNode
};

class SourceTree : public Tree {
 public:
  // Like Tree::make.
  static Result<std::shared_ptr<SourceTree>> make(const dataset::ReadEnvironment& environment,
                                                  const TreeOptions& options, const SourcePlace& place);

  // A file's part of a catalogue (read_catalogue_rows), made without a tree of the file. Fails with Stale
  // if the file was written meanwhile.
  static Status read_rows(const dataset::ReadEnvironment& environment, const TreeOptions& options,
                          const TakeCatalogueRow& take, RequestBudget& budget, PassingFacts& facts);

  enum class State : std::uint8_t {
    Current,     // the name leads to it, and it is unchanged
    Changing,    // it is being written, or its members are being replaced
    Superseded,  // another file has its name, or it was written and unchanged since for a second
  };
  // Checks the file system. One thread only.
  virtual State state() = 0;

  // Whether every open file that this one names is still the file that its name leads to. Checks the file
  // system.
  virtual bool others_current() = 0;

  // How many nodes were looked up and not forgotten, not counting the root: a tree without known nodes that
  // nothing pins may be dropped.
  virtual std::size_t known_nodes() = 0;

  // Invalidates everything that the kernel caches of the nodes.
  virtual void retire() = 0;

  // The error of the object that a node shows, according to its headers and lists; nullopt for other
  // nodes.
  virtual std::optional<Error> damage(NodeId node, RequestBudget& budget) = 0;

 protected:
  using Tree::Tree;
};

// The tree of the files as they are.
Result<std::shared_ptr<SourceTree>> make_file_tree(const dataset::ReadEnvironment& environment,
                                                   const TreeOptions& options, const SourcePlace& place);
// The tree of files that are salvaged when something first needs it. SourceTree::make makes it, so that a
// file of a forest, a reloaded and a served one are salvaged like a single one.
Result<std::shared_ptr<SourceTree>> make_salvaging_tree(const dataset::ReadEnvironment& environment,
                                                        const TreeOptions& options, const SourcePlace& place);

}  // namespace h5mount::tree
