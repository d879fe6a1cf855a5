#include "h5mount/object/named_places.h"

#include <algorithm>
#include <optional>
#include <ranges>

#include "confined_open.h"
#include "h5mount/base/text.h"
#include "h5mount/object/file_set.h"

namespace h5mount::object {

namespace {

const RefusedTypes& refused_types() {
  static const RefusedTypes types = ExternalAccess().refused_types;
  return types;
}

// Whether a relative name stays below where it is resolved, as far as its text tells. On some systems a
// backslash separates, and a drive stands in front.
bool stays_below(std::string name) {
  std::ranges::replace(name, '\\', '/');
  if (name.starts_with('/') || (name.size() > 1 && name[1] == ':')) return false;
  int depth = 0;
  for (const std::string_view part : split(name, '/')) {
    if (part.empty() || part == ".") continue;
    depth += part == ".." ? -1 : 1;
    if (depth < 0) return false;
  }
  return true;
}

// The path below `root`, if that is how `path` begins.
std::optional<std::string> below(const std::string& root, const std::string& path) {
  const std::string begin = root.ends_with('/') ? root : root + '/';
  return path.starts_with(begin) ? std::optional(path.substr(begin.size())) : std::nullopt;
}

}  // namespace

bool NamedPlaces::is_url(std::string_view name) {
  const std::size_t colon = name.find("://");
  constexpr std::string_view kScheme = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.";
  return colon != std::string_view::npos && colon > 0 &&
         name.substr(0, colon).find_first_not_of(kScheme) == std::string_view::npos;
}

NamedPlaces::NamedPlaces(const OpenedFile& from) {
  for (const std::string& path : {from.directory, from.target_directory}) {
    if (!path.starts_with('/')) continue;
    if (UniqueFd fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)); fd)
      roots_.push_back({path, std::move(fd)});
    else
      unopened_ = true;
  }
}

bool NamedPlaces::is_beneath(const std::string& name) const {
  if (name == "." || name.empty()) return true;  // the file itself
  if (unopened_ || is_url(name) || name.find('\0') != std::string::npos) return false;
  const Place place = place_of(name);
  return place == Place::Nowhere ? stays_below(name) : place == Place::Beneath;
}

bool NamedPlaces::exists_beneath(const std::string& name) const {
  return place_of(name) == Place::Beneath;
}

NamedPlaces::Place NamedPlaces::place_of(const std::string& name) const {
  const bool absolute = name.starts_with('/');
  if (!absolute && !stays_below(name)) return Place::Outside;
  Place out = absolute ? Place::Outside : Place::Nowhere;
  for (const Root& root : roots_) {
    const auto relative = absolute ? below(root.path, name) : std::optional(name);
    if (!relative || !stays_below(*relative)) continue;
    const Place place = place_below(root, *relative);
    if (place == Place::Nowhere && absolute) return Place::Beneath;
    if (place != Place::Nowhere) return place;
  }
  return out;
}

NamedPlaces::Place NamedPlaces::place_below(const Root& root, const std::string& relative) const {
  const auto found = resolve_within(root.fd, relative, refused_types());
  if (found) return Place::Beneath;
  if (found.error().code() == ErrorCode::NotFound) return Place::Nowhere;
  // A directory of symbolic links leads into that of the file's own target.
  return roots_.size() > 1 ? place_elsewhere(root.path + '/' + relative) : Place::Outside;
}

NamedPlaces::Place NamedPlaces::place_elsewhere(const std::string& path) const {
  const auto target = resolve_path_anywhere(path, refused_types());
  if (!target) return Place::Outside;
  const std::string real = real_path_of(*target);
  for (const Root& root : roots_)
    if (const auto relative = below(root.path, real))
      if (resolve_within(root.fd, *relative, refused_types())) return Place::Beneath;
  return Place::Outside;
}

}  // namespace h5mount::object
