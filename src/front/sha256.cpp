#include "sha256.h"

#include "h5mount/front/checksums.h"

#ifdef H5MOUNT_HAS_LIBCRYPTO

#include <fmt/format.h>
#include <openssl/evp.h>

namespace h5mount::front {

bool has_checksums() {
  return true;
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
  std::string out;
  for (unsigned i = 0; i < length; ++i) out += fmt::format("{:02x}", bytes[i]);
  return out;
}

}  // namespace h5mount::front

#else

namespace h5mount::front {

bool has_checksums() {
  return false;
}

Sha256::Sha256() = default;
void Sha256::add(ByteSpan) {}
std::string Sha256::digest() {
  return {};
}

}  // namespace h5mount::front

#endif
