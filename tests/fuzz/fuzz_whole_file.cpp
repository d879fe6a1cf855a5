// The fuzz target of a whole file (scripts/fuzz.sh whole_file). An input that violates an invariant of the
// walk, or is slow for its size, is a finding. For two of three inputs checksums are disabled, so that
// mutations reach the decoders. For the third they are enabled, as with bit rot: a damaged node is rejected
// while its neighbours are valid.
#include <cstdio>
#include <cstdlib>

#include "h5mount/base/checksum.h"
#include "h5mount/base/log.h"
#include "structured_mutation.h"
#include "whole_file.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  h5mount::set_log_level(h5mount::LogLevel::Error);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t length) {
  using namespace h5mount;
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  unsigned sum = 0;
  for (std::size_t i = 0; i < length; ++i) sum += data[i];
  set_metadata_checksums_enabled(sum % 3 == 0);
  const test::WalkBounds bounds{.nodes = 300, .bytes_per_file = 256U << 10, .bytes = 8U << 20, .seconds = 10};
  const test::WalkReport report =
      test::walk_whole_file(io::make_memory_source({bytes, bytes + length}), bounds);
  for (const std::string& violation : report.violations)
    std::fprintf(stderr, "violation: %s\n", violation.c_str());
  if (!report.violations.empty()) std::abort();
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
