// Decoding in parts of a Blosc chunk whose blocks are consecutive bytes: of Blosc 1, or of a frame without an
// array.
#pragma once

#include "chunk.h"
#include "h5mount/filter/filter.h"

namespace h5mount::filter::blosc {

// Returns null if the chunk does not decode to `decoded_bytes`; decoding it as a whole then reports the
// error.
std::unique_ptr<PartialChunk> make_flat_chunk(const Chunk& chunk, std::size_t decoded_bytes);

}  // namespace h5mount::filter::blosc
