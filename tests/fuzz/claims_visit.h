// Visits what a mount and a server make of a file: its own tree and every view under /.h5, each listed,
// looked up, measured and read at both ends; the texts about the whole file; then the same paths over HTTP in
// their several forms. What is refused is no violation; what takes long or much memory is.
#pragma once

#include <string>
#include <vector>

#include "h5mount/base/bytes.h"

namespace h5mount::test {

struct ClaimsReport {
  bool opened = false;
  std::uint64_t requests = 0, refused = 0;
  double slowest_seconds = 0;  // of one request
  std::string slowest;
  std::uint64_t memory_above_cache = 0;  // bytes, at the peak, beside what the process had before
  std::string largest;                   // the request after which that was met
  std::vector<std::string> violations;   // what is over the bounds
};

// The promise of one request and of all memory beside the cache.
struct ClaimsBounds {
  double seconds = 10;
  std::uint64_t memory_above_cache = 128ULL << 20;
  std::size_t entries = 6;  // that are visited of a directory
};

ClaimsReport visit_claims(const std::vector<std::byte>& file, const ClaimsBounds& bounds, bool over_http);

}  // namespace h5mount::test
