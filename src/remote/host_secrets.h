// What is sent to one host alone: the user and password of a URL and of ~/.netrc, and the lines of a file of
// headers. Threads: any, after load.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "h5mount/base/error.h"
#include "h5mount/remote/url.h"
#include "transfers.h"

namespace h5mount::remote {

class HostSecrets {
 public:
  // `headers_file`: may be empty. Errors: Io and InvalidValue of that file, AccessDenied where other users
  // may read it.
  static Result<HostSecrets> load(const std::string& headers_file);

  // Adds to a request to `hop` what is for its host. `asked`: the user's URL, whose user is for its origin.
  void add(const Url& asked, const Url& hop, HttpRequest& out) const;

 private:
  struct Login {
    std::string user, password;
  };
  Status read_headers(const std::string& file);
  void read_netrc();

  std::map<std::string, Login> logins_;                                      // by host
  std::multimap<std::string, std::pair<std::string, std::string>> headers_;  // by host, or host:port
};

}  // namespace h5mount::remote
