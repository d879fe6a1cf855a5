// MetadataPages: the pages of a file whose space is paged (H5F_FSPACE_STRATEGY_PAGE). libhdf5 fills such a
// page with structures or with data, never with both: of a page that has one structure the others are wanted
// soon. Only global heaps are in pages of data.
#pragma once

#include <algorithm>
#include <cstdint>

#include "h5mount/base/bytes.h"

namespace h5mount::metadata {

struct MetadataPages {
  // More than this of a page is not fetched for one structure.
  static constexpr std::uint64_t kMaxBytes = 2U << 20;

  std::uint64_t base = 0;   // offset in the file of the first page
  std::uint64_t bytes = 0;  // of a page; 0: there are no pages

  // Whether pages are larger than the blocks that are fetched anyway.
  bool are_larger_than(std::uint64_t block) const { return bytes > block; }
  // The page at an offset in the file, from `base` on, or of a large one the part of kMaxBytes there.
  ByteRange around(std::uint64_t offset) const {
    const std::uint64_t page = offset - (offset - base) % bytes;
    const std::uint64_t begin = page + (offset - page) / kMaxBytes * kMaxBytes;
    return {begin, begin + std::min(kMaxBytes, bytes - (begin - page))};
  }
};

}  // namespace h5mount::metadata
