// One row of the decoders' benchmark: bytes from a reference encoder, and its reference decoder.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bytes.h"

namespace h5mount::test {

struct BenchCase {
  std::string name;
  std::vector<filter::FilterSpec> specs;
  Bytes stored;
  std::string reference;
  double target = 0;                                            // minimum ratio; 0: none is promised
  std::function<void(const Bytes& stored, Bytes& out)> decode;  // the timed part
  std::function<void(const Bytes& stored)> prepare = [](const Bytes&) {};  // before each, not timed
};

inline constexpr double kLibrary = 0.9;  // where the product calls the same library
inline constexpr double kOwn = 0.8;      // where the product has its own decoder

struct BenchData {
  Bytes wave;    // 32-bit integers
  Bytes planes;  // the same, shuffled
};

// Cases whose reference libraries are loaded at run time; a library that is missing has none.
struct LoadedLibraries {
  std::string blosc2;      // path of a C-Blosc2, which Debian 12 does not have; empty: left out
  std::string bitshuffle;  // path of a shared object with the functions of bitshuffle.h; empty: left out
};
std::vector<BenchCase> loaded_cases(const BenchData& data, const LoadedLibraries& libraries);

}  // namespace h5mount::test
