// Whether an address, or a Host field, is that of a loopback server. A web page of another origin can make
// its own name lead to 127.0.0.1 (DNS rebinding) and would then be of the same origin as the server: its
// requests carry its own name.
#pragma once

#include <netinet/in.h>

#include <string_view>

namespace h5mount::serve {

// True for ::1, and for 127.0.0.0/8 as IPv6 writes it (::ffff:127.0.0.1).
bool is_loopback(const in6_addr& address);

// True for `localhost` and names below it, 127.0.0.0/8, and loopback addresses of IPv6 in brackets; with or
// without a port. Case does not matter.
bool is_loopback_host(std::string_view host);

}  // namespace h5mount::serve
