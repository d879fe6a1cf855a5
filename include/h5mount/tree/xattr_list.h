// The extended attributes of a node as the kernel lists them: names of 64 KiB together. An object of a file
// may have more. Threads: any.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace h5mount::tree {

// Of a file's root: what its references hold, and what they leave out (JSON).
inline constexpr std::string_view kReferencesXattr = "user.hdf5.references";
// In a list that cannot hold all names this one is the first. Its value is JSON: how many names the list
// lacks, and where each of them is a file.
inline constexpr std::string_view kMoreAttributes = "user.hdf5.more_attributes";

struct KernelXattrs {
  std::string list;      // names, each with a NUL behind it
  std::size_t more = 0;  // names that the list lacks
};
KernelXattrs kernel_xattrs(std::span<const std::string> names);

}  // namespace h5mount::tree
