// What a user can do about an error of an object, where there is something and the error's own words do not
// say it.
#pragma once

#include <set>
#include <string_view>

#include "h5mount/base/error.h"

namespace h5mount::cli {

// A clause to stand behind the error; empty where nothing helps, or where others say what does: the option
// salvage of damaged structures (salvage_files.h), the names that are near of one that is missing
// (path_hint.h).
std::string_view cure_of(const Error& error);

// The cures of many errors, each told once. Threads: one.
class Cures {
 public:
  // Empty where the cure was told of an error before.
  std::string_view next(const Error& error);

 private:
  std::set<std::string_view> told_;
};

}  // namespace h5mount::cli
