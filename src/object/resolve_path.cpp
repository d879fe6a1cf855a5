#include <vector>

#include "h5mount/base/limits.h"
#include "h5mount/object/object.h"

namespace h5mount::object {

namespace {

constexpr std::size_t kMaxSoftLinks = 16;  // libhdf5's default

// Appends the components of `path` to `rest` in reverse, so that the next one is popped from the back.
void push_components(std::string_view path, std::vector<std::string>& rest) {
  while (!path.empty()) {
    const std::size_t slash = path.rfind('/');
    const std::string_view last = slash == std::string_view::npos ? path : path.substr(slash + 1);
    if (!last.empty() && last != ".") rest.emplace_back(last);
    path = slash == std::string_view::npos ? std::string_view{} : path.substr(0, slash);
  }
}

Result<format::Link> find_in(const metadata::FileMetadataPtr& file, std::uint64_t address,
                             std::string_view name) {
  H5_ASSIGN(const Object object, open_object(*file, address));
  if (object.kind != ObjectKind::Group)
    return fail(Error(ErrorCode::NotFound, "'" + std::string(name) + "' is sought in what is no group"));
  H5_ASSIGN(const std::unique_ptr<Group> group, Group::open(file, object));
  return group->find(name);
}

bool absolute(std::string_view path) {
  return path.starts_with('/');
}

}  // namespace

// Terminates: at most kMaxSoftLinks targets are substituted, and every other step removes a component.
Result<std::uint64_t> resolve_path(const metadata::FileMetadataPtr& file, std::uint64_t start,
                                   std::string_view path) {
  std::vector<std::string> rest;
  push_components(path, rest);
  std::uint64_t at = absolute(path) ? file->root_address() : start;
  std::size_t followed = 0;
  while (!rest.empty()) {
    const std::string name = std::move(rest.back());
    rest.pop_back();
    H5_ASSIGN(const format::Link link, find_in(file, at, name));
    if (link.is(format::LinkType::Hard)) {
      at = link.address;
    } else if (!link.is(format::LinkType::Soft)) {
      return fail(Error(ErrorCode::UnsupportedFeature, "'" + name + "' leads out of the file"));
    } else {
      if (++followed > kMaxSoftLinks)
        return fail(Error(ErrorCode::LimitExceeded, "too many soft links on the way, at '" + name + "'"));
      push_components(link.target, rest);
      if (absolute(link.target)) at = file->root_address();
    }
  }
  return at;
}

}  // namespace h5mount::object
