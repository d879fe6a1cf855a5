// AWS signature version 4 as S3 uses it: clients make signatures, servers verify them. The steps are those of
// "Signature Calculations for the Authorization Header" and "Authenticating Requests: Using Query Parameters"
// of the Amazon S3 API Reference. Threads: pure functions. Without libcrypto they fail with
// UnsupportedFeature.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "h5mount/base/error.h"
#include "h5mount/base/uri.h"

namespace h5mount::sign {

inline constexpr std::string_view kUnsignedPayload = "UNSIGNED-PAYLOAD";

struct Credentials {
  std::string access_key, secret_key;
  std::string session_token;  // empty unless the credentials are temporary
};

// A request, with path, query and headers decoded.
struct Request {
  std::string method;
  std::string path;  // with its leading '/'
  Fields query;
  Fields headers;
};

// The value of the first header or query parameter of that name, in any case; null if there is none.
const std::string* find_field(const Fields& fields, std::string_view name);

// The scope that a signing key is derived for. `time` is "20130524T000000Z".
struct Scope {
  std::string time;
  std::string region;
  std::string service = "s3";
};

std::string time_text(std::int64_t seconds_since_1970);

// The header fields to add to `request`: x-amz-date, x-amz-content-sha256, x-amz-security-token if there is a
// token, Authorization. All of the request's headers are signed; `host` must be among them.
Result<Fields> sign_headers(const Request& request, const Credentials& credentials, const Scope& scope,
                            std::string_view payload_hash = kUnsignedPayload);

// The facts that a request states about its signature.
struct Claim {
  std::string access_key;
  Scope scope;
  std::vector<std::string> signed_headers;  // lower case, sorted
  std::string signature;
  std::string session_token;
  std::uint64_t seconds = 0;  // how long the request is valid, if it is presigned
  bool presigned = false;
};

// Whether the request is signed: it has an Authorization field, or X-Amz-Signature in its query.
bool is_signed(const Request& request);
// Errors: InvalidValue if the request's statement is not well formed, or is of another kind of signature.
Result<Claim> read_claim(const Request& request);
// Checks `claim`, which read_claim made of `request`, with the secret key that belongs to its access key.
// Errors: AccessDenied if the signature is not right, or if Host or a header x-amz-* is not signed; TimedOut
// if the signature is dated over 15 minutes after `now` (seconds since 1970), or if it has expired: a
// presigned request after its own time, others after 15 minutes.
Status verify(const Claim& claim, const Request& request, std::string_view secret_key, std::int64_t now);

}  // namespace h5mount::sign
