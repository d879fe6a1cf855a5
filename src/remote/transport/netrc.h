// The text of a ~/.netrc, as curl reads it. Threads: a pure function.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace h5mount::remote {

struct NetrcLogin {
  std::string user, password;
};
using NetrcLogins = std::map<std::string, NetrcLogin>;  // by host, in lower case

// Reads entries "machine HOST login USER password SECRET", with the last two in any order; of several for one
// host the first counts. A word may stand in double quotes, in which \ makes the next character an ordinary
// one, and \n, \r and \t stand for line feed, carriage return and tab. Lines that begin with # are comments,
// and what follows a quote that does not end on its line is not read. A `default` entry is not used, as it
// would be sent to any host that a redirect names.
NetrcLogins parse_netrc(std::string_view text);

}  // namespace h5mount::remote
