#include "h5mount/tree/object_line.h"

#include <fmt/format.h>

#include "h5mount/base/advice.h"
#include "h5mount/base/log.h"
#include "h5mount/base/utf8.h"

namespace h5mount::tree {

namespace {

constexpr std::string_view kStructure = "user.hdf5.";
constexpr std::string_view kUser = "user.";
constexpr std::size_t kMaxShownBytes = 120;  // of a type or a value

std::string cut(std::string_view text) {
  std::string shown = escape_for_log(text);
  if (shown.size() <= kMaxShownBytes) return shown;
  return std::string(utf8_prefix(shown, kMaxShownBytes)) + "…";
}

// Returns an empty text if there is no such attribute.
std::string structure(const XattrSource& xattrs, std::string_view name) {
  return xattrs.get(std::string(kStructure).append(name)).value_or("");
}

// The elements of a JSON list of numbers.
std::vector<std::string_view> items(std::string_view list) {
  std::vector<std::string_view> out;
  if (list.size() < 3) return out;
  list = list.substr(1, list.size() - 2);
  for (;;) {
    const std::size_t comma = list.find(',');
    out.push_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return out;
    list.remove_prefix(comma + 1);
  }
}

// In the form of h5ls: {10, 20/Inf}, {SCALAR}, {NULL}.
std::string extent_text(const std::string& shape, const std::string& most) {
  if (shape == "null") return "{NULL}";
  if (shape == "[]") return "{SCALAR}";
  const std::vector<std::string_view> now = items(shape), later = items(most);
  std::string out;
  for (std::size_t i = 0; i < now.size(); ++i) {
    out += out.empty() ? "{" : ", ";
    out += now[i];
    if (i < later.size() && later[i] != now[i]) out.append("/").append(later[i] == "null" ? "Inf" : later[i]);
  }
  return out + '}';
}

// The names of `[{"id":1,"name":"deflate",…},…]`.
std::string filter_names(const std::string& filters) {
  constexpr std::string_view kKey = R"("name":")";
  std::string out;
  for (std::size_t at = filters.find(kKey); at != std::string::npos; at = filters.find(kKey, at)) {
    at += kKey.size();
    out += ", " + filters.substr(at, filters.find('"', at) - at);
  }
  return escape_for_log(out);
}

std::string describe_dataset(const XattrSource& xattrs) {
  std::string out = "Dataset";
  if (const std::string shape = structure(xattrs, "shape"); !shape.empty())
    out += ' ' + extent_text(shape, structure(xattrs, "maxshape"));
  if (const std::string dtype = structure(xattrs, "dtype"); !dtype.empty()) out += ' ' + cut(dtype);
  if (const std::string layout = structure(xattrs, "layout"); !layout.empty() && layout != "contiguous")
    out += ", " + layout;
  if (const std::string chunks = structure(xattrs, "chunks"); !chunks.empty())
    out += ' ' + extent_text(chunks, chunks);
  return out + filter_names(structure(xattrs, "filters"));
}

}  // namespace

std::string describe_object(const XattrSource& xattrs) {
  const std::string kind = structure(xattrs, "kind");
  std::string out = kind == "group"      ? "Group"
                    : kind == "datatype" ? "Type " + cut(structure(xattrs, "dtype"))
                    : kind == "dataset"  ? describe_dataset(xattrs)
                                         : std::string();
  if (const std::string salvage = structure(xattrs, "salvage"); !salvage.empty())
    out.append(", salvage: ").append(cut(salvage));
  const std::string error = structure(xattrs, "error");
  if (!error.empty()) out.append(out.empty() ? "" : ", ").append("error: ").append(escape_for_log(error));
  return out;
}

std::string describe_attributes(const XattrSource& xattrs) {
  const auto names = xattrs.list();
  if (!names) return "    attributes: " + escape_for_log(text_with_advice(names.error())) + "\n";
  std::string out;
  for (const std::string_view name : *names) {
    if (name.starts_with(kStructure) || !name.starts_with(kUser)) continue;
    const auto value = xattrs.get(name);
    out += fmt::format("    @{} = {}\n", escape_for_log(name.substr(kUser.size())),
                       cut(value ? *value : text_with_advice(value.error())));
  }
  if (const std::string large = structure(xattrs, "large_attributes"); !large.empty())
    out += "    large attributes: " + cut(large) + "\n";
  return out;
}

std::string describe_symlink(std::string_view target) {
  return "Link -> " + escape_for_log(target);
}

std::string object_line(std::string_view name, std::string_view description) {
  return fmt::format("{:<24} {}\n", escape_for_log(name), description);
}

}  // namespace h5mount::tree
