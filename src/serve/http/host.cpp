#include "host.h"

#include <arpa/inet.h>

#include <algorithm>
#include <string>

#include "h5mount/base/text.h"

namespace h5mount::serve {
namespace {

bool is_port(std::string_view text) {
  return text.size() <= 5 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Accepts 127.a.b.c in the usual form only: other spellings of addresses are names to a browser's origin
// check.
bool is_loopback_address(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, '.');
  return parts.size() == 4 && parts[0] == "127" && std::ranges::all_of(parts, [](std::string_view part) {
           return parse_whole<std::uint8_t>(part) && (part.size() == 1 || part[0] != '0');
         });
}

bool is_loopback_six(const std::string& text) {
  in6_addr address = {};
  return ::inet_pton(AF_INET6, text.c_str(), &address) == 1 && is_loopback(address);
}

}  // namespace

bool is_loopback(const in6_addr& address) {
  constexpr std::size_t kFirstOfFour = 12;
  return IN6_IS_ADDR_LOOPBACK(&address) ||
         (IN6_IS_ADDR_V4MAPPED(&address) && address.s6_addr[kFirstOfFour] == 127);
}

bool is_loopback_host(std::string_view host) {
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    if (end == std::string_view::npos || !is_loopback_six(std::string(host.substr(1, end - 1)))) return false;
    const std::string_view rest = host.substr(end + 1);
    return rest.empty() || (rest.starts_with(':') && is_port(rest.substr(1)));
  }
  auto [name, port] = split_at(host, ':');
  if (!is_port(port)) return false;
  if (is_loopback_address(name)) return true;
  if (name.ends_with('.')) name.remove_suffix(1);
  constexpr std::string_view kBelow = ".localhost";
  return equals_ignoring_case(name, "localhost") ||
         (name.size() > kBelow.size() && to_lower(name).ends_with(kBelow));
}

}  // namespace h5mount::serve
