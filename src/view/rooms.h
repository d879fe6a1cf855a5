// The rooms under /.h5: views of the file beside its own tree, reachable but not listed.
//
// To add a view: one file in src/view/ with its node classes and a make_*_room function declared here, one line in
// the table (rooms.cpp), one line of docs/promise.md with the test that holds it.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "file_view.h"
#include "node.h"

namespace h5mount {

// What a room is made from.
struct RoomSetup {
  ViewContextPtr context;
  FileViewPtr main;
};

// /.h5 itself.
NodePtr make_hidden_root(const RoomSetup& setup);

// /.h5/attributes: a mirror of the tree in which every attribute is a text file, PATH@NAME.
NodePtr make_attributes_room(const RoomSetup& setup);

// /.h5/external: the files that external links lead to, opened when looked up; it lists those that links have
// named.
NodePtr make_external_room(const RoomSetup& setup);

// A directory of these files, whose roots `make_root` makes. `path` tells it from others.
NodePtr make_external_directory(ViewContextPtr context, std::string path,
                                std::function<NodePtr(FileViewPtr)> make_root);

// /.h5/sparse: the sparse datasets of the tree, each a directory of the lists that it holds.
NodePtr make_sparse_room(const RoomSetup& setup);

// /.h5/log and /.h5/status: the mount's own messages and counters. No status where nobody gives its text.
NodePtr make_log_file(const RoomSetup& setup);
NodePtr make_status_file(const RoomSetup& setup);

// A directory of known names. `path` tells it from others.
NodePtr make_fixed_directory(ViewContextPtr context, std::string path,
                             std::vector<std::pair<std::string, NodePtr>> children);

// The key and inode number of a room's own nodes.
NodeKey room_key(std::string path);
std::uint64_t room_ino(std::string_view path);

}  // namespace h5mount
