#include "canonical.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "h5mount/base/text.h"
#include "h5mount/sign/sha256.h"

namespace h5mount::sign {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t';
}

// Removes spaces at both ends, and replaces each run of spaces by one.
std::string trimmed(std::string_view value) {
  std::string out;
  for (char c : value) {
    if (is_space(c) && (out.empty() || out.back() == ' ')) continue;
    out += is_space(c) ? ' ' : c;
  }
  if (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

std::string canonical_query(const Fields& query) {
  Fields encoded;
  for (const auto& [name, value] : query) {
    if (name == "X-Amz-Signature") continue;
    encoded.emplace_back(encode_component(name), encode_component(value));
  }
  std::ranges::sort(encoded);
  std::vector<std::string> parts;
  for (const auto& [name, value] : encoded) parts.push_back(name + '=' + value);
  return fmt::format("{}", fmt::join(parts, "&"));
}

// Makes one line of all headers of that name, with their values in their order.
std::string canonical_header(const Fields& headers, std::string_view name) {
  std::vector<std::string> values;
  for (const auto& [other, value] : headers) {
    if (equals_ignoring_case(other, name)) values.push_back(trimmed(value));
  }
  return fmt::format("{}:{}\n", name, fmt::join(values, ","));
}

}  // namespace

const std::string* find_field(const Fields& fields, std::string_view name) {
  for (const auto& [other, value] : fields) {
    if (equals_ignoring_case(other, name)) return &value;
  }
  return nullptr;
}

std::string scope_text(const Scope& scope) {
  return scope.time.substr(0, 8) + '/' + scope.region + '/' + scope.service + "/aws4_request";
}

std::string canonical_request(const Request& request, const std::vector<std::string>& names,
                              std::string_view payload_hash) {
  std::string out =
      request.method + '\n' + encode_path(request.path) + '\n' + canonical_query(request.query) + '\n';
  for (const std::string& name : names) out += canonical_header(request.headers, name);
  return fmt::format("{}\n{}\n{}", out, fmt::join(names, ";"), payload_hash);
}

std::string signature_of(std::string_view canonical, const Scope& scope, std::string_view secret_key) {
  const std::string text =
      fmt::format("{}\n{}\n{}\n{}", kAlgorithm, scope.time, scope_text(scope), sha256_hex(canonical));
  std::string key = hmac_sha256("AWS4" + std::string(secret_key), scope.time.substr(0, 8));
  for (std::string_view part : {std::string_view(scope.region), std::string_view(scope.service),
                                std::string_view("aws4_request"), std::string_view(text)}) {
    key = hmac_sha256(key, part);
  }
  return to_hex(key);
}

}  // namespace h5mount::sign
