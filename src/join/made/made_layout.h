// Where the elements of a made dataset are. Threads: one.
#pragma once

#include "made_segment.h"

namespace h5mount::join {

// The message has the same size before (`segment` null: places are zeros) and after the elements and mappings
// are put into the segment.
Result<format::NewMessage> encode_layout(const MadeObject& dataset, MadeSegment* segment,
                                         const AddressOf& address_of);

// Whether chunks are told of, and so may be filters.
bool has_chunks(const MadeObject& dataset);

// As the fill value message has it: 1 early, 2 late, 3 incremental.
std::uint8_t allocation_time(const MadeObject& dataset);

}  // namespace h5mount::join
