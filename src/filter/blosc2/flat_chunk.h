// A Blosc chunk as a run of bytes, for decoding in parts: what Blosc 1 and plain frames give.
#pragma once

#include "chunk.h"
#include "h5mount/filter/filter.h"

namespace h5mount::filter::blosc {

// Null where the chunk does not decode to `decoded_bytes`: decoding all of it tells what is wrong.
std::unique_ptr<PartialChunk> make_flat_chunk(const Chunk& chunk, std::size_t decoded_bytes);

}  // namespace h5mount::filter::blosc
