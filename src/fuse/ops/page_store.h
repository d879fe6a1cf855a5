// Hands pages to the kernel before they are requested. Threads: any.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "h5mount/tree/tree.h"

namespace h5mount::fuse {

// An open file whose pages are stored.
struct PageTarget {
  std::shared_ptr<const dataset::DatasetReader> reader;
  std::shared_ptr<cache::WorkerPool> workers;
  std::shared_ptr<Counters> counters;
  std::shared_ptr<tree::KernelPages> kernel;
  tree::NodeId node;
  std::function<bool()> as_opened;  // whether the file is unchanged since the reader was opened
};

struct PreparedPages {
  std::uint64_t begin;  // in the node's bytes
  dataset::Pieces pieces;
};

// `as_opened` of the target is called once before the pages are stored, and once afterwards if the kernel
// copied them from the file itself. Returns false if no more pages are to be stored: the file has changed, or
// the kernel takes no more.
bool store_pages(const PageTarget& target, std::span<const PreparedPages> pages);

}  // namespace h5mount::fuse
