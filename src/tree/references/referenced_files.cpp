#include "referenced_files.h"

#include <algorithm>

#include "h5mount/base/uri.h"

namespace h5mount::tree {

namespace {

bool is_url(std::string_view name) {
  return name.contains("://");
}

std::string with_slash(std::string text) {
  if (!text.ends_with('/')) text += '/';
  return text;
}

}  // namespace

const ReferencedFile* ReferencedFiles::find(const io::ByteSource& file) {
  std::string name = file.name();
  const auto known = by_name_.find(name);
  if (known != by_name_.end()) return known->second;
  const auto url = url_of(name);
  if (!url) return nullptr;
  // A stamp is taken of what is open; that it is asked for changes nothing that others see.
  auto& state = const_cast<io::ByteSource&>(file).state();
  const auto stamp = state.stamp();
  files_.push_back({*url, file.size(), stamp ? std::max<std::int64_t>(stamp->modified, 0) : 0,
                    state.entity_tag(), *url != name});
  return by_name_.emplace(std::move(name), &files_.back()).first->second;
}

std::optional<std::string> ReferencedFiles::url_of(const std::string& name) const {
  if (options_.url.empty()) return name;
  const auto below = below_root(name);
  if (!below) return std::nullopt;
  return with_slash(options_.url) + (is_url(name) ? *below : encode_path(*below));
}

std::optional<std::string> ReferencedFiles::url_at_server(const std::string& path_in_store) const {
  std::string url = with_slash(options_.server);
  if (!options_.root.empty()) {  // a server of many files shows each at its path
    const auto below = below_root(mounted_);
    if (!below) return std::nullopt;
    url += encode_path(*below) + "/";
  }
  return url + ".h5/stored.zarr/" + encode_path(path_in_store);
}

// The path of a file from the directory that is the source; nullopt if it is elsewhere.
std::optional<std::string> ReferencedFiles::below_root(const std::string& name) const {
  const std::string& of = mounted_.empty() ? name : mounted_;
  const std::string root =
      options_.root.empty() ? of.substr(0, of.rfind('/') + 1) : with_slash(options_.root);
  // Names in a file may lead out of the directory.
  const std::string plain = name.starts_with('/') ? without_dot_segments(name) : name;
  return plain.starts_with(root) ? std::optional(plain.substr(root.size())) : std::nullopt;
}

bool shows_references(const MountContext& context) {
  const ReferenceOptions& options = context.options.references;
  return options.may_name_paths || !options.url.empty() ||
         is_url(context.mounted_file()->followed->source()->name());
}

}  // namespace h5mount::tree
