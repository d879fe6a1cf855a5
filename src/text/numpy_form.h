// Elements as h5py's arrays show them: JsonForm::NumPy.
#pragma once

#include "value_writer.h"

namespace h5mount::text {

// Whether an element of the type itself, apart from its parts, has another text than in JsonForm::Mount.
bool differs_for_numpy(const format::Datatype& type);

Status write_numpy_element(ValueWriter& writer, const format::Datatype& type, ByteSpan element);

// Appends one of NumPy's dates, which h5py stores as opaque bytes with NumPy's name of the type in the tag,
// as a JSON string, like encoders of NumPy's arrays: 2024-07-03T09:46:40.250000, without a fraction where
// that is zero; `null` for "not a time". Returns false, and appends nothing, where the type is another one or
// the year has more than five digits.
bool append_numpy_date(const format::Datatype& type, ByteSpan element, std::string& out);

}  // namespace h5mount::text
