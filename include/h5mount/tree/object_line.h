// Describes an object on one line for people, in the manner of h5ls, for /.h5/list.txt and other listings of
// objects. The line is made from the object's extended attributes alone. Threads: any.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "h5mount/base/error.h"

namespace h5mount::tree {

// The extended attributes of one object, by their names with `user.`.
struct XattrSource {
  std::function<Result<std::vector<std::string>>()> list;
  std::function<Result<std::string>(std::string_view name)> get;
};

// "Dataset {10, 20/Inf} <f4, chunked {5, 5}, shuffle, deflate", "Group"; for an object that cannot be read,
// the reason. Empty for a node that is not an object of a file.
std::string describe_object(const XattrSource& xattrs);

// One line for each attribute, "    @units = degC", with the value cut if the line would be too long, and one
// line that names the attributes that are too large to be shown.
std::string describe_attributes(const XattrSource& xattrs);

// "Link -> target"
std::string describe_symlink(std::string_view target);

// The line: a path or a name, with control characters escaped for terminals, and the description.
std::string object_line(std::string_view name, std::string_view description);

}  // namespace h5mount::tree
