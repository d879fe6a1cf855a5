// Hands pages to the kernel before they are requested. Threads: any.
#pragma once

#include <functional>
#include <span>

#include "h5mount/tree/tree.h"

namespace h5mount::fuse {

struct PreparedPages {
  std::uint64_t begin;  // in the node's bytes
  dataset::Pieces pieces;
};

// `as_opened`: whether the file is unchanged since the pages' reader was opened; asked once before they are
// stored, and once after where the kernel copied them from the file itself. False where no more are to be
// stored: the file has changed, or the kernel takes no more.
bool store_pages(tree::KernelPages& kernel, tree::NodeId node, const std::function<bool()>& as_opened,
                 std::span<const PreparedPages> pages, Counters& counters);

}  // namespace h5mount::fuse
