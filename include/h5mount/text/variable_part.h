// The elements that an element of a variable-length type refers to. Pure but for the heap that is read;
// threads: any.
#pragma once

#include <optional>

#include "h5mount/metadata/global_heap.h"
#include "h5mount/text/value_text.h"

namespace h5mount::text {

struct VariablePart {
  std::uint32_t length = 0;                          // elements
  std::optional<metadata::GlobalHeapObject> object;  // holds at least these; nullopt if there are none
};

// `item_bytes`: of one of them, 1 for strings. Errors: of what is stored.
Result<VariablePart> load_variable_part(ByteSpan element, std::uint64_t item_bytes,
                                        const ValueContext& context);

}  // namespace h5mount::text
