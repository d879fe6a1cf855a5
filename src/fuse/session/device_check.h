// Whether this process can open /dev/fuse.
#pragma once

#include "h5mount/base/error.h"

namespace h5mount::fuse {

// The error says why not, and what helps.
Status check_device();

}  // namespace h5mount::fuse
