// One row of the decoders' benchmark: bytes that a reference encoder made, and the reference decoder for
// them.
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
  double target = 0;                                            // of the ratio; 0: none is promised
  std::function<void(const Bytes& stored, Bytes& out)> decode;  // what is timed
  std::function<void(const Bytes& stored)> prepare = [](const Bytes&) {};  // before each, not timed
};

inline constexpr double kLibrary = 0.9;  // where we call the same library
inline constexpr double kOwn = 0.8;      // where the decoder is ours

struct BenchData {
  Bytes wave;    // 32-bit integers
  Bytes planes;  // the same, shuffled
};

// Cases whose references are loaded when the program runs; those that are not there give none.
struct LoadedLibraries {
  std::string blosc2;      // path of a C-Blosc2, which Debian 12 does not have; empty: left out
  std::string bitshuffle;  // path of a shared object with the functions of bitshuffle.h; empty: left out
};
std::vector<BenchCase> loaded_cases(const BenchData& data, const LoadedLibraries& libraries);

}  // namespace h5mount::test
