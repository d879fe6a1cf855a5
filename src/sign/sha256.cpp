#include "h5mount/sign/sha256.h"

#include "h5mount/base/text.h"

#ifdef H5MOUNT_HAS_LIBCRYPTO
#include <openssl/evp.h>
#include <openssl/hmac.h>
#endif

#ifdef H5MOUNT_LIBCRYPTO  // its soname; else it is linked

#include "h5mount/base/late_library.h"

namespace {

h5mount::LateLibrary& libcrypto() {
  static h5mount::LateLibrary library(H5MOUNT_LIBCRYPTO);
  return library;
}

}  // namespace

extern "C" {
H5_LATE_FUNCTION(libcrypto(), EVP_MD_CTX*, EVP_MD_CTX_new, (), ())
H5_LATE_FUNCTION(libcrypto(), void, EVP_MD_CTX_free, (EVP_MD_CTX * state), (state))
H5_LATE_FUNCTION(libcrypto(), const EVP_MD*, EVP_sha256, (), ())
H5_LATE_FUNCTION(libcrypto(), int, EVP_DigestInit_ex,
                 (EVP_MD_CTX * state, const EVP_MD* type, ENGINE* engine), (state, type, engine))
H5_LATE_FUNCTION(libcrypto(), int, EVP_DigestUpdate, (EVP_MD_CTX * state, const void* bytes, size_t count),
                 (state, bytes, count))
H5_LATE_FUNCTION(libcrypto(), int, EVP_DigestFinal_ex,
                 (EVP_MD_CTX * state, unsigned char* digest, unsigned* length), (state, digest, length))
H5_LATE_FUNCTION(libcrypto(), unsigned char*, HMAC,
                 (const EVP_MD* type, const void* key, int key_bytes, const unsigned char* data,
                  size_t data_bytes, unsigned char* digest, unsigned* length),
                 (type, key, key_bytes, data, data_bytes, digest, length))
}

#endif

namespace h5mount::sign {

bool equal_secrets(std::string_view given, std::string_view secret) {
  if (secret.empty()) return given.empty();
  unsigned differs = given.size() == secret.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i)
    differs |= static_cast<unsigned>(given[i] ^ secret[i % secret.size()]);
  return differs == 0;
}

std::string sha256_hex(std::string_view text) {
  Sha256 hash;
  hash.add(as_bytes(text));
  return hash.digest();
}

#ifdef H5MOUNT_HAS_LIBCRYPTO

bool has_sha256() {
#ifdef H5MOUNT_LIBCRYPTO
  return libcrypto().load().has_value();
#else
  return true;
#endif
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
