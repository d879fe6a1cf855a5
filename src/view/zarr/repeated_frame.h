// Frames of Zarr's codecs around one element that is repeated: what a chunk that was never written holds.
// They are compressed, as an index of a file may hold the same one for each of a million chunks.
#pragma once

#include "stored_codec.h"

namespace h5mount::view {

// Appends the frame of `count` times `element`, shuffled first if the codec says so. Fails with LimitExceeded
// if the codec cannot hold so many bytes, and with OutOfMemory.
Status append_repeated_frame(const StoredCodec& codec, ByteSpan element, std::uint64_t count,
                             std::string& out);

}  // namespace h5mount::view
