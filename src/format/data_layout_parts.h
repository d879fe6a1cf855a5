// What the two sources of the data layout message share.
#pragma once

#include "h5mount/format/data_layout.h"

namespace h5mount::layout_parts {

// The chunk's dimensions and, last of them, the element size; `stored` counts both.
void decode_chunk_dims(Cursor& cursor, std::uint8_t stored, std::size_t width, DataLayout& layout);

// Creation parameters of fixed array, extensible array and B-tree.
void decode_index_parameters(Cursor& cursor, DataLayout& layout);

// Class 4, behind version and class.
void decode_structured(Cursor& cursor, FileSizes sizes, DataLayout& layout);

}  // namespace h5mount::layout_parts
