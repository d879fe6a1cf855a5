// Conversion of elements between two file datatypes, for virtual datasets whose sources are of another type
// than the view: numbers of any size, order and precision (as libhdf5 converts: integers clip at the range of
// the target, floats are cut towards zero; of types of one size and opposite byte orders the bytes are
// swapped, whatever their signs), enums (member by member, by their names: each of the source must be one of
// the view; a value without a name becomes all ones), fixed strings (cut or padded), and types that are the
// same.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

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
  // The stored value of each member of `from` and that of the member of `to` with its name, by the former.
  using MemberValues = std::vector<std::pair<std::string_view, std::string_view>>;

  ElementConversion(format::DatatypePtr from, format::DatatypePtr to, bool identity)
      : from_(std::move(from)), to_(std::move(to)), identity_(identity) {}
  static std::optional<MemberValues> match_members(const format::Datatype& from, const format::Datatype& to);
  void convert_enum(std::size_t count, ByteSpan from, MutableByteSpan to) const;

  format::DatatypePtr from_, to_;
  bool identity_;
  MemberValues members_;  // views into from_ and to_; empty but from enum to enum
};

}  // namespace h5mount::dataset
