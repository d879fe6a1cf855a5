// Extents: the places of all raw data of a file, to find those that overlap. Neighbours of one dataset are
// joined, so that memory grows with fragmentation, not with bytes. Threads: any.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "tally.h"

namespace h5mount::check {

class Extents {
 public:
  // `owner`: of a dataset, from `add_owner`.
  std::uint32_t add_owner(std::string path);
  void add(std::uint32_t owner, std::uint64_t begin, std::uint64_t bytes);

  // Reports each dataset that shares bytes with another one, or with itself, once a pair.
  void report_overlaps(std::uint64_t base_address, Tally& tally);

 private:
  struct Extent {
    std::uint64_t begin, end;
    std::uint32_t owner;
  };
  std::mutex mutex_;  // guards what follows
  std::vector<Extent> extents_;
  std::vector<std::string> owners_;
};

}  // namespace h5mount::check
