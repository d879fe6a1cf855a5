#include "object_identity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <strings.h>

#include <algorithm>
#include <ctime>
#include <vector>

namespace h5mount::remote {
namespace {

constexpr std::time_t kSettledSeconds = 60;

bool equal_names(std::string_view one, std::string_view other) {
  return one.size() == other.size() && ::strncasecmp(one.data(), other.data(), one.size()) == 0;
}

bool begins_with(std::string_view name, std::string_view prefix) {
  return equal_names(name.substr(0, prefix.size()), prefix);
}

// The parameters by which the owner of an object lets others read it for a while. Short names count only
// beside the signature that they belong to.
struct Signing {
  std::string_view signature;
  std::vector<std::string_view> names;
};
const std::vector<Signing>& signings() {
  static const std::vector<Signing> all = {
      {"X-Amz-Signature", {}},
      {"X-Goog-Signature", {}},
      {"Signature", {"AWSAccessKeyId", "GoogleAccessId", "Expires", "Policy", "Key-Pair-Id"}},
      {"sig", {"se", "st", "sp", "spr", "sv", "sr", "sip", "skoid", "sktid", "skt", "ske", "sks", "skv"}},
  };
  return all;
}

std::string_view name_of(std::string_view parameter) {
  return parameter.substr(0, parameter.find('='));
}

void erase_signing(std::vector<std::string_view>& parameters, const Signing& signing) {
  const auto is_signature = [&](std::string_view parameter) {
    return equal_names(name_of(parameter), signing.signature);
  };
  if (std::ranges::none_of(parameters, is_signature)) return;
  std::erase_if(parameters, [&](std::string_view parameter) {
    const std::string_view name = name_of(parameter);
    return is_signature(parameter) || begins_with(name, "X-Amz-") || begins_with(name, "X-Goog-") ||
           std::ranges::any_of(signing.names, [&](std::string_view one) { return equal_names(name, one); });
  });
}

}  // namespace

std::string unsigned_url(const Url& url) {
  const std::size_t query = url.target.find('?');
  std::vector<std::string_view> parameters;
  if (query != std::string::npos) {
    for (std::string_view rest = std::string_view(url.target).substr(query + 1); !rest.empty();) {
      parameters.push_back(rest.substr(0, rest.find('&')));
      rest.remove_prefix(std::min(parameters.back().size() + 1, rest.size()));
    }
  }
  for (const Signing& signing : signings()) erase_signing(parameters, signing);
  return fmt::format("{}{}?{}", url.origin(), url.target.substr(0, query), fmt::join(parameters, "&"));
}

bool tells_versions(const Version& version) {
  if (!version.entity_tag.empty() && !version.entity_tag.starts_with("W/")) return true;
  const std::time_t modified = ::curl_getdate(version.modified.c_str(), nullptr);
  return modified >= 0 && modified <= std::time(nullptr) - kSettledSeconds;
}

std::string object_identity(const FarObject& object) {
  const Version version = *object.version();
  if (!tells_versions(version)) return {};
  const bool by_size = object.client().options.validate_size;
  const Url& asked = object.asked();
  return fmt::format("{}\n{}\n{}\n{}\n{}",
                     unsigned_url(asked.scheme == "s3" ? object.client().identity.place_of(asked) : asked),
                     version.entity_tag, version.modified, version.length, by_size ? "size" : "validators");
}

}  // namespace h5mount::remote
