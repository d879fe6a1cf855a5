#include "late_crypto.h"

#ifdef H5MOUNT_LIBCRYPTO  // its soname; else it is linked

#include <openssl/evp.h>
#include <openssl/hmac.h>

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

Status load_libcrypto() {
#ifdef H5MOUNT_LIBCRYPTO
  return libcrypto().load();
#else
  return {};
#endif
}

}  // namespace h5mount::sign
