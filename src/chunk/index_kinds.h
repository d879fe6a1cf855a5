// The kinds of chunk index, each in its own file and in the table of chunk_index.cpp. Precondition of all:
// `layout.address` is not undefined.
#pragma once

#include <memory>

#include "h5mount/chunk/chunk_index.h"

namespace h5mount::chunk {

using IndexPtr = std::unique_ptr<ChunkIndex>;

using OpenIndex = Result<IndexPtr>(metadata::FileMetadataPtr file, const format::DataLayout& layout,
                                   const ChunkGeometry& geometry);

IndexPtr make_empty_index(const ChunkGeometry& geometry);
OpenIndex open_single_index, open_implicit_index, open_btree1_index, open_fixed_array_index,
    open_extensible_array_index, open_btree2_index;

}  // namespace h5mount::chunk
