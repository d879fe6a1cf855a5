// Base64 (RFC 4648, 4). Threads: any.
#pragma once

#include <string>
#include <string_view>

#include "h5mount/base/bytes.h"

namespace h5mount {

void append_base64(ByteSpan bytes, std::string& out);
// Up to the first character that is not part of it.
std::string from_base64(std::string_view text);

}  // namespace h5mount
