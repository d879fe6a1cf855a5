// What the symlinks of the tree say: always relative, so that they resolve wherever the mount stands, and
// each in the directory where its link is shown. `depth`: directories between that directory and the root
// meant.
#pragma once

#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include "h5mount/tree/names.h"

namespace h5mount::tree {

// "../" `depth` times.
std::string way_up(unsigned depth);

// Where a symlink leads.
struct SymlinkPath {
  std::string above;  // as it stands in the text: "../" as often as needed, or the way to another file
  std::vector<std::string> names;  // own names from there on
};

// The text, each name as `encode` shows it.
std::string symlink_text(const SymlinkPath& path, std::string (*encode)(std::string_view) = encode_name);

// A soft link: relative to its group, or up to the file's root where its target is absolute.
SymlinkPath soft_link_path(std::string_view target, unsigned depth);

// An external link: into the directory of external files. `file_name` as that takes it, before encoding.
SymlinkPath external_link_path(std::string_view file_name, std::string_view target, unsigned depth_to_mount);

// A link of a class that the format leaves to its users: leads nowhere and names the class.
SymlinkPath user_defined_link_path(unsigned link_class, unsigned depth_to_mount);

// Another link to a group whose place is elsewhere.
template <std::ranges::range Names>
SymlinkPath canonical_path(const Names& names, unsigned depth) {
  return {way_up(depth), {std::ranges::begin(names), std::ranges::end(names)}};
}

}  // namespace h5mount::tree
