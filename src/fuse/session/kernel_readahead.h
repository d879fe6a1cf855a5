// The kernel's read-ahead of one mount, which libfuse cannot raise above the default of 128 KiB.
#pragma once

#include <sys/types.h>

namespace h5mount::fuse {

// Writes /sys/class/bdi/<device>/read_ahead_kb if that is permitted (root, and a writable /sys). To be called
// after the first reply: the handshake resets the value.
void raise_read_ahead(dev_t device);

}  // namespace h5mount::fuse
