#include "object_identity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <vector>

#include "h5mount/base/text.h"

namespace h5mount::remote {
namespace {

constexpr std::time_t kSettledSeconds = 60;

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
    return equals_ignoring_case(name_of(parameter), signing.signature);
  };
  if (std::ranges::none_of(parameters, is_signature)) return;
  std::erase_if(parameters, [&](std::string_view parameter) {
    const std::string_view name = name_of(parameter);
    return is_signature(parameter) || starts_ignoring_case(name, "X-Amz-") ||
           starts_ignoring_case(name, "X-Goog-") ||
           std::ranges::any_of(signing.names,
                               [&](std::string_view one) { return equals_ignoring_case(name, one); });
  });
}

}  // namespace

std::string unsigned_url(const Url& url) {
  const std::size_t query = url.target.find('?');
  std::vector<std::string_view> parameters;
  if (query != std::string::npos) {
    for (std::string_view rest = std::string_view(url.target).substr(query + 1); !rest.empty();)
      parameters.push_back(take_until(rest, '&'));
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
