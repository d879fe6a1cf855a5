// An object on a line for people, in the manner of h5ls: what /.h5/list.txt has, and other listings of
// objects. All of it comes from the object's extended attributes, so that whoever has these can make the
// line. Threads: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "h5mount/base/error.h"

namespace h5mount::tree {

// The extended attributes of one object, by their names with `user.`.
class XattrSource {
 public:
  virtual ~XattrSource() = default;
  virtual Result<std::vector<std::string>> list() const = 0;
  virtual Result<std::string> get(std::string_view name) const = 0;
};

// "Dataset {10, 20/Inf} <f4, chunked {5, 5}, shuffle, deflate", "Group"; why it cannot be read, where it
// cannot. Empty for what is no object of a file.
std::string describe_object(const XattrSource& xattrs);

// A line for each attribute, "    @units = degC", values cut where a line would be too long; and one for
// those that are too large to be shown.
std::string describe_attributes(const XattrSource& xattrs);

// "Link -> target"
std::string describe_symlink(std::string_view target);

// The line: a path or a name, made harmless for terminals, and what it is.
std::string object_line(std::string_view name, std::string_view description);

}  // namespace h5mount::tree
