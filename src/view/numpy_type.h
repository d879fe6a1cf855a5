// HDF5 datatypes as NumPy's dtypes, mapped as h5py does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "h5mount/base/error.h"
#include "h5mount/format/datatype.h"

namespace h5mount::view {

// A dtype and the dimensions that an array datatype adds to it.
struct NumpyType {
  std::string description;          // a Python literal, as a .npy header's `descr`: '<f4', [('a', '<i4'), …]
  std::vector<std::uint32_t> dims;  // of an array datatype, outermost first
};

// Fails with UnsupportedFeature, and a short phrase as its text, if NumPy has no dtype with these stored
// bytes.
Result<NumpyType> numpy_type(const format::Datatype& type);

}  // namespace h5mount::view
