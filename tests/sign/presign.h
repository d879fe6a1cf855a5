// Presigned requests, which h5mount checks and does not make.
#pragma once

#include "canonical.h"

namespace h5mount::sign {

// The encoded query with which anybody may send `request` for `seconds` from the scope's time on; of its
// headers the host alone is signed.
inline std::string presign(Request request, const Credentials& credentials, const Scope& scope,
                           std::uint64_t seconds) {
  Fields& query = request.query;
  query.emplace_back("X-Amz-Algorithm", kAlgorithm);
  query.emplace_back("X-Amz-Credential", credentials.access_key + '/' + scope_text(scope));
  query.emplace_back("X-Amz-Date", scope.time);
  query.emplace_back("X-Amz-Expires", std::to_string(seconds));
  query.emplace_back("X-Amz-SignedHeaders", "host");
  const std::string canonical = canonical_request(request, {"host"}, kUnsignedPayload);
  query.emplace_back("X-Amz-Signature", signature_of(canonical, scope, credentials.secret_key));
  return encode_query(query);
}

}  // namespace h5mount::sign
