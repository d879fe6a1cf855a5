// libcrypto, loaded when the first digest is made.
#pragma once

#include "h5mount/base/error.h"

namespace h5mount::sign {

// Comes before every use of libcrypto. Errors: UnsupportedFeature. Threads: any.
Status load_libcrypto();

}  // namespace h5mount::sign
