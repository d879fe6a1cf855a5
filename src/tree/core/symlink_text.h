// The targets of the tree's symlinks: always relative, so that they resolve wherever the mount is, and valid
// in the directory where the link is shown. `depth`: the number of directories from the root in question down
// to that directory.
#pragma once

#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include "h5mount/tree/names.h"

namespace h5mount::tree {

// "../" `depth` times.
std::string path_up(unsigned depth);

// The target of a symlink: `path` below `names` below `above`.
struct SymlinkPath {
  std::string above;  // the start of the text: "../" as often as needed, or the path to another file
  std::vector<std::string> names = {};  // each may contain '/'
  std::string path = {};  // an HDF5 path: separated by '/', where empty names and "." mean nothing
};

// The next name of an HDF5 path, which is removed from it; empty at the end. A path of 1 MiB may have half a
// million names: no list of them is made.
std::string_view next_name(std::string_view& path);

bool has_names(const SymlinkPath& path);

// Removes the last name of all; returns an empty one if there is none.
std::string take_last_name(SymlinkPath& path);

// The text, with each name encoded by `encode`.
std::string symlink_text(const SymlinkPath& path, std::string (*encode)(std::string_view) = encode_name);

// A soft link: relative to its group or, if its target is absolute, up to the file's root.
SymlinkPath soft_link_path(std::string_view target, unsigned depth);

// An external link: into the directory of external files. `file_name`: as that directory uses it, before
// encoding.
SymlinkPath external_link_path(std::string_view file_name, std::string_view target, unsigned depth_to_mount);

// A link of a user-defined class: dangling, and its target names the class.
SymlinkPath user_defined_link_path(unsigned link_class, unsigned depth_to_mount);

// A further link to a group that is shown at another path.
template <std::ranges::range Names>
SymlinkPath canonical_path(const Names& names, unsigned depth) {
  return {.above = path_up(depth), .names = {std::ranges::begin(names), std::ranges::end(names)}};
}

}  // namespace h5mount::tree
