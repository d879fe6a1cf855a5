// Bounds on the length of a value's text, computed from the type and the extent without writing the text.
#pragma once

#include <cstdint>

#include "h5mount/format/dataspace.h"
#include "h5mount/format/datatype.h"

namespace h5mount::text {

struct TextBounds {
  std::uint64_t least = 0, most = 0;  // bytes; UINT64_MAX: unbounded
};

// Bounds for value_text of these elements. Variable-length strings are measured by the lengths that the
// elements in `data` state; other variable-length parts and references have no upper bound here.
TextBounds value_text_bounds(const format::Datatype& type, const format::Dataspace& space, ByteSpan data);

}  // namespace h5mount::text
