#include "host.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "fields.h"

namespace h5mount::serve {
namespace {

bool is_port(std::string_view text) {
  return text.size() <= 5 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Accepts 127.a.b.c in the usual form only: other spellings of addresses are names to a browser's origin
// check.
bool is_loopback_address(std::string_view text) {
  for (int i = 0; i < 4; ++i) {
    const std::size_t end = std::min(text.find('.'), text.size());
    unsigned value = 0;
    const std::string_view digits = text.substr(0, end);
    const auto [last, trouble] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (trouble != std::errc{} || last != digits.data() + digits.size() || value > 255 ||
        (i == 0 && value != 127))
      return false;
    if (end > 1 && text[0] == '0') return false;
    if ((end == text.size()) != (i == 3)) return false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
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
  const std::size_t colon = std::min(host.find(':'), host.size());
  if (colon < host.size() && !is_port(host.substr(colon + 1))) return false;
  std::string_view name = host.substr(0, colon);
  if (is_loopback_address(name)) return true;
  if (name.ends_with('.')) name.remove_suffix(1);
  constexpr std::string_view kBelow = ".localhost";
  const bool below =
      name.size() > kBelow.size() && equals_ignoring_case(name.substr(name.size() - kBelow.size()), kBelow);
  return below || equals_ignoring_case(name, "localhost");
}

}  // namespace h5mount::serve
