// Identifiers of filters that other modules treat in a way of their own: the format's (specification
// IV.A.2.l) and, from 256 on, those of The HDF Group's registry of filters. The
// table of all that are known is in src/filter/registry.cpp.
#pragma once

#include <cstdint>

namespace h5mount::format {

enum FilterId : std::uint16_t {
  kDeflate = 1,
  kShuffle = 2,
  kFletcher32 = 3,
  kBzip2 = 307,
  kBlosc = 32001,
  kLz4 = 32004,
  kZstd = 32015,
  kBlosc2 = 32026
};

}  // namespace h5mount::format
