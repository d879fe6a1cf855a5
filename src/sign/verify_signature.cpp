#include <algorithm>
#include <ctime>
#include <optional>

#include "canonical.h"
#include "h5mount/base/text.h"
#include "h5mount/sign/sha256.h"

namespace h5mount::sign {
namespace {

constexpr std::int64_t kMaxClockSkew = 15 * 60;
constexpr std::uint64_t kMaxSeconds = 7 * 24 * 3600;  // the longest that a presigned request is valid

Error malformed(std::string_view what) {
  return Error(ErrorCode::InvalidValue, "the request's signature: " + std::string(what));
}

std::optional<std::int64_t> seconds_of(const std::string& time) {
  std::tm parts{};
  const char* end = ::strptime(time.c_str(), "%Y%m%dT%H%M%SZ", &parts);
  if (time.size() != 16 || end != time.c_str() + 16) return {};
  return ::timegm(&parts);
}

// Reads "KEY/20130524/us-east-1/s3/aws4_request"; the key itself may contain slashes.
Status read_credential(const std::string& text, const std::string& time, Claim& out) {
  const std::vector<std::string_view> parts = split(text, '/');
  const std::size_t n = parts.size();
  if (n < 5 || parts[n - 1] != "aws4_request") return fail(malformed("Credential"));
  out.scope = {time, std::string(parts[n - 3]), std::string(parts[n - 2])};
  if (!seconds_of(time) || parts[n - 4] != time.substr(0, 8)) return fail(malformed("date"));
  out.access_key = text.substr(0, text.size() - scope_text(out.scope).size() - 1);
  return {};
}

Status read_names(const std::string& text, Claim& out) {
  for (const std::string_view name : split(text, ';')) out.signed_headers.emplace_back(name);
  if (!std::ranges::is_sorted(out.signed_headers)) return fail(malformed("SignedHeaders"));
  return {};
}

std::string text_or_empty(const std::string* text) {
  return text ? *text : std::string();
}

Result<Claim> read_header_claim(const Request& request, std::string_view authorization) {
  if (!authorization.starts_with(kAlgorithm)) return fail(malformed("algorithm"));
  authorization.remove_prefix(kAlgorithm.size());
  Fields parts;
  for (std::string_view part : split(authorization, ',')) {
    if (!part.contains('=')) return fail(malformed("Authorization"));
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    parts.emplace_back(split_at(part, '='));
  }
  const auto part_named = [&](std::string_view name) { return text_or_empty(find_parameter(parts, name)); };
  Claim out;
  out.signature = part_named("Signature");
  out.session_token = text_or_empty(find_field(request.headers, "x-amz-security-token"));
  const std::string time = text_or_empty(find_field(request.headers, "x-amz-date"));
  H5_TRY(read_credential(part_named("Credential"), time, out));
  H5_TRY(read_names(part_named("SignedHeaders"), out));
  return out;
}

Result<Claim> read_query_claim(const Request& request) {
  const auto parameter = [&](std::string_view name) {
    return text_or_empty(find_field(request.query, name));
  };
  if (parameter("X-Amz-Algorithm") != kAlgorithm) return fail(malformed("X-Amz-Algorithm"));
  Claim out;
  out.presigned = true;
  out.signature = parameter("X-Amz-Signature");
  out.session_token = parameter("X-Amz-Security-Token");
  H5_TRY(read_credential(parameter("X-Amz-Credential"), parameter("X-Amz-Date"), out));
  H5_TRY(read_names(parameter("X-Amz-SignedHeaders"), out));
  const std::string expires = parameter("X-Amz-Expires");
  const auto seconds = parse_whole<std::uint64_t>(expires);
  if (!seconds || *seconds > kMaxSeconds) return fail(malformed("X-Amz-Expires"));
  out.seconds = *seconds;
  return out;
}

Status denied(std::string_view why) {
  return fail(Error(ErrorCode::AccessDenied, "the request's signature " + std::string(why)));
}

Status late(std::string_view why) {
  return fail(Error(ErrorCode::TimedOut, "the request's signature " + std::string(why)));
}

Status check_time(const Claim& claim, std::int64_t now) {
  const std::int64_t age = now - seconds_of(claim.scope.time).value_or(0);
  if (age < -kMaxClockSkew) return late("is of another time");
  if (claim.presigned ? age > static_cast<std::int64_t>(claim.seconds) : age > kMaxClockSkew) {
    return late("has expired");
  }
  return {};
}

// Checks that a request's host and x-amz-* headers are signed, so that nobody could add them to a signed
// request.
Status check_names(const Claim& claim, const Request& request) {
  const auto is_named = [&](const std::string& name) {
    return std::ranges::binary_search(claim.signed_headers, name);
  };
  if (!is_named("host")) return denied("does not cover Host");
  for (const auto& [name, value] : request.headers) {
    const std::string lower = to_lower(name);
    if (lower.starts_with("x-amz-") && !is_named(lower)) return denied("does not cover " + lower);
  }
  for (const std::string& name : claim.signed_headers) {
    if (!find_field(request.headers, name)) return denied("covers a header that is not there");
  }
  return {};
}

// A request that does not state a hash of its body is taken to have no body.
std::string payload_hash(const Claim& claim, const Request& request) {
  if (claim.presigned) return std::string(kUnsignedPayload);
  const std::string* named = find_field(request.headers, "x-amz-content-sha256");
  return named ? *named : sha256_hex("");
}

}  // namespace

bool is_signed(const Request& request) {
  return find_field(request.headers, "Authorization") || find_field(request.query, "X-Amz-Signature");
}

Result<Claim> read_claim(const Request& request) {
  if (const std::string* field = find_field(request.headers, "Authorization")) {
    return read_header_claim(request, *field);
  }
  return read_query_claim(request);
}

Status verify(const Claim& claim, const Request& request, std::string_view secret_key, std::int64_t now) {
  if (!has_sha256()) return denied("cannot be verified: no libcrypto");
  H5_TRY(check_time(claim, now));
  H5_TRY(check_names(claim, request));
  const std::string canonical =
      canonical_request(request, claim.signed_headers, payload_hash(claim, request));
  if (!equal_secrets(claim.signature, signature_of(canonical, claim.scope, secret_key))) {
    return denied("is not that of this request and its key");
  }
  return {};
}

}  // namespace h5mount::sign
