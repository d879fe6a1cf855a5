// NumPy's dates, which h5py stores as opaque bytes with NumPy's name of the type in the tag: NUMPY:<M8[s].
#pragma once

#include <string>

#include "h5mount/format/datatype.h"

namespace h5mount::text {

// Appends a date as a JSON string, as encoders of NumPy's arrays write it: 2024-07-03T09:46:40.250000,
// without a fraction where that is zero; `null` for NumPy's "not a time". Returns false, and appends nothing,
// where the type is another one or the year has more than five digits.
bool append_numpy_date(const format::Datatype& type, ByteSpan element, std::string& out);

}  // namespace h5mount::text
