#include "group_column.h"

#include <fmt/format.h>

namespace h5mount::tree {

std::string TableNotes::text(Which which) const {
  constexpr std::size_t kMostBytes = 4096;
  std::string out;
  std::size_t more = 0;
  for (const LeftOut& one : left_out) {
    if (which == Which::Expected && !one.expected) continue;
    if (out.size() > kMostBytes)
      ++more;
    else
      out += fmt::format("{}{} ({})", out.empty() ? "" : ", ", one.name, one.why);
  }
  if (more > 0) out += fmt::format(" and {} more", more);
  return out;
}

bool ToldTables::add(std::uint64_t address) {
  const MutexLock lock(mutex_);
  return told_.size() < kMost && told_.insert(address).second;
}

}  // namespace h5mount::tree
