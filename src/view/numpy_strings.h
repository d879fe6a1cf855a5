// Strings of fixed length in NumPy's form, in which the bytes after the end of a string are zero. HDF5 leaves
// any bytes behind the NUL of a null-terminated string, and pads other strings with spaces, which libhdf5
// removes when h5py reads.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "h5mount/dataset/dataset_reader.h"

namespace h5mount::view {

// The strings in the elements of a type whose stored bytes are not NumPy's. Immutable; threads: any.
class NumpyStrings {
 public:
  // Returns null if the type has no such strings: its elements are handed on as they are stored.
  static std::shared_ptr<const NumpyStrings> in(const format::Datatype& type);

  // Elements are read whole, so larger elements with such strings are not shown.
  static constexpr std::uint64_t kMaxElementBytes = 16U << 20;
  static Status check_size(const format::Datatype& type);

  // Clears the bytes after the strings in whole elements of stored bytes.
  void clear(MutableByteSpan elements) const;

  // Appends the bytes [offset, offset + length) of a dataset's image with these bytes cleared.
  Status read(const dataset::DatasetReader& dataset, std::uint64_t offset, std::uint64_t length,
              RequestBudget& budget, dataset::Pieces& out) const;

  // The elements that a range touches.
  dataset::ByteRange whole_elements(dataset::ByteRange range) const;

 private:
  // Strings, or groups of members, that follow one another at equal distances.
  struct Place {
    std::uint64_t offset = 0, count = 1, distance = 0;
    std::uint64_t bytes = 0;  // of a string
    format::StringPadding padding = format::StringPadding::NullTerminate;
    std::vector<Place> members;  // none: strings
  };
  static std::vector<Place> places_in(const format::Datatype& type);
  static void clear(const Place& place, MutableByteSpan bytes);

  std::vector<Place> places_;
  std::uint64_t element_bytes_ = 0;
};

}  // namespace h5mount::view
