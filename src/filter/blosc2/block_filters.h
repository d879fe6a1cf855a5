// What a Blosc block went through before its codec, undone.
#pragma once

#include "chunk_header.h"
#include "nd_copy.h"

namespace h5mount::filter::blosc {

// True where the slot's filter cannot be undone in place: its input and output are different buffers.
bool moves(const ChunkHeader& header, FilterSlot slot);

// Undoes all of the header's filters, last to first. The block's bytes stand in `out` where an even number of
// its filters moves, else in `other`, which is as long; they end in `out`. `reference` is the decoded first
// block of the chunk, or empty for that block itself: what delta needs. `shape`: the block's, or empty where
// the chunk is of no array: what filters that know cells need.
Status undo_filters(const ChunkHeader& header, Extents shape, ByteSpan reference, MutableByteSpan out,
                    MutableByteSpan other);

// Single steps, for tests.
void undo_delta(std::size_t typesize, ByteSpan reference, MutableByteSpan block);
void undo_byte_delta(std::size_t planes, MutableByteSpan block);
void undo_old_byte_delta(std::size_t planes, MutableByteSpan block);
Status undo_cells(Extents shape, std::size_t cell, ByteSpan in, MutableByteSpan out);

}  // namespace h5mount::filter::blosc
