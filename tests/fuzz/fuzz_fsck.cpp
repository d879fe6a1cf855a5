// The fuzz target of fsck.h5 over a whole file (scripts/fuzz.sh fsck).
#include <cstdio>
#include <cstdlib>

#include "check_whole_file.h"
#include "file_input.h"
#include "h5mount/base/log.h"
#include "structured_mutation.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  h5mount::set_log_level(h5mount::LogLevel::Error);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t length) {
  using namespace h5mount;
  const test::CheckReport report = test::check_whole_file(test::file_of_input(data, length), 10);
  test::expect_none(report.violations);
  if (report.longest_wait > 8) {
    std::fprintf(stderr, "slow: %.1f s without asking whether to go on\n", report.longest_wait);
    std::abort();
  }
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
  return h5mount::test::mutate_structures(data, size, most, seed);
}
