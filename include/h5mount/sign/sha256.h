// SHA-256 and HMAC by libcrypto, which uses the processor's instructions for them. Without libcrypto
// (has_sha256) every digest is empty, so callers ask first. Threads: an object belongs to one.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "h5mount/base/bytes.h"

namespace h5mount::sign {

bool has_sha256();

class Sha256 {
 public:
  Sha256();
  void add(ByteSpan bytes);
  std::string digest();  // 64 hexadecimal digits; nothing may be added after it

 private:
  std::shared_ptr<void> state_;
};

std::string sha256_hex(std::string_view text);
// The digest as 32 bytes, since it is the key of the next HMAC.
std::string hmac_sha256(std::string_view key, std::string_view text);
// Whether both are equal; the time that it takes depends on the length of `given` alone.
bool equal_secrets(std::string_view given, std::string_view secret);

}  // namespace h5mount::sign
