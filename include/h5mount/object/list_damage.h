// ListDamage: the parts of a list of links or attributes that could not be read: the first error and the
// number of errors. Threads: one at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "h5mount/base/error.h"

namespace h5mount::object {

class ListDamage {
 public:
  void note(const Error& error) {
    if (count_++ == 0) first_ = error;
  }
  void note(const Status& status) {
    if (!status) note(status.error());
  }
  bool any() const { return count_ > 0; }

  // `missing` names what the list may lack, such as "links". Returns nullopt if no error was noted.
  std::optional<Error> error(const std::string& missing) const {
    if (!any()) return std::nullopt;
    const std::string more = count_ > 1 ? " and " + std::to_string(count_ - 1) + " more places" : "";
    return first_->within("the list of " + missing + ", which may lack some from there" + more);
  }

 private:
  std::optional<Error> first_;
  std::size_t count_ = 0;
};

}  // namespace h5mount::object
