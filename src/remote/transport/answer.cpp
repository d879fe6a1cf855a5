#include "answer.h"

#include <algorithm>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "h5mount/base/text.h"

namespace h5mount::remote {
namespace {

constexpr auto kMaxLength = static_cast<std::uint64_t>(INT64_MAX);

std::string text_of(const HttpAnswer& answer, std::string_view name) {
  const std::string* const found = answer.field(name);
  return found == nullptr ? std::string() : *found;
}

struct ContentRange {
  std::uint64_t begin, end, length;
};

// The text behind the unit, whose name is compared without case (RFC 9110, 14.1), before and behind the
// slash.
std::optional<std::pair<std::string_view, std::optional<std::uint64_t>>> parts_of_range(
    std::string_view text) {
  const auto [unit, range] = split_at(text, ' ');
  if (!equals_ignoring_case(unit, "bytes")) return {};
  const auto [bytes, length] = split_at(range, '/');
  return std::pair(bytes, parse_whole<std::uint64_t>(length));
}

// Reads, for example, "bytes 0-1048575/73400320".
std::optional<ContentRange> parse_content_range(std::string_view text) {
  const auto parts = parts_of_range(text);
  if (!parts || !parts->second) return {};
  const auto [first_text, last_text] = split_at(parts->first, '-');
  const auto first = parse_whole<std::uint64_t>(first_text), last = parse_whole<std::uint64_t>(last_text);
  if (!first || !last || *last < *first || *last >= *parts->second) return {};
  return ContentRange{*first, *last + 1, *parts->second};
}

// Reads, for example, "bytes */73400320".
std::optional<std::uint64_t> length_of_unsatisfied(std::string_view text) {
  const auto parts = parts_of_range(text);
  return parts && parts->first == "*" ? parts->second : std::nullopt;
}

Judged again(std::string why) {
  return {Verdict::Again, std::move(why), {}};
}

// Returns nullopt if the answer is of the known version. If only one of the two has a validator, the versions
// cannot be compared, so the request is to be repeated.
std::optional<Judged> judge_version(const Wanted& wanted, const Version& now) {
  if (!wanted.known) return {};
  const Version& then = *wanted.known;
  if (then.length != now.length)
    return Judged{Verdict::Changed, fmt::format("it has {} bytes, not {}", now.length, then.length), {}};
  if (wanted.validate_size) return {};
  const auto differ = [](const std::string& one, const std::string& other) {
    return !one.empty() && !other.empty() && one != other;
  };
  if (differ(then.entity_tag, now.entity_tag) || differ(then.modified, now.modified))
    return Judged{Verdict::Changed, "its validators are other ones", {}};
  if (then.entity_tag.empty() != now.entity_tag.empty() || then.modified.empty() != now.modified.empty())
    return again("the answer does not name the version as the first one did");
  return {};
}

Judged judge_bytes(const Wanted& wanted, long status, const HttpAnswer& answer) {
  const std::string encoding = text_of(answer, "content-encoding");
  if (!encoding.empty() && !equals_ignoring_case(encoding, "identity"))
    return again("the answer is encoded (" + encoding.substr(0, 20) + "), which was not asked for");
  Version version{0, text_of(answer, "etag"), text_of(answer, "last-modified")};
  ContentRange range{0, 0, 0};
  if (status == 206) {
    const auto parsed = parse_content_range(text_of(answer, "content-range"));
    if (!parsed) return again("206 without the range that it has");
    range = *parsed;
  } else {
    const auto length = parse_whole<std::uint64_t>(text_of(answer, "content-length"));
    if (wanted.begin > 0) return again("200 with the whole object, where a range was asked for");
    if (!length || *length > wanted.end)
      return {Verdict::NoRanges, "the server knows no ranges: it sends the whole object", {}};
    range = {0, *length, *length};
  }
  version.length = range.length;
  if (range.length > kMaxLength)
    return {Verdict::Refused,
            fmt::format("the server claims {} bytes, more than a file can have", range.length),
            {}};
  if (const auto changed = judge_version(wanted, version)) return *changed;
  if (range.begin != wanted.begin || range.end != std::min(wanted.end, range.length))
    return again("another range than was asked for");
  return {Verdict::Bytes, "", version};
}

Judged judge_unsatisfied(const Wanted& wanted, const HttpAnswer& answer) {
  const auto length = length_of_unsatisfied(text_of(answer, "content-range"));
  // Only an empty object has no first byte, so that is what a server answers to the first request for one.
  // Some servers of S3 do not say the length with it.
  const bool unsaid = answer.field("content-range") == nullptr;
  if (!wanted.known && wanted.begin == 0 && (length == 0 || unsaid))
    return {Verdict::Empty, "", {0, text_of(answer, "etag"), text_of(answer, "last-modified")}};
  if (wanted.known && length && *length != wanted.known->length)
    return {Verdict::Changed, fmt::format("it has {} bytes, not {}", *length, wanted.known->length), {}};
  return again("416: no such range");
}

constexpr std::chrono::milliseconds kFirstPause{250}, kLongestPause{5'000};

std::chrono::milliseconds jittered(std::chrono::milliseconds pause) {
  thread_local std::minstd_rand generator{std::random_device{}()};
  return std::chrono::milliseconds(
      std::uniform_int_distribution<std::int64_t>(pause.count() / 2, pause.count())(generator));
}

// The pause that the server asks for, in seconds as most servers write it; dates are ignored.
std::chrono::milliseconds retry_after(const HttpAnswer& answer) {
  const std::string* const text = answer.field("retry-after");
  const auto seconds = text == nullptr ? std::nullopt : parse_whole<unsigned>(*text);
  return std::chrono::seconds(std::min(seconds.value_or(0), 3600U));
}

}  // namespace

std::chrono::milliseconds pause_before(unsigned tries, const HttpAnswer& answer) {
  return std::max(jittered(std::min(kFirstPause * (1 << std::min(tries, 10U)), kLongestPause)),
                  retry_after(answer));
}

Judged judge_failure(long status, const HttpAnswer& answer) {
  switch (status) {
    case 301:
    case 302:
    case 303:
    case 307:
    case 308:
      if (answer.field("location") == nullptr) return again("a redirect that leads nowhere");
      return {Verdict::Redirect, "", {}};
    case 401:
    case 403:
      return {Verdict::Denied, fmt::format("the server refuses it ({})", status), {}};
    case 404:
    case 410:
      return {Verdict::Gone, fmt::format("the server has no such object ({})", status), {}};
    case 408:
    case 429:
      return again(fmt::format("the server cannot answer now ({})", status));
    default:
      break;
  }
  if (status >= 500) return again(fmt::format("the server failed ({})", status));
  if (status < 300) return again(fmt::format("an answer that was not asked for ({})", status));
  return {Verdict::Refused, fmt::format("the server does not answer it ({})", status), {}};
}

Judged judge(const Wanted& wanted, long status, const HttpAnswer& answer) {
  if (status == 200 || status == 206) return judge_bytes(wanted, status, answer);
  return status == 416 ? judge_unsatisfied(wanted, answer) : judge_failure(status, answer);
}

}  // namespace h5mount::remote
