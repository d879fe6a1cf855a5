#include "symlink_text.h"

#include <fmt/format.h>

#include <utility>

#include "h5mount/base/text.h"

namespace h5mount::tree {

namespace {

void append_name(std::string& out, std::string_view name, std::string (*encode)(std::string_view)) {
  if (!out.empty() && !out.ends_with('/')) out += '/';
  out += encode(name);
}

}  // namespace

std::string_view next_name(std::string_view& path) {
  while (!path.empty()) {
    const std::string_view name = take_until(path, '/');
    if (!name.empty() && name != ".") return name;
  }
  return {};
}

std::string path_up(unsigned depth) {
  std::string out;
  out.reserve(std::size_t{depth} * 3);
  for (unsigned i = 0; i < depth; ++i) out += "../";
  return out;
}

std::string symlink_text(const SymlinkPath& path, std::string (*encode)(std::string_view)) {
  std::string out = path.above;
  for (const std::string& name : path.names) append_name(out, name, encode);
  std::string_view rest = path.path;
  for (std::string_view name = next_name(rest); !name.empty(); name = next_name(rest))
    append_name(out, name, encode);
  while (out.ends_with('/')) out.pop_back();
  return out.empty() ? "." : out;
}

bool has_names(const SymlinkPath& path) {
  std::string_view rest = path.path;
  return !path.names.empty() || !next_name(rest).empty();
}

std::string take_last_name(SymlinkPath& path) {
  while (!path.path.empty()) {
    const std::size_t slash = path.path.rfind('/');
    const std::size_t begin = slash == std::string::npos ? 0 : slash + 1;
    std::string name = path.path.substr(begin);
    path.path.resize(begin == 0 ? 0 : slash);
    if (!name.empty() && name != ".") return name;
  }
  if (path.names.empty()) return {};
  std::string name = std::move(path.names.back());
  path.names.pop_back();
  return name;
}

SymlinkPath soft_link_path(std::string_view target, unsigned depth) {
  return {.above = target.starts_with('/') ? path_up(depth) : std::string(), .path = std::string(target)};
}

SymlinkPath external_link_path(std::string_view file_name, std::string_view target, unsigned depth_to_mount) {
  return {
      .above = fmt::format("{}{}/external/{}/", path_up(depth_to_mount), kHiddenName, encode_name(file_name)),
      .path = std::string(target)};
}

SymlinkPath user_defined_link_path(unsigned link_class, unsigned depth_to_mount) {
  return {.above = fmt::format("{}{}/link-class/{}", path_up(depth_to_mount), kHiddenName, link_class)};
}

}  // namespace h5mount::tree
