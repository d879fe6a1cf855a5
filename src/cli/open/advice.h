// The advice that a command gives: that on errors of objects (h5mount/base/advice.h), and what helps only
// because the command ends with the error and can be run again.
#pragma once

#include <set>
#include <string_view>

#include "h5mount/base/advice.h"

namespace h5mount::cli {

// A clause that is appended to the error. Empty if nothing helps, or if the remedy is stated elsewhere: names
// similar to one that is missing.
std::string_view advice_for_command(const Error& error);

// `shown`, which says what `error` means for opening a file, with the option salvage named if it could help.
Error with_salvage_named(const Error& error, const Error& shown);

// The advice of many errors, each returned once. Threads: one.
class AdviceOnce {
 public:
  // Empty if the advice was already returned for an earlier error.
  std::string_view next(const Error& error);

 private:
  std::set<std::string_view> told_;
};

}  // namespace h5mount::cli
