#include "h5mount/tree/xattr_list.h"

#include <linux/limits.h>

namespace h5mount::tree {

namespace {

// The kernel refuses a whole list if one name is invalid.
bool is_fit(std::string_view name) {
  return name.starts_with("user.") && name.size() <= XATTR_NAME_MAX &&
         name.find('\0') == std::string_view::npos;
}

std::size_t bytes_in_list(std::string_view name) {
  return name.size() + 1;
}

}  // namespace

KernelXattrs kernel_xattrs(std::span<const std::string> names) {
  std::size_t bytes = 0;
  for (const std::string& name : names) bytes += is_fit(name) ? bytes_in_list(name) : 0;
  KernelXattrs out;
  const bool all = bytes <= XATTR_LIST_MAX;
  if (!all) out.list.append(kMoreAttributes).append(1, '\0');
  for (const std::string& name : names) {
    if (!is_fit(name)) continue;
    // Behind the first that is left out no other is listed: those that are there are a prefix of all.
    if (out.more > 0 || out.list.size() + bytes_in_list(name) > XATTR_LIST_MAX)
      ++out.more;
    else
      out.list.append(name).append(1, '\0');
  }
  return out;
}

}  // namespace h5mount::tree
