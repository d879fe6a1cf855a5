// The values of --serve and --cors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "h5mount/base/error.h"

namespace h5mount::cli {

struct ListenAddress {
  std::string address = {};  // numeric
  std::uint16_t port = 0;
  std::string socket_path = {};  // in place of both: of a Unix socket
};
// 8000, 127.0.0.1:8000, [::1]:8000, localhost:8000, *:8000 (all IPv4 addresses), unix:PATH. Port 0: any free
// port.
Result<ListenAddress> parse_listen_address(std::string_view text);

// An origin as browsers send it (`https://example.org`, with a port if it is not the scheme's default), `*`,
// or empty.
Status check_origin(std::string_view origin);

}  // namespace h5mount::cli
