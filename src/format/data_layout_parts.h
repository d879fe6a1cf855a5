// Shared by the sources of the data layout message.
#pragma once

#include "h5mount/format/data_layout.h"

namespace h5mount::format::layout_parts {

// The number of stored dimensions, including the element size: 2 to 33.
Field decode_dimensionality(Cursor& cursor);

// The chunk dimensions followed by the element size, `width` bytes each; `dimensionality` counts both.
void decode_chunk_dims(Cursor& cursor, const Field& dimensionality, std::size_t width, DataLayout& layout);

// Flags, dimensionality, width and dimensions, as layout versions 4 and 5 begin. Returns the flags.
std::uint8_t decode_flags_and_dims(Cursor& cursor, DataLayout& layout);

// Creation parameters of fixed array, extensible array and B-tree.
void decode_index_parameters(Cursor& cursor, DataLayout& layout);

// Class 4, after version and class.
void decode_structured(Cursor& cursor, DataLayout& layout);

}  // namespace h5mount::format::layout_parts
