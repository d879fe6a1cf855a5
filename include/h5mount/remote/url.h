// URLs as a user writes them: http://, https://, s3://BUCKET/KEY and s3://BUCKET/PREFIX/. Threads: pure
// functions.
#pragma once

#include <string>
#include <string_view>

#include "h5mount/base/error.h"

namespace h5mount::remote {

struct Url {
  std::string scheme;          // "http", "https", "s3"
  std::string user, password;  // decoded; empty where there are none
  std::string host;            // in lower case, an IPv6 address in brackets; of s3: the bucket
  std::string port;            // empty: the scheme's own
  // http: path and query as they are sent (what may not stand there is encoded, the fragment is gone), with
  // the leading '/'. s3: the key, byte for byte, without it.
  std::string target;

  // Scheme, host and port: what credentials belong to.
  std::string origin() const;
  // Without user, query and fragment: how it is shown to anybody.
  std::string shown() const;
  // Whether it stands for all objects whose keys begin so: s3://BUCKET/ and s3://BUCKET/PREFIX/.
  bool is_prefix() const;
  // As it is sent to a server (http and https).
  std::string sent() const;
};

// Whether a source's name is one: it has a scheme and "://", whichever.
bool is_url(std::string_view text);
// Errors: InvalidValue, which shows nothing of what may be secret.
Result<Url> parse_url(std::string_view text);
// `shown` of a text that is a URL, the text itself of others.
std::string shown_url(const std::string& text);

// Where `reference` in an answer from `base` leads (http and https).
Result<Url> resolve(const Url& base, std::string_view reference);

// Whether a numeric address is one that only this machine or its network reaches: loopback, private,
// link-local.
bool is_private_address(std::string_view address);

}  // namespace h5mount::remote
