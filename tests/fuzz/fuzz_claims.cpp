// The fuzz target of small files that claim much (scripts/fuzz.sh claims). A request on one that takes more
// time or memory than is promised is a finding.
#include "claiming_file.h"
#include "claims_visit.h"
#include "file_input.h"
#include "h5mount/base/log.h"
#include "support/sanitized.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  h5mount::set_log_level(h5mount::LogLevel::Error);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t length) {
  using namespace h5mount;
  test::ClaimsBounds bounds;
  if (test::kSanitized) bounds.memory_above_cache = 1ULL << 30;  // sanitizers hold freed memory back
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  test::expect_none(
      test::visit_claims(test::make_claiming_file({bytes, length}), bounds, length % 8 == 0).violations);
  return 0;
}
