// The fuzz target of what a client of --serve sends: the target of a request, its fields a line each. What is
// parsed must keep to its bounds.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "http/byte_ranges.h"
#include "http/conditions.h"
#include "http/fields.h"
#include "http/host.h"
#include "http/url.h"

namespace {

using namespace h5mount::serve;

void take_target(std::string_view text) {
  const auto target = parse_target(text);
  if (!target) return;
  (void)query_parameter(target->query, "list");
  const auto path = decode_path(target->path);
  if (!path) return;
  const std::string clean = without_dot_segments(*path);
  if (!clean.starts_with('/') || clean.find("/../") != std::string::npos) std::abort();
  const auto again = decode_path(encode_path(clean));
  if (!again || *again != clean) std::abort();
}

void take_field(std::string_view value) {
  constexpr std::uint64_t kSize = 100'000;
  const RangeSet set = parse_ranges(value, kSize);
  if (set.ranges.size() > kMaxRanges) std::abort();
  for (const Range& range : set.ranges)
    if (range.begin >= range.end || range.end > kSize) std::abort();
  (void)is_loopback_host(value);
  (void)accept_weight(value, "text/html");
  (void)accepts_gzip(value);
  const Validators validators{"\"tag\"", 784111777};
  (void)evaluate({.if_match = value, .if_none_match = value}, validators, 0);
  (void)range_applies(value, validators, 0);
  if (const auto date = parse_date(value); date && !parse_date(format_date(*date))) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t length) {
  std::string_view text(reinterpret_cast<const char*>(data), length);
  take_target(text.substr(0, text.find('\n')));
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    take_field(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return 0;
}
