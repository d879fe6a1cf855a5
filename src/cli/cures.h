// What a user can do about an error of an object, if there is something that the error itself does not say.
#pragma once

#include <set>
#include <string_view>

#include "h5mount/base/error.h"
#include "salvage_files.h"

namespace h5mount::cli {

// A clause that is appended to the error. Empty if nothing helps, or if the remedy is told elsewhere: names
// similar to one that is missing (path_hint.h). `salvage`: the option as it is; what it does already is no
// remedy.
std::string_view cure_of(const Error& error, SalvageMode salvage = SalvageMode::Off);

// `shown`, which says what `error` means for opening a file, with the option salvage named if it could help.
Error with_salvage_named(const Error& error, const Error& shown, SalvageMode salvage);

// The cures of many errors, each returned once. Threads: one.
class Cures {
 public:
  explicit Cures(SalvageMode salvage = SalvageMode::Off) : salvage_(salvage) {}
  // Empty if the cure was already returned for an earlier error.
  std::string_view next(const Error& error);

 private:
  SalvageMode salvage_;
  std::set<std::string_view> told_;
};

}  // namespace h5mount::cli
