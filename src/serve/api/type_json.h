// Datatypes as h5grove describes them: libhdf5's numbers of classes and orders, NumPy's dtypes, and the sizes
// that libhdf5 has in memory. Threads: any.
#pragma once

#include "h5mount/format/datatype.h"
#include "h5mount/text/json_writer.h"

namespace h5mount::serve {

// An object. Errors: those of the budget, as a type may name many members.
Status write_type(const format::Datatype& type, text::JsonWriter& json, RequestBudget& budget);

// NumPy's dtype of a number as h5py reads it (`<i4`, `|b1`, `<c16`); nothing for what is none.
std::optional<std::string> numeric_dtype(const format::Datatype& type);

// Of a float, in bytes: the smallest of NumPy's formats that holds all its values and, where these have up to
// 8 bytes, is no smaller than they are.
std::uint32_t numpy_float_size(const format::Datatype& type);
// Of an integer, in bytes: 1, 2, 4 or 8; nothing where it is wider.
std::optional<std::uint32_t> numpy_integer_size(const format::Datatype& type);

}  // namespace h5mount::serve
