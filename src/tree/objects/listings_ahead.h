// ListingsAhead: of a far file, what groups that are listed one after the other need, asked for together.
//
// `ls -R`, find and others list the groups of a directory in its order, and would wait for each in turn. When
// a second one is listed, the next ones are asked for with it: their links, the headers that these lead to
// and what further is below them. The more of them were listed, the more are asked for. What tells the sizes
// of small datasets of text is asked for too once a client wanted two of them: `ls -l` does, find does not.
// Threads: any; no lock is held while reading.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "../core/served_file.h"

namespace h5mount::tree {

class ListingsAhead {
 public:
  // `group` is about to be listed, of which a link is in `parent` (undefined for the root). The file is far.
  void will_list(const ServedFilePtr& file, std::uint64_t group, std::uint64_t parent);
  // The size of a dataset of text that is linked in `parent` is about to be found by reading it.
  void will_measure(const ServedFilePtr& file, std::uint64_t text, std::uint64_t parent);
  // Whether the sizes of text are of interest to those who list.
  bool measures() const { return measures_.load(std::memory_order_relaxed); }

 private:
  using Addresses = std::vector<std::uint64_t>;
  struct Parent {
    std::uint64_t address = format::kUndefinedAddress;
    std::uint64_t last = format::kUndefinedAddress;    // the group that was listed last
    std::shared_ptr<const Addresses> links = nullptr;  // of the parent, in order; null until they are needed
    std::size_t at = 0, asked = 0, window = 0;         // positions in `links`; a number of them
  };
  Parent* parent_at(std::uint64_t address) H5_REQUIRES(mutex_);
  bool needs_links(std::uint64_t group, std::uint64_t parent, bool& known);
  Addresses next(std::uint64_t group, std::uint64_t parent, std::shared_ptr<const Addresses> links);

  Mutex mutex_;
  std::array<Parent, 8> parents_ H5_GUARDED_BY(mutex_);  // those of a walk down into the tree
  std::size_t oldest_ H5_GUARDED_BY(mutex_) = 0;
  std::uint64_t measured_ H5_GUARDED_BY(mutex_) = format::kUndefinedAddress;  // the last text
  std::atomic<bool> measures_ = false;
};

}  // namespace h5mount::tree
