// Forms in which Zarr's metadata and attributes hold numbers and bytes.
#pragma once

#include <optional>
#include <string>

#include "h5mount/format/datatype.h"

namespace h5mount::view {

// A JSON string in base64 (RFC 4648, 4).
std::string base64(ByteSpan bytes, std::string_view prefix = "");

// The value of an element of IEEE half or single precision, as the double nearest to its shortest decimal is
// another number, and JSON has only doubles. Returns nullopt for other types.
std::optional<double> exact_double(const format::Datatype& type, ByteSpan element);

}  // namespace h5mount::view
