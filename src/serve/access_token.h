// AccessToken: what a client must show to be answered (ServerOptions::token). Threads: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "message.h"
#include "url.h"

namespace h5mount::serve {

class AccessToken {
 public:
  // `token`: empty where everyone is answered. `port`: tells the cookies of servers on one machine apart,
  // since browsers send a cookie to all ports of a host.
  AccessToken(std::string token, std::uint16_t port);

  // The answer to a client that does not show the token; a redirect to the same place without it, which sets
  // the cookie, where the target has it. Else nothing: the request may be answered.
  std::optional<Answer> answer_instead(const Request& request, const Target& target) const;

 private:
  bool is_token(std::string_view text) const;
  bool in_cookie(const Request& request) const;
  bool in_authorization(const Request& request) const;

  const std::string token_, cookie_;
};

// A target with what stands for a token removed, for the log.
std::string without_token(std::string_view target);

}  // namespace h5mount::serve
