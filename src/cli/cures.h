// What a user can do about an error of an object, if there is something that the error itself does not say.
#pragma once

#include <set>
#include <string_view>

#include "h5mount/base/error.h"

namespace h5mount::cli {

// A clause that is appended to the error. Empty if nothing helps, or if the remedy is told elsewhere: the
// option salvage for damaged structures (salvage_files.h), and names similar to one that is missing
// (path_hint.h).
std::string_view cure_of(const Error& error);

// The cures of many errors, each returned once. Threads: one.
class Cures {
 public:
  // Empty if the cure was already returned for an earlier error.
  std::string_view next(const Error& error);

 private:
  std::set<std::string_view> told_;
};

}  // namespace h5mount::cli
