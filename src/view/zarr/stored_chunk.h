// The file of a Zarr chunk that holds the stored bytes of an HDF5 chunk.
#pragma once

#include "chunk_image.h"
#include "stored_codec.h"

namespace h5mount::view {

// `chunk`: of a dataset that has a codec, and chunks of the array's shape.
Result<ComputedFilePtr> make_stored_chunk(std::shared_ptr<const ChunkImage> chunk, const StoredCodec& codec,
                                          RequestBudget& budget);

}  // namespace h5mount::view
