// Resolving paths on behalf of a request. A soft link of a few bytes can lead through thousands of groups,
// and those through further soft links. Threads: any.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "h5mount/base/request_budget.h"
#include "h5mount/object/object.h"

namespace h5mount::object {

// State that the paths resolved for one request share. One thread at a time.
struct PathWork {
  // An external link that a path leads through, and the path from its target on.
  struct Leaving {
    format::Link link;
    std::string rest;
  };

  RequestBudget& budget;  // charged for every name that is looked up
  // How many names may still be looked up; a further one fails with LimitExceeded.
  std::size_t names_left = std::numeric_limits<std::size_t>::max();
  // The groups that were met in one snapshot, by address. Their number is bounded.
  std::unordered_map<std::uint64_t, std::shared_ptr<const Group>> groups = {};
  metadata::FileMetadataPtr snapshot = nullptr;
  std::optional<Leaving> leaving = std::nullopt;  // of the path resolved last, which then failed
};

// Appends the components of `path` to `rest` in reverse, so that the next one is popped from the back. Empty
// ones and `.` are left out.
void push_components(std::string_view path, std::vector<std::string>& rest);

// Like resolve_path of object.h. Where the path leads out of the file, PathWork::leaving says how.
Result<std::uint64_t> resolve_path(const metadata::FileMetadataPtr& file, std::uint64_t start,
                                   std::string_view path, PathWork& work);

// Whether that failed because the path is invalid, or because of links that never end: nothing is damaged.
bool leads_nowhere(const Error& error);

}  // namespace h5mount::object
