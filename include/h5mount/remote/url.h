// URLs as a user writes them: http://, https://, s3://BUCKET/KEY and s3://BUCKET/PREFIX/. Threads: pure
// functions.
#pragma once

#include <string>
#include <string_view>

#include "h5mount/base/error.h"

namespace h5mount::remote {

struct Url {
  std::string scheme;          // "http", "https", "s3"
  std::string user, password;  // decoded; empty if there are none
  std::string host;            // lower case, an IPv6 address in brackets; of s3: the bucket
  std::string port;            // empty if it is the scheme's own
  // http: path and query as they are sent (other characters are encoded, the fragment is removed), with the
  // leading '/'. s3: the key, byte for byte, without a leading '/'.
  std::string target;

  // Scheme, host and port, which credentials belong to.
  std::string origin() const;
  // The URL as it may be shown to anybody: without user, query and fragment.
  std::string shown() const;
  // Whether the URL stands for all objects whose keys begin with it: s3://BUCKET/ and s3://BUCKET/PREFIX/.
  bool is_prefix() const;
  // The URL as it is sent to a server (http and https).
  std::string sent() const;
};

// Whether a source's name is a URL: it has a scheme, any one, and "://".
bool is_url(std::string_view text);
// Fails with InvalidValue; the error shows nothing that may be secret.
Result<Url> parse_url(std::string_view text);
// Returns `shown` of a text that is a URL, and any other text as it is.
std::string shown_url(const std::string& text);

// The URL that `reference` leads to in an answer from `base` (http and https).
Result<Url> resolve(const Url& base, std::string_view reference);

// Whether only this machine or its network can reach a numeric address: loopback, private, link-local.
bool is_private_address(std::string_view address);

}  // namespace h5mount::remote
