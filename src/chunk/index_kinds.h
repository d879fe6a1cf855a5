// The kinds of chunk index, each in its own file; open_chunk_index selects one. Precondition of all:
// `layout.address` is not undefined.
#pragma once

#include <memory>

#include "h5mount/chunk/chunk_index.h"

namespace h5mount::chunk {

using IndexPtr = std::unique_ptr<ChunkIndex>;

IndexPtr make_empty_index(const ChunkGeometry& geometry);
Result<IndexPtr> open_single_index(const format::DataLayout& layout, const ChunkGeometry& geometry);
Result<IndexPtr> open_implicit_index(metadata::FileMetadataPtr file, const format::DataLayout& layout,
                                     const ChunkGeometry& geometry);
Result<IndexPtr> open_btree1_index(metadata::FileMetadataPtr file, const format::DataLayout& layout,
                                   const ChunkGeometry& geometry);
Result<IndexPtr> open_fixed_array_index(metadata::FileMetadataPtr file, const format::DataLayout& layout,
                                        const ChunkGeometry& geometry);
Result<IndexPtr> open_extensible_array_index(metadata::FileMetadataPtr file, const format::DataLayout& layout,
                                             const ChunkGeometry& geometry);
Result<IndexPtr> open_btree2_index(metadata::FileMetadataPtr file, const format::DataLayout& layout,
                                   const ChunkGeometry& geometry);

}  // namespace h5mount::chunk
