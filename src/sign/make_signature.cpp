#include <algorithm>
#include <ctime>

#include <fmt/ranges.h>

#include "canonical.h"
#include "h5mount/base/text.h"
#include "h5mount/sign/sha256.h"

namespace h5mount::sign {
namespace {

std::vector<std::string> header_names(const Fields& headers) {
  std::vector<std::string> names;
  for (const auto& [name, value] : headers) names.push_back(to_lower(name));
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace

std::string time_text(std::int64_t seconds_since_1970) {
  const std::time_t time = seconds_since_1970;
  std::tm parts{};
  gmtime_r(&time, &parts);
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

Result<Fields> sign_headers(const Request& request, const Credentials& credentials, const Scope& scope,
                            std::string_view payload_hash) {
  if (!has_sha256()) return fail(Error(ErrorCode::UnsupportedFeature, "no libcrypto, which signs requests"));
  Fields added{{"x-amz-content-sha256", std::string(payload_hash)}, {"x-amz-date", scope.time}};
  if (!credentials.session_token.empty()) {
    added.emplace_back("x-amz-security-token", credentials.session_token);
  }
  Request whole = request;
  whole.headers.insert(whole.headers.end(), added.begin(), added.end());
  const std::vector<std::string> names = header_names(whole.headers);
  const std::string signature =
      signature_of(canonical_request(whole, names, payload_hash), scope, credentials.secret_key);
  added.emplace_back("Authorization", fmt::format("{} Credential={}/{},SignedHeaders={},Signature={}",
                                                  kAlgorithm, credentials.access_key, scope_text(scope),
                                                  fmt::join(names, ";"), signature));
  return added;
}

}  // namespace h5mount::sign
