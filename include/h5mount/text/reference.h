// What an element of a reference type refers to. Pure but for the heap that is read; threads: any.
#pragma once

#include <optional>
#include <string>

#include "h5mount/format/selection.h"
#include "h5mount/text/value_text.h"

namespace h5mount::text {

struct ReferenceTarget {
  std::uint64_t address = format::kUndefinedAddress;  // of the object, in the file that has it
  std::optional<std::string> file = {};               // another file than that of the reference
  std::optional<format::Selection> selection = {};    // of a dataset's elements
  std::optional<std::string> attribute = {};          // its name
};

// `type`: of class Reference; `element`: one element. Returns nullopt for a null reference. Errors: of what
// is stored, and of the budget; whether something is at the address is not looked at.
Result<std::optional<ReferenceTarget>> decode_reference(const format::Datatype& type, ByteSpan element,
                                                        const ValueContext& context);

}  // namespace h5mount::text
