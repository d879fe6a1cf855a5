// Identifiers of the filters that other modules treat specially: the format's own (specification IV.A.2.l)
// and, from 256 on, those in The HDF Group's registry of filters. The table of all known filters is in
// src/filter/registry.cpp.
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
