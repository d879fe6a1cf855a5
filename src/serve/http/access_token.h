// AccessToken: what a client must show to be answered (ServerOptions::token). Threads: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "message.h"

namespace h5mount::serve {

class AccessToken {
 public:
  // `token` is empty if everyone is answered. `port` distinguishes the cookies of servers on one machine,
  // since browsers send a cookie to all ports of a host.
  AccessToken(std::string token, std::uint16_t port);

  // Returns the answer to a client that does not show the token. If the target contains the token, returns a
  // redirect to the same place without it, which sets the cookie. Returns nullopt if the request may be
  // answered.
  std::optional<Answer> answer_instead(const Request& request) const;

 private:
  bool in_cookie(const Request& request) const;
  bool in_authorization(const Request& request) const;

  const std::string token_, cookie_;
};

// The target without the parameters that stand for a token, for the log.
std::string without_token(std::string_view target);

}  // namespace h5mount::serve
