#include "access_token.h"

#include <fmt/format.h>

#include <algorithm>

#include "h5mount/base/text.h"
#include "h5mount/sign/sha256.h"

namespace h5mount::serve {
namespace {

constexpr std::string_view kParameter = "token";

// The credentials in an Authorization field of that scheme; nullopt if it has another scheme.
std::optional<std::string_view> credentials(std::string_view value, std::string_view scheme) {
  const auto [word, rest] = split_at(trim(value), ' ');
  return equals_ignoring_case(word, scheme) ? std::optional(trim(rest)) : std::nullopt;
}

// Redirects to the same place without the token. The reference is relative to the target, so that it is right
// behind a proxy too.
Answer redirect_to(const Target& target, std::string_view query) {
  Answer out = plain_answer(307, "the token is taken");
  std::string to = "./" + std::string(target.path.substr(target.path.rfind('/') + 1));
  if (!query.empty()) to.append("?").append(query);
  out.add("Location", to);
  return out;
}

}  // namespace

AccessToken::AccessToken(std::string token, std::uint16_t port)
    : token_(std::move(token)), cookie_(port == 0 ? "h5mount" : fmt::format("h5mount-{}", port)) {}

bool AccessToken::in_cookie(const Request& request) const {
  std::string_view rest = request.cookie ? std::string_view(*request.cookie) : std::string_view();
  // Several Cookie fields are joined by commas.
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of(";,"), rest.size());
    const auto [name, value] = split_at(trim(rest.substr(0, end)), '=');
    if (name == cookie_ && sign::equal_secrets(value, token_)) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

bool AccessToken::in_authorization(const Request& request) const {
  if (!request.authorization) return false;
  if (const auto bearer = credentials(*request.authorization, "Bearer"))
    return sign::equal_secrets(*bearer, token_);
  const auto basic = credentials(*request.authorization, "Basic");
  if (!basic) return false;
  const std::string both = from_base64(*basic);
  return sign::equal_secrets(split_at(both, ':').second, token_);
}

std::optional<Answer> AccessToken::answer_instead(const Request& request) const {
  if (token_.empty()) return std::nullopt;
  const Target& target = *request.target;
  const auto said = target.parameters.get(kParameter);
  const bool in_target = said && sign::equal_secrets(*said, token_);
  if (in_target || in_cookie(request) || in_authorization(request)) {
    if (!said) return std::nullopt;
    Answer out = redirect_to(target, without_parameter(target.query, kParameter));
    if (in_target)
      out.add("Set-Cookie", fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict", cookie_, token_));
    return out;
  }
  Answer out = plain_answer(
      401, "a token is needed: as ?token=TOKEN in the address, as the password (of any user), or as Bearer");
  out.add("WWW-Authenticate", "Basic realm=\"h5mount\", charset=\"UTF-8\"");
  out.add("WWW-Authenticate", "Bearer realm=\"h5mount\"");
  return out;
}

std::string without_token(std::string_view target) {
  const auto [path, query] = split_at(target, '?');
  std::string rest(query);
  for (const std::string_view secret :
       {kParameter, std::string_view("X-Amz-Signature"), std::string_view("X-Amz-Security-Token")})
    rest = without_parameter(rest, secret);
  if (rest == query) return std::string(target);
  return fmt::format("{}{}{}", path, rest.empty() ? "" : "?", rest);
}

}  // namespace h5mount::serve
