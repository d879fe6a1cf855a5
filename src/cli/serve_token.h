// The token of --token and --token-file, and the key pair of --s3-key-file.
#pragma once

#include <string>

#include "h5mount/base/error.h"
#include "h5mount/serve/server.h"

namespace h5mount::cli {

// Makes a token: 192 random bits as 32 letters, digits, `-` and `_`.
Result<std::string> make_token();

// The first line of a file (or of a pipe, such as the shell makes for <(…)) that only this user or root may
// read.
Result<std::string> read_token(const std::string& path);

// "ACCESSKEY:SECRET", read in the same way.
Result<serve::S3Key> read_s3_key(const std::string& path);

}  // namespace h5mount::cli
