// The fuzz target of salvage over a whole file (scripts/fuzz.sh salvage): what it makes of any bytes is read
// as a mount would read it.
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "file_input.h"
#include "h5mount/base/log.h"
#include "h5mount/salvage/salvage.h"
#include "structured_mutation.h"
#include "whole_file.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  h5mount::set_log_level(h5mount::LogLevel::Error);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t length) {
  using namespace h5mount;
  const auto source = test::file_of_input(data, length);
  const auto began = std::chrono::steady_clock::now();
  salvage::Options options;
  options.fill = length % 2 != 0;
  const auto salvaged = salvage::salvage_source(source, options);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  if (seconds > 8) {
    std::fprintf(stderr, "slow: %.1f s for %zu bytes\n", seconds, length);
    std::abort();
  }
  if (!salvaged || !salvaged->report.changed) return 0;
  test::WalkBounds bounds;
  bounds.nodes = 200;
  bounds.bytes = 4U << 20;
  test::expect_none(test::walk_whole_file(salvaged->source, bounds).violations);
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
  return h5mount::test::mutate_structures(data, size, most, seed);
}
