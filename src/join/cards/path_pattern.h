// A regular expression that is searched in the paths of files. Immutable; threads: any.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "h5mount/base/error.h"

namespace h5mount::join {

class PathPattern {
 public:
  // Of ECMAScript's grammar without references to groups, with one group at least. Fails with InvalidValue,
  // and words for the user.
  static Result<PathPattern> make(std::string_view pattern);
  // What the first group matched; nullopt: nothing, or the path has more bytes than any should.
  std::optional<std::string> first_group(std::string_view path) const;

 private:
  struct Compiled;
  explicit PathPattern(std::shared_ptr<const Compiled> pattern) : pattern_(std::move(pattern)) {}
  std::shared_ptr<const Compiled> pattern_;
};

}  // namespace h5mount::join
