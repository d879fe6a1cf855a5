#include "h5mount/object/resolve_path.h"

#include <vector>

namespace h5mount::object {

namespace {

constexpr std::size_t kMaxSoftLinks = 16;  // libhdf5's default

Result<format::Link> find_in(const metadata::FileMetadataPtr& file, std::uint64_t address,
                             std::string_view name, PathWork& work) {
  constexpr std::size_t kMaxGroups = 256;
  if (const auto known = work.groups.find(address); known != work.groups.end())
    return known->second->find(name);
  H5_ASSIGN(const Object object, open_object(*file, address));
  if (object.kind != ObjectKind::Group)
    return fail(Error(ErrorCode::NotFound, "'" + std::string(name) + "' is sought in what is no group"));
  H5_ASSIGN(std::unique_ptr<Group> opened, Group::open(file, object));
  const std::shared_ptr<const Group> group = std::move(opened);
  if (work.groups.size() == kMaxGroups) work.groups.clear();
  work.groups.emplace(address, group);
  return group->find(name);
}

// The opposite of push_components.
std::string path_of(const std::vector<std::string>& rest) {
  std::string out;
  for (auto name = rest.rbegin(); name != rest.rend(); ++name) out.append("/").append(*name);
  return out;
}

bool absolute(std::string_view path) {
  return path.starts_with('/');
}

}  // namespace

void push_components(std::string_view path, std::vector<std::string>& rest) {
  while (!path.empty()) {
    const std::size_t slash = path.rfind('/');
    const std::string_view last = slash == std::string_view::npos ? path : path.substr(slash + 1);
    if (!last.empty() && last != ".") rest.emplace_back(last);
    path = slash == std::string_view::npos ? std::string_view{} : path.substr(0, slash);
  }
}

// Terminates: at most kMaxSoftLinks targets are substituted, and every other step removes a component.
Result<std::uint64_t> resolve_path(const metadata::FileMetadataPtr& file, std::uint64_t start,
                                   std::string_view path, PathWork& work) {
  constexpr std::uint64_t kStepsPerName = 8000;  // its group is opened and searched
  if (work.snapshot != file) work.groups.clear();
  work.snapshot = file;
  work.leaving.reset();
  std::vector<std::string> rest;
  push_components(path, rest);
  std::uint64_t at = absolute(path) ? file->root_address() : start;
  std::size_t followed = 0;
  while (!rest.empty()) {
    const std::string name = std::move(rest.back());
    rest.pop_back();
    if (work.names_left == 0)
      return fail(Error(ErrorCode::LimitExceeded, "more names on the way than may be looked up"));
    --work.names_left;
    H5_TRY(work.budget.spend(kStepsPerName));
    H5_ASSIGN(const format::Link link, find_in(file, at, name, work));
    if (link.is(format::LinkType::Hard)) {
      at = link.address;
    } else if (!link.is(format::LinkType::Soft)) {
      if (link.is(format::LinkType::External)) work.leaving = {link, path_of(rest)};
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

Result<std::uint64_t> resolve_path(const metadata::FileMetadataPtr& file, std::uint64_t start,
                                   std::string_view path) {
  Unbounded budget;
  PathWork unbounded{.budget = budget};
  return resolve_path(file, start, path, unbounded);
}

bool leads_nowhere(const Error& error) {
  return error.code() == ErrorCode::NotFound || error.code() == ErrorCode::LimitExceeded;
}

}  // namespace h5mount::object
