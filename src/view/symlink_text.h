// What the symlinks of the tree say: always relative, so that they resolve wherever the mount stands, and each in the
// directory where its link is shown. `depth`: directories between that directory and the root meant.
#pragma once

#include <ranges>
#include <string>
#include <string_view>

namespace h5mount {

// "../" `depth` times.
std::string way_up(unsigned depth);

// An HDF5 path's components ('/' separated; empty ones and '.' dropped) as shown, joined by '/'.
std::string shown_path(std::string_view hdf5_path);

// A soft link: relative to its group, or up to the file's root where its target is absolute.
std::string soft_link_text(std::string_view target, unsigned depth);

// An external link: into the room of external files. `file_name` as the room takes it, before encoding.
std::string external_link_text(std::string_view file_name, std::string_view target, unsigned depth_to_mount);

// A link of a class that the format leaves to its users: leads nowhere and names the class.
std::string user_defined_link_text(unsigned link_class, unsigned depth_to_mount);

// Another link to a group whose place is elsewhere.
template <std::ranges::range Names>
std::string place_text(const Names& names, unsigned depth);

void append_shown(std::string& out, std::string_view name);

template <std::ranges::range Names>
std::string place_text(const Names& names, unsigned depth) {
  std::string out = way_up(depth);
  for (const std::string_view name : names) append_shown(out, name);
  while (out.ends_with('/')) out.pop_back();
  return out.empty() ? "." : out;
}

}  // namespace h5mount
