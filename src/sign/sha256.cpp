#include "h5mount/sign/sha256.h"

#include "h5mount/base/text.h"

#ifdef H5MOUNT_HAS_LIBCRYPTO
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "late_crypto.h"
#endif

namespace h5mount::sign {

bool equal_secrets(std::string_view one, std::string_view other) {
  if (one.size() != other.size()) return false;
  unsigned char differs = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    differs = static_cast<unsigned char>(differs | (one[i] ^ other[i]));
  }
  return differs == 0;
}

std::string sha256_hex(std::string_view text) {
  Sha256 hash;
  hash.add(as_bytes(text));
  return hash.digest();
}

#ifdef H5MOUNT_HAS_LIBCRYPTO

bool has_sha256() {
  return load_libcrypto().has_value();
}

Sha256::Sha256()
    : state_(EVP_MD_CTX_new(), [](void* state) { EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(state)); }) {
  EVP_DigestInit_ex(static_cast<EVP_MD_CTX*>(state_.get()), EVP_sha256(), nullptr);
}

void Sha256::add(ByteSpan bytes) {
  EVP_DigestUpdate(static_cast<EVP_MD_CTX*>(state_.get()), bytes.data(), bytes.size());
}

std::string Sha256::digest() {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  EVP_DigestFinal_ex(static_cast<EVP_MD_CTX*>(state_.get()), bytes, &length);
  return to_hex({reinterpret_cast<const char*>(bytes), length});
}

std::string hmac_sha256(std::string_view key, std::string_view text) {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), bytes, &length);
  return {reinterpret_cast<const char*>(bytes), length};
}

#else

bool has_sha256() {
  return false;
}

Sha256::Sha256() = default;
void Sha256::add(ByteSpan) {}
std::string Sha256::digest() {
  return {};
}
std::string hmac_sha256(std::string_view, std::string_view) {
  return {};
}

#endif

}  // namespace h5mount::sign
