#include "symlink_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace h5mount::tree {

namespace {

// The components of an HDF5 path: '/' separated, empty ones and '.' dropped.
std::vector<std::string> components(std::string_view path) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view name = path.substr(begin, end - begin);
    if (!name.empty() && name != ".") names.emplace_back(name);
    begin = end + 1;
  }
  return names;
}

}  // namespace

std::string path_up(unsigned depth) {
  std::string out;
  out.reserve(std::size_t{depth} * 3);
  for (unsigned i = 0; i < depth; ++i) out += "../";
  return out;
}

std::string symlink_text(const SymlinkPath& path, std::string (*encode)(std::string_view)) {
  std::string out = path.above;
  for (const std::string& name : path.names) {
    if (!out.empty() && !out.ends_with('/')) out += '/';
    out += encode(name);
  }
  while (out.ends_with('/')) out.pop_back();
  return out.empty() ? "." : out;
}

SymlinkPath soft_link_path(std::string_view target, unsigned depth) {
  return {target.starts_with('/') ? path_up(depth) : std::string(), components(target)};
}

SymlinkPath external_link_path(std::string_view file_name, std::string_view target, unsigned depth_to_mount) {
  return {path_up(depth_to_mount) + ".h5/external/" + encode_name(file_name) + "/", components(target)};
}

SymlinkPath user_defined_link_path(unsigned link_class, unsigned depth_to_mount) {
  return {fmt::format("{}.h5/link-class/{}", path_up(depth_to_mount), link_class), {}};
}

}  // namespace h5mount::tree
