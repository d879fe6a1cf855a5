// Datasets of numbers as NumPy has them. Threads: any.
#pragma once

#include "api.h"
#include "element_text.h"
#include "h5mount/view/view.h"

namespace h5mount::serve {

// The part of a dataset that the parameter `selection` asks for, or all of it. `path`: for messages.
Result<view::Source> selected_data(const ApiRequest& request, const Entity& dataset);

// Whether the elements are numbers to NumPy, booleans and complex ones among them; also arrays of them.
bool is_numeric(const format::Datatype& type);

// Safe: little-endian, and floats of 4 and 8 bytes only, as JavaScript has them.
enum class NumberForm { Origin, Safe };
// Elements in a format of NumPy. InvalidValue where they are no numbers; UnsupportedFeature where there is no
// conversion.
Result<view::DatasetReaderPtr> open_numbers(view::DatasetReaderPtr reader, NumberForm form);

}  // namespace h5mount::serve
