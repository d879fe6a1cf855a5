#include "credential_texts.h"

#include <algorithm>
#include <ctime>

#include <nlohmann/json.hpp>

#include "h5mount/sign/sha256.h"
#include "xml_reader.h"

namespace h5mount::remote {
namespace {

bool is_token(const std::string& text) {
  return std::ranges::all_of(text, [](unsigned char c) { return c > ' ' && c < 0x7F; });
}

// Returns nullopt for credentials that would not fit into a header field, which AWS does not issue.
std::optional<Issued> if_whole(Issued issued) {
  const sign::Credentials& has = issued.credentials;
  if (has.access_key.empty() || has.secret_key.empty()) return std::nullopt;
  if (!is_token(has.access_key) || !is_token(has.session_token)) return std::nullopt;
  return issued;
}

}  // namespace

std::optional<Issued> credentials_of_json(const std::string& text, const std::string& token) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto field = [&](const std::string& name) {
    const auto found = json.find(name);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  return if_whole(
      {{field("AccessKeyId"), field("SecretAccessKey"), field(token)}, seconds_of_time(field("Expiration"))});
}

std::optional<Issued> credentials_of_xml(const std::string& text) {
  Issued out;
  const Status read = read_xml(text, {{}, [&](int, std::string_view name, const std::string& value) {
                                        if (name == "AccessKeyId") out.credentials.access_key = value;
                                        if (name == "SecretAccessKey") out.credentials.secret_key = value;
                                        if (name == "SessionToken") out.credentials.session_token = value;
                                        if (name == "Expiration") out.expires = seconds_of_time(value);
                                      }});
  return read ? if_whole(std::move(out)) : std::nullopt;
}

Result<Fields> sign_form(const Url& at, const HttpRequest& request, const sign::Credentials& signer,
                         const std::string& region) {
  sign::Request signing{request.method, at.target, {}, request.headers};
  signing.headers.emplace_back("host", at.host + (at.port.empty() ? "" : ":" + at.port));
  return sign::sign_headers(signing, signer, {sign::time_text(std::time(nullptr)), region, "sts"},
                            sign::sha256_hex(request.body));
}

bool may_give_credentials(const Url& at) {
  if (at.scheme == "https") return true;
  return at.scheme == "http" &&
         (at.host == "localhost" || at.host.starts_with("127.") || at.host == "[::1]" ||
          at.host == "169.254.170.2" || at.host == "169.254.170.23" || at.host == "[fd00:ec2::23]") &&
         (!at.host.starts_with("127.") || is_private_address(at.host));
}

}  // namespace h5mount::remote
