// The parts of `prefetch` that deal with values that lie in the global heap, as text does.
#pragma once

#include "h5mount/format/datatype.h"
#include "h5mount/metadata/object_header.h"
#include "levels.h"

namespace h5mount::ahead {

// The datatype of a message, if values of it are shown as text: they may lie in the global heap.
format::DatatypePtr type_of_text(ByteSpan message, format::FileSizes sizes);

// The collections that these elements refer to.
void expect_values(Levels& levels, const format::Datatype& type, ByteSpan elements);

// Adds what tells the length of a small dataset's text: its elements, for which the filters of chunks
// are undone, and what they refer to. `header`: of any object, without damage.
void expect_text(Levels& levels, const metadata::ObjectHeader& header);

}  // namespace h5mount::ahead
