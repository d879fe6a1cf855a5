// WalkAhead: what a walk over a far file's objects is about to read, asked for together.
//
// A walk goes down into each group before it goes on to the next, and would wait for each object in turn.
// This runs ahead of it: headers and links of many objects at once, and what else the walk reads of them, and
// of what is below them as far as a bound allows, a level a round. Of a file that is not far it does nothing.
// Threads: one.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_set>

#include "h5mount/ahead/prefetch.h"
#include "h5mount/base/request_budget.h"
#include "h5mount/metadata/file_metadata.h"

namespace h5mount::object {

class WalkAhead {
 public:
  // So many objects of a group are best told at once.
  static constexpr std::size_t kPage = 256;

  // `what` is asked for of each object: Links or what has these too.
  explicit WalkAhead(metadata::FileMetadataPtr file, ahead::Wanted what = ahead::Wanted::All);

  bool is_of_use() const { return far_; }
  // The headers at these addresses are visited next. What is done is charged to `budget`; if that is spent,
  // nothing more is asked for.
  void will_visit(std::span<const std::uint64_t> objects, RequestBudget& budget);

 private:
  const metadata::FileMetadataPtr file_;
  const ahead::Wanted what_;
  const bool far_;
  std::unordered_set<std::uint64_t> asked_;
};

}  // namespace h5mount::object
