// Datasets of numbers as NumPy has them. Threads: any.
#pragma once

#include "api.h"
#include "element_text.h"
#include "h5mount/view/view.h"

namespace h5mount::serve {

// The part of a dataset that the parameter `selection` asks for, or all of it.
Result<view::ViewInput> selected_data(const ApiRequest& request, const Entity& dataset);

// Whether NumPy takes the elements for numbers: this includes booleans, complex numbers, and arrays of them.
bool is_numeric(const format::Datatype& type);

// Safe: little-endian, and only floats of 4 and 8 bytes, as JavaScript has them.
enum class NumberForm { Origin, Safe };
// The elements in a format of NumPy, or as they are if NumPy has none that holds them. Fails with
// InvalidValue if they are no numbers, and with UnsupportedFeature if there is no conversion.
Result<view::DatasetReaderPtr> open_numbers(view::DatasetReaderPtr reader, NumberForm form);

}  // namespace h5mount::serve
