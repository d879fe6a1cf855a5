// How long a value's text is, without writing it: bounds by arithmetic on the type and the extent.
#pragma once

#include <cstdint>

#include "h5mount/format/dataspace.h"
#include "h5mount/format/datatype.h"

namespace h5mount::text {

struct TextBounds {
  std::uint64_t least = 0, most = 0;  // bytes; UINT64_MAX where there is no bound
};

// Of value_text of these elements. Variable-length strings are measured by the lengths that the elements in
// `data` claim; other variable-length parts and references have no upper bound here.
TextBounds value_text_bounds(const format::Datatype& type, const format::Dataspace& space, ByteSpan data);

}  // namespace h5mount::text
