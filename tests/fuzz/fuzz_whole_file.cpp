// The fuzz target of a whole file (scripts/fuzz.sh whole_file). An input that violates an invariant of the
// walk, or is slow for its size, is a finding.
#include <cstdio>
#include <cstdlib>

#include "file_input.h"
#include "h5mount/base/log.h"
#include "structured_mutation.h"
#include "whole_file.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  h5mount::set_log_level(h5mount::LogLevel::Error);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t length) {
  using namespace h5mount;
  const test::WalkBounds bounds{.nodes = 300, .bytes_per_file = 256U << 10, .bytes = 8U << 20, .seconds = 10};
  const test::WalkReport report = test::walk_whole_file(test::file_of_input(data, length), bounds);
  test::expect_none(report.violations);
  if (report.slowest_seconds > 8) {
    std::fprintf(stderr, "slow: %.1f s in %s\n", report.slowest_seconds, report.slowest.c_str());
    std::abort();
  }
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
  return h5mount::test::mutate_structures(data, size, most, seed);
}
