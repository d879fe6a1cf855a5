// SHA-256 by libcrypto, which uses the processor's instructions for it. Without libcrypto (has_checksums)
// nothing of this may be called.
#pragma once

#include <memory>
#include <string>

#include "h5mount/base/bytes.h"

namespace h5mount::front {

class Sha256 {
 public:
  Sha256();
  void add(ByteSpan bytes);
  std::string digest();  // hexadecimal; ends the hash

 private:
  std::shared_ptr<void> state_;
};

}  // namespace h5mount::front
