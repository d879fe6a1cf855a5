// The places of files on a new axis, and the epochs of their times: from names and attributes. Threads: any.
#pragma once

#include <memory>

#include "h5mount/join/card.h"

namespace h5mount::join {

class Labels {
 public:
  // `axis`: as parse_axis made it.
  explicit Labels(const Axis& axis);
  ~Labels();

  // Of a file with that path; nullopt: none is asked for, or the path has none.
  std::optional<Label> of_path(std::string_view path) const;
  // Of an attribute of one string or number; nullopt: none is asked for, or there is none. Errors are those
  // that are passing.
  Result<std::optional<Label>> of_attribute(const text::ValueContext& values) const;

 private:
  struct Parts;
  const std::unique_ptr<const Parts> parts_;
};

}  // namespace h5mount::join
