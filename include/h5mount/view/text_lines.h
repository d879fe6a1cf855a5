// Datasets as lines of text, measured by one parallel pass: the file of a dataset whose elements have no byte
// form of their own, and the view text/. Threads: any.
#pragma once

#include "h5mount/view/view.h"

namespace h5mount::view {

// True if a dataset of this type has no byte form of its own: strings of variable length become lines, and
// other types with variable-length parts or references become JSON lines.
bool is_shown_as_text(const format::Datatype& type);

// Such a dataset as text, one element on each line. An element that cannot be read is an error of the bytes
// in its place.
Result<ComputedFilePtr> make_element_lines(ViewInput source, const Earlier& before, RequestBudget& budget);

// The place where the line of an element begins in a file of `make_element_lines`; the file's size for one
// behind the last. Those that cannot be read stand together: for one in their midst it is where they begin.
Result<std::uint64_t> line_offset(const ComputedFile& lines, std::uint64_t element, RequestBudget& budget);

}  // namespace h5mount::view
