// Conversion of elements between two file datatypes, for virtual datasets whose sources are of another type
// than the view: numbers of any size, order and precision (as libhdf5 converts: integers clip at the range of
// the target, floats are cut towards zero; of types of one size and opposite byte orders the bytes are
// swapped, whatever their signs), fixed strings (cut or padded), and types that are the same.
#pragma once

#include <optional>

#include "h5mount/base/bytes.h"
#include "h5mount/format/datatype.h"

namespace h5mount::dataset {

// True where the stored bytes of one are those of the other.
bool same_datatype(const format::Datatype& a, const format::Datatype& b);

class ElementConversion {
 public:
  // Nothing where there is no conversion between the two.
  static std::optional<ElementConversion> make(format::DatatypePtr from, format::DatatypePtr to);

  bool identity() const { return identity_; }
  // `count` elements; the spans hold count * size bytes.
  void convert(std::size_t count, ByteSpan from, MutableByteSpan to) const;

 private:
  ElementConversion(format::DatatypePtr from, format::DatatypePtr to, bool identity)
      : from_(std::move(from)), to_(std::move(to)), identity_(identity) {}
  format::DatatypePtr from_, to_;
  bool identity_;
};

}  // namespace h5mount::dataset
