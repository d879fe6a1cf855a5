// Elements as h5py's arrays show them: JsonForm::NumPy.
#pragma once

#include "value_writer.h"

namespace h5mount::text {

// Whether an element of the type itself, apart from its parts, has another text than in JsonForm::Mount.
bool differs_for_numpy(const format::Datatype& type);

Status write_numpy_element(ValueWriter& writer, const format::Datatype& type, ByteSpan element);

}  // namespace h5mount::text
