// The fuzz target of fsck.h5 over a whole file. As in the target of the walk, checksums are disabled for two
// of three inputs.
#include <cstdio>
#include <cstdlib>

#include "check_whole_file.h"
#include "h5mount/base/checksum.h"
#include "h5mount/base/log.h"
#include "structured_mutation.h"

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
  const test::CheckReport report =
      test::check_whole_file(io::make_memory_source({bytes, bytes + length}), 10);
  for (const std::string& violation : report.violations)
    std::fprintf(stderr, "violation: %s\n", violation.c_str());
  if (!report.violations.empty()) std::abort();
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
