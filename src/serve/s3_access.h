// Who may read a bucket: requests are held against a key by signature version 4. Threads: any.
#pragma once

#include <optional>

#include "h5mount/serve/server.h"
#include "h5mount/sign/signature_v4.h"
#include "message.h"
#include "s3_answers.h"

namespace h5mount::serve {

// What is asked for, as it was signed: the path and the query decoded.
sign::Request signed_form(const Request& request);

// Why the request is refused; nothing where its signature is that of `key`, made at about `now` (seconds
// since 1970) for this very request.
std::optional<S3Error> check_signature(const S3Key& key, const sign::Request& request, std::int64_t now);

}  // namespace h5mount::serve
