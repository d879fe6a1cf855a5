// A dataset of numbers in another format of numbers, converted as it is read, as libhdf5 converts. Threads:
// any.
#pragma once

#include <memory>

#include "h5mount/dataset/dataset_reader.h"

namespace h5mount::dataset {

struct NumberConversion {
  format::DatatypePtr element;  // the type of the elements after the conversion
  // The types of the numbers that an element consists of, which are adjacent: one number, an array of them,
  // or a pair.
  format::DatatypePtr from, to;
};

// Types of integers or floats of `bytes` bytes, little- or big-endian, as processors have them: IEEE 754 for
// floats of 2, 4 and 8 bytes.
format::DatatypePtr integer_type(std::uint32_t bytes, bool is_signed, format::ByteOrder order);
format::DatatypePtr float_type(std::uint32_t bytes, format::ByteOrder order);

// Returns the reader itself if nothing is to be converted. Fails with UnsupportedFeature if there is no
// conversion.
Result<std::shared_ptr<const DatasetReader>> open_converted(std::shared_ptr<const DatasetReader> dataset,
                                                            const NumberConversion& conversion);

}  // namespace h5mount::dataset
