// Undoes the filters that were applied to a Blosc block before its codec.
#pragma once

#include "chunk_header.h"
#include "nd_copy.h"

namespace h5mount::filter::blosc {

// True if undoing the slot's filter needs separate input and output buffers.
bool moves(const ChunkHeader& header, FilterSlot slot);

// Undoes all of the header's filters, last to first. On entry the block's bytes are in `out` if an even
// number of its filters `moves`, else in `other` (same size); the result is in `out`. `reference` (for delta)
// is the decoded first block of the chunk, or empty for that block itself. `shape` (for cell filters) is the
// block's, or empty if the chunk belongs to no array.
Status undo_filters(const ChunkHeader& header, Extents shape, ByteSpan reference, MutableByteSpan out,
                    MutableByteSpan other);

// Single steps of it, for tests.
void undo_delta(std::size_t typesize, ByteSpan reference, MutableByteSpan block);
void undo_byte_delta(std::size_t planes, MutableByteSpan block);
void undo_old_byte_delta(std::size_t planes, MutableByteSpan block);
Status undo_cells(Extents shape, std::size_t cell, ByteSpan in, MutableByteSpan out);

}  // namespace h5mount::filter::blosc
