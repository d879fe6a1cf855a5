// libcurl, loaded when the first URL is opened.
#pragma once

#include "h5mount/base/error.h"

namespace h5mount::remote {

// Comes before every use of libcurl. Errors: UnsupportedFeature. Threads: any.
Status load_libcurl();

}  // namespace h5mount::remote
