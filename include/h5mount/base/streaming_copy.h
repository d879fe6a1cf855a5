// Writes of large results past the processor's caches, for memory that is not read again until the caches
// have been replaced: it saves reading each line of the destination first, and keeps what is in the caches.
#pragma once

#include "h5mount/base/bytes.h"

namespace h5mount {

// Copies `from` to `to`, of the same size. Other threads, and later system calls, may read the bytes once
// this thread has called end_streaming. Sizes and places are arbitrary; whole cache lines profit.
void streaming_copy(ByteSpan from, MutableByteSpan to);
void end_streaming();

}  // namespace h5mount
