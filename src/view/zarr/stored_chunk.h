// The file of a Zarr chunk that holds the stored bytes of an HDF5 chunk.
#pragma once

#include "chunk_image.h"
#include "stored_codec.h"

namespace h5mount::view {

// Of a dataset that has a codec, for a chunk of its own shape.
Result<ComputedFilePtr> make_stored_chunk(std::shared_ptr<const ChunkImage> chunk, const StoredCodec& codec);

}  // namespace h5mount::view
