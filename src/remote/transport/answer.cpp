#include "answer.h"

#include <charconv>

#include <fmt/format.h>

#include "h5mount/base/text.h"

namespace h5mount::remote {
namespace {

constexpr auto kMaxLength = static_cast<std::uint64_t>(INT64_MAX);

std::string text_of(const HttpAnswer& answer, std::string_view name) {
  const std::string* const found = answer.field(name);
  return found == nullptr ? std::string() : *found;
}

std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t out = 0;
  const auto [end, trouble] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (trouble != std::errc() || end == text.data()) return {};
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return out;
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// Names of range units and of content codings are compared without case (RFC 9110, 14.1 and 8.4.1).
bool take_word(std::string_view& text, std::string_view word) {
  if (!starts_ignoring_case(text, word)) return false;
  text.remove_prefix(word.size());
  return true;
}

struct ContentRange {
  std::uint64_t begin, end, length;
};

// Reads, for example, "bytes 0-1048575/73400320".
std::optional<ContentRange> parse_content_range(std::string_view text) {
  if (!take_word(text, "bytes ")) return {};
  const auto first = take_number(text);
  if (!first || !take(text, "-")) return {};
  const auto last = take_number(text);
  if (!last || !take(text, "/")) return {};
  const auto length = take_number(text);
  if (!length || !text.empty() || *last < *first || *last >= *length) return {};
  return ContentRange{*first, *last + 1, *length};
}

// Reads, for example, "bytes */73400320".
std::optional<std::uint64_t> length_of_unsatisfied(std::string_view text) {
  if (!take_word(text, "bytes ") || !take(text, "*/")) return {};
  return take_number(text);
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

}  // namespace

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
