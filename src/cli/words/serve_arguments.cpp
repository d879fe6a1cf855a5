#include "serve_arguments.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

#include "h5mount/base/log.h"
#include "h5mount/base/text.h"

namespace h5mount::cli {
namespace {

Error invalid(std::string_view text, std::string_view why) {
  return {ErrorCode::InvalidValue, fmt::format("--serve {}: {}", escape_for_log(text), why)};
}

bool is_address(const std::string& text) {
  in6_addr any = {};
  return ::inet_pton(AF_INET, text.c_str(), &any) == 1 || ::inet_pton(AF_INET6, text.c_str(), &any) == 1;
}

}  // namespace

Result<ListenAddress> parse_listen_address(std::string_view text) {
  ListenAddress out;
  constexpr std::string_view kUnix = "unix:";
  if (text.starts_with(kUnix)) {
    out.socket_path = text.substr(kUnix.size());
    if (out.socket_path.empty() || out.socket_path.ends_with('/'))
      return fail(invalid(text, "the path of a socket is expected, as unix:/run/user/1000/h5mount.sock"));
    return out;
  }
  const std::size_t colon = text.rfind(':');
  const std::string_view port = colon == std::string_view::npos ? text : text.substr(colon + 1);
  std::string_view address = colon == std::string_view::npos ? "127.0.0.1" : text.substr(0, colon);
  const auto number = parse_whole<std::uint16_t>(port);
  if (!number)
    return fail(invalid(text, "[ADDRESS:]PORT is expected, with a port from 0 to 65535, or unix:PATH"));
  out.port = *number;
  const bool brackets = address.starts_with('[') && address.ends_with(']');
  if (brackets) address = address.substr(1, address.size() - 2);
  if (!brackets && address.find(':') != std::string_view::npos)
    return fail(invalid(text, "an IPv6 address stands in brackets: [::1]:8000"));
  out.address = address == "localhost" ? "127.0.0.1" : address == "*" ? "0.0.0.0" : std::string(address);
  if (!is_address(out.address))
    return fail(invalid(text, "the address must be a numeric one, localhost or *"));
  return out;
}

Status check_origin(std::string_view origin) {
  if (origin.empty() || origin == "*") return {};
  const std::size_t scheme = origin.find("://");
  const bool valid = scheme != std::string_view::npos && scheme > 0 && scheme + 3 < origin.size() &&
                     origin.find_first_of("/?#", scheme + 3) == std::string_view::npos &&
                     std::ranges::all_of(origin, [](char c) { return c > ' ' && c < '\x7F' && c != ','; });
  if (valid) return {};
  return fail(Error(
      ErrorCode::InvalidValue,
      fmt::format("--cors={}: an origin is expected, as https://example.org, or *", escape_for_log(origin))));
}

}  // namespace h5mount::cli
