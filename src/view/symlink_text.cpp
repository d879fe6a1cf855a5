#include "symlink_text.h"

#include <fmt/format.h>

#include "h5mount/view/names.h"

namespace h5mount {

namespace {

std::string without_end_slash(std::string text) {
  while (text.ends_with('/')) text.pop_back();
  return text.empty() ? "." : text;
}

}  // namespace

std::string way_up(unsigned depth) {
  std::string out;
  out.reserve(std::size_t{depth} * 3);
  for (unsigned i = 0; i < depth; ++i) out += "../";
  return out;
}

void append_shown(std::string& out, std::string_view name) {
  if (!out.empty() && !out.ends_with('/')) out += '/';
  out += encode_name(name);
}

std::string shown_path(std::string_view hdf5_path) {
  std::string out;
  for (std::size_t begin = 0; begin < hdf5_path.size();) {
    const std::size_t end = std::min(hdf5_path.find('/', begin), hdf5_path.size());
    const std::string_view name = hdf5_path.substr(begin, end - begin);
    if (!name.empty() && name != ".") append_shown(out, name);
    begin = end + 1;
  }
  return out;
}

std::string soft_link_text(std::string_view target, unsigned depth) {
  const bool absolute = target.starts_with('/');
  return without_end_slash((absolute ? way_up(depth) : std::string()) + shown_path(target));
}

std::string external_link_text(std::string_view file_name, std::string_view target, unsigned depth_to_mount) {
  std::string out = way_up(depth_to_mount) + ".h5/external";
  append_shown(out, file_name);
  out += '/';
  out += shown_path(target);
  return without_end_slash(std::move(out));
}

std::string user_defined_link_text(unsigned link_class, unsigned depth_to_mount) {
  return fmt::format("{}.h5/link-class/{}", way_up(depth_to_mount), link_class);
}

}  // namespace h5mount
