// The text that is signed, and the key that signs it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "h5mount/sign/signature_v4.h"

namespace h5mount::sign {

inline constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";

// Returns, for example, "20130524/us-east-1/s3/aws4_request".
std::string scope_text(const Scope& scope);

// `names` are the headers that are signed, lower case and sorted. X-Amz-Signature is left out of the query.
std::string canonical_request(const Request& request, const std::vector<std::string>& names,
                              std::string_view payload_hash);

std::string signature_of(std::string_view canonical, const Scope& scope, std::string_view secret_key);

}  // namespace h5mount::sign
