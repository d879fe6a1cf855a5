// libmicrohttpd, loaded when a server starts.
#pragma once

#include "h5mount/base/error.h"

namespace h5mount::serve {

// Comes before every use of libmicrohttpd. Errors: UnsupportedFeature. Threads: any.
Status load_libmicrohttpd();

}  // namespace h5mount::serve
