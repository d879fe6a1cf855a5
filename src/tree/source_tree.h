// SourceTree: the tree of one opened source, and what a tree that may be replaced by the next one's asks of
// it.
#pragma once

#include "h5mount/tree/tree.h"

namespace h5mount::tree {

class SourceTree : public Tree {
 public:
  // `first_node`: below it no node but the root has its id, so that ids of two trees do not meet.
  static Result<std::shared_ptr<SourceTree>> make(const dataset::ReadEnvironment& environment,
                                                  const TreeOptions& options, NodeId first_node);

  enum class State : std::uint8_t {
    Current,     // the name leads to it, and it is what it was
    Changing,    // it is being written, or its members are being replaced
    Superseded,  // another file has its name, or it was written and nobody wrote for a second
  };
  // Asks the file system. One thread only.
  virtual State state() = 0;

  // Has the kernel drop all it keeps of the nodes.
  virtual void retire() = 0;
};

}  // namespace h5mount::tree
