// Access to buckets: requests are checked against a key by signature version 4. Threads: any.
#pragma once

#include <optional>

#include "../http/message.h"
#include "h5mount/serve/server.h"
#include "h5mount/sign/signature_v4.h"
#include "s3_answers.h"

namespace h5mount::serve {

// The request as it was signed, with path and query decoded.
sign::Request signed_form(const Request& request);

// Why the request is refused; nullopt if its signature is that of `key`, made at about `now` (seconds since
// 1970) for this very request.
std::optional<S3Error> check_signature(const S3Key& key, const sign::Request& request, std::int64_t now);

}  // namespace h5mount::serve
