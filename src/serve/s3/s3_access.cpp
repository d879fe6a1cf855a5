#include "s3_access.h"

#include "h5mount/sign/sha256.h"

namespace h5mount::serve {
namespace {

// Whether the stated hash can be that of the request's body. Requests that read have no body, so it must be
// the hash of no bytes. Requests that write are refused in any case.
bool is_hash_of_request(const sign::Request& request) {
  if (request.method != "GET" && request.method != "HEAD") return true;
  const std::string* const said = sign::find_field(request.headers, "x-amz-content-sha256");
  return said == nullptr || *said == sign::kUnsignedPayload || *said == sign::sha256_hex("");
}

S3Error malformed(const sign::Request& request, std::string_view why) {
  const std::string_view code = sign::find_field(request.headers, "Authorization")
                                    ? "AuthorizationHeaderMalformed"
                                    : "AuthorizationQueryParametersError";
  return {400, code, std::string(why)};
}

}  // namespace

sign::Request signed_form(const Request& request) {
  sign::Request out{request.method, "/", {}, request.headers};
  if (request.target) {
    out.path = decode_percent(request.target->path);
    out.query = decode_query(request.target->query);
  }
  return out;
}

std::optional<S3Error> check_signature(const S3Key& key, const sign::Request& request, std::int64_t now) {
  if (!sign::is_signed(request))
    return S3Error{403, "AccessDenied", "The request must be signed (signature version 4)."};
  if (sign::find_field(request.headers, "Authorization") &&
      sign::find_field(request.query, "X-Amz-Signature"))
    return S3Error{400, "InvalidArgument", "Only one auth mechanism allowed"};
  const auto claim = sign::read_claim(request);
  if (!claim) return malformed(request, claim.error().text());
  if (claim->scope.service != "s3") return malformed(request, "the service of the signature must be s3");
  if (!sign::equal_secrets(claim->access_key, key.access_key))
    return S3Error{403, "InvalidAccessKeyId", "The access key is not that of this server."};
  if (const Status verified = sign::verify(*claim, request, key.secret_key, now); !verified) {
    if (verified.error().code() != ErrorCode::TimedOut)
      return S3Error{403, "SignatureDoesNotMatch", verified.error().text()};
    return claim->presigned ? S3Error{403, "AccessDenied", "Request has expired"}
                            : S3Error{403, "RequestTimeTooSkewed", verified.error().text()};
  }
  if (!is_hash_of_request(request))
    return S3Error{400, "XAmzContentSHA256Mismatch", "A request that reads has no body."};
  return std::nullopt;
}

}  // namespace h5mount::serve
