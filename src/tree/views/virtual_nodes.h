// Nodes of virtual directories: what those under /.h5 have in common. Threads: any, as for nodes.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "../core/node.h"
#include "../core/served_file.h"

namespace h5mount::tree {

// The arguments of every virtual directory.
struct VirtualDirectorySetup {
  MountContextPtr context;
  ServedFilePtr main;
};

// A directory that is computed of the mounted file.
class DirectoryOfFile : public Node {
 public:
  bool follows() const override { return setup_.main->followed().following(); }
  bool lasts() const override { return !follows(); }
  Result<std::vector<NodeSource>> sources(RequestBudget& budget) override;
  Result<NodeStat> stat(StatDepth depth, RequestBudget& budget) override;

 protected:
  // `path`: below /.h5.
  DirectoryOfFile(const VirtualDirectorySetup& setup, std::string path);
  const VirtualDirectorySetup& setup() const { return setup_; }

 private:
  const VirtualDirectorySetup setup_;
};

// A directory of known names. `path` distinguishes it from others.
NodePtr make_fixed_directory(MountContextPtr context, std::string path,
                             std::vector<std::pair<std::string, NodePtr>> children);

// A directory of the files that external links lead to, whose roots `make_root` makes: these files are opened
// when they are looked up, and the directory lists those that links have named. `path` distinguishes it from
// others.
NodePtr make_external_directory(MountContextPtr context, std::string path,
                                std::function<NodePtr(ServedFilePtr)> make_root);

// The key of a virtual directory's own nodes, and what stat shows of them, without a size.
NodeKey virtual_key(std::string path);
NodeStat virtual_stat(const MountContext& context, NodeType type, std::string_view path);

}  // namespace h5mount::tree
