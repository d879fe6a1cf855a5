// The fuzz target of what a client of --serve sends: the target of a request, its fields a line each. What is
// parsed must keep to its bounds.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "h5mount/base/uri.h"
#include "http/access_token.h"
#include "http/byte_ranges.h"
#include "http/conditions.h"
#include "http/fields.h"
#include "http/host.h"
#include "http/message.h"

namespace {

using namespace h5mount::serve;

// The fields are of every name that a request has a member for.
void take_request(std::string_view text) {
  constexpr std::string_view kNames[] = {"Accept",        "Accept-Encoding", "Authorization", "Cookie",
                                         "Host",          "If-Match",        "If-Range",      "Range",
                                         "Content-Length"};
  std::vector<Header> fields;
  const std::string target(text.substr(0, text.find('\n')));
  for (std::size_t begin = target.size() + 1; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    fields.emplace_back(kNames[fields.size() % std::size(kNames)], text.substr(begin, end - begin));
    begin = end + 1;
  }
  const Request request("GET", target, std::move(fields));
  (void)without_token(target);
  if (!request.target) return;
  (void)AccessToken("a-token", 80).answer_instead(request);
  if (!request.target->place) return;
  const std::string& clean = *request.target->place;
  if (!clean.starts_with('/') || clean.find("/../") != std::string::npos) std::abort();
  const auto again = decode_path(h5mount::encode_path(clean));
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
  const std::string text(value);
  (void)evaluate({.if_match = text, .if_none_match = text}, validators, 0);
  (void)range_applies(text, validators, 0);
  if (const auto date = parse_date(value); date && !parse_date(format_date(*date))) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t length) {
  std::string_view text(reinterpret_cast<const char*>(data), length);
  take_request(text);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    take_field(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return 0;
}
