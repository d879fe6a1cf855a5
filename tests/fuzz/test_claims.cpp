// Small files that claim much, without a fuzzer: a number of them, the same each time. Each request has its
// promised bounds of time and of memory.
#include <gtest/gtest.h>

#include "claiming_file.h"
#include "claims_visit.h"
#include "h5mount/base/log.h"
#include "support/sanitized.h"

namespace h5mount::test {
namespace {

TEST(ClaimingFiles, EveryRequestStaysWithinItsBounds) {
  set_log_level(LogLevel::Error);
  ClaimsBounds bounds;
  if (kSanitized) bounds = {.seconds = 60, .memory_above_cache = 1ULL << 30};
  std::uint64_t requests = 0, opened = 0;
  constexpr std::uint64_t kFiles = 10;
  for (std::uint64_t seed = 0; seed < kFiles; ++seed) {
    const ClaimsReport report = visit_claims(make_claiming_file(random_choices(seed)), bounds, seed % 4 == 0);
    for (const std::string& violation : report.violations)
      ADD_FAILURE() << "seed " << seed << ": " << violation;
    opened += report.opened ? 1 : 0;
    requests += report.requests;
  }
  EXPECT_EQ(opened, kFiles);
  EXPECT_GT(requests, kFiles * 50);
}

}  // namespace
}  // namespace h5mount::test
