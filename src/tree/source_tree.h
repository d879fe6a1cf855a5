// SourceTree: the tree of one opened source, with the state that a replaceable tree needs to know of it.
#pragma once

#include "h5mount/tree/tree.h"

namespace h5mount::tree {

class SourceTree : public Tree {
 public:
  // `first_node`: only the root has an id below it, so that the ids of two trees are disjoint.
  static Result<std::shared_ptr<SourceTree>> make(const dataset::ReadEnvironment& environment,
                                                  const TreeOptions& options, NodeId first_node);

  enum class State : std::uint8_t {
    Current,     // the name leads to it, and it is unchanged
    Changing,    // it is being written, or its members are being replaced
    Superseded,  // another file has its name, or it was written and unchanged since for a second
  };
  // Checks the file system. One thread only.
  virtual State state() = 0;

  // Invalidates all that the kernel caches of the nodes.
  virtual void retire() = 0;
};

}  // namespace h5mount::tree
