// The nodes of a file's own tree: groups, datasets, committed datatypes, symlinks, and objects that cannot be
// opened.
#pragma once

#include "../core/node.h"
#include "group_contents.h"

namespace h5mount::tree {

// The directory of a file's root group. `hidden`: /.h5, for the mounted file only, else null.
NodePtr make_root_node(ServedFilePtr file, NodePtr hidden);

// The key of a node that is a link rather than an object. Its name starts with '/', which no object's does.
NodeKey link_key(const GroupContents& parent, const format::Link& link);

// A link's object that could not be opened: a file of mode 0 whose reads and attributes report why.
NodePtr make_broken_node(NodeKey key, const GroupContents& parent, const format::Link& link, Error why);

// A symlink; the key's address is that of its group.
NodePtr make_symlink_node(NodeKey key, ServedFilePtr file, std::string text);

// FileObject of one object of a served file.
Result<std::shared_ptr<const FileObject>> open_file_object(const ServedFilePtr& file, std::uint64_t address,
                                                           RequestBudget& budget);

}  // namespace h5mount::tree
