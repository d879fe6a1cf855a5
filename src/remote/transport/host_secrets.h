// Secrets that are sent to one host only: the user and password of a URL and of ~/.netrc, and the lines of a
// file of headers. Threads: any, after load.
#pragma once

#include <map>
#include <string>

#include "h5mount/base/error.h"
#include "h5mount/remote/url.h"
#include "netrc.h"
#include "transfers.h"

namespace h5mount::remote {

class HostSecrets {
 public:
  // `headers_file` may be empty. Fails with Io or InvalidValue for that file, and with AccessDenied if other
  // users may read it.
  static Result<HostSecrets> load(const std::string& headers_file);

  // Adds the secrets for the host of `hop` to a request to it. `asked` is the user's URL, whose user and
  // password are for its origin.
  void add(const Url& asked, const Url& hop, HttpRequest& out) const;

 private:
  Status read_headers(const std::string& file);
  void read_netrc();

  NetrcLogins logins_;
  std::multimap<std::string, std::pair<std::string, std::string>> headers_;  // by host, or host:port
};

}  // namespace h5mount::remote
