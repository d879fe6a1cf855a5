// The nodes of a file's own tree: groups, datasets, committed datatypes, symlinks, and what is broken.
#pragma once

#include "dataset_image.h"
#include "group_contents.h"
#include "node.h"

namespace h5mount {

// The directory of a file's root group. `room`: /.h5, for the mounted file only, else null.
NodePtr make_root_node(FileViewPtr file, NodePtr room);

// The key of a node that is a link rather than an object. The name begins with '/', so that it meets no object's.
NodeKey link_key(const GroupContents& parent, const Link& link, bool mirror);

// A symlink in the group `parent` (or in a view's mirror of it: then `mirror` keeps the two apart).
NodePtr make_symlink_node(const GroupContents& parent, const Link& link, std::string text, bool mirror);

// An object that could not be opened: a file that says why.
NodePtr make_broken_node(const GroupContents& parent, const Link& link, Error why, bool mirror);

}  // namespace h5mount
