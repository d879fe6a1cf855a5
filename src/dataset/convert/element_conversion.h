// Conversion of elements between two file datatypes, for virtual datasets whose sources have another type
// than the virtual dataset itself ("view" below). Numbers of any size, order and precision are converted as
// in libhdf5: integers clip at the range of the target, floats are truncated towards zero; between types of
// one size and opposite byte orders the bytes are swapped, whatever their signs. Enums are converted by the
// names of their members: each member of the source must be one of the view; a value without a name becomes
// all ones. Fixed strings are truncated or padded; of bit fields the lower bits are kept. Equal types are
// copied. For types with parts see type_conversion.h.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "h5mount/base/bytes.h"
#include "h5mount/format/datatype.h"

namespace h5mount::dataset {

// True if both types have the same stored bytes for every value.
bool same_datatype(const format::Datatype& a, const format::Datatype& b);

class ElementConversion {
 public:
  // Returns nullopt if there is no conversion between the two types.
  static std::optional<ElementConversion> make(format::DatatypePtr from, format::DatatypePtr to);

  bool identity() const { return identity_; }
  // Converts `count` elements; the spans hold count * size bytes.
  void convert(std::size_t count, ByteSpan from, MutableByteSpan to) const;

 private:
  // For each member of `from` the stored value, and the value of the member of `to` with the same name,
  // sorted by the former.
  using MemberValues = std::vector<std::pair<std::string_view, std::string_view>>;

  ElementConversion(format::DatatypePtr from, format::DatatypePtr to, bool identity)
      : from_(std::move(from)), to_(std::move(to)), identity_(identity) {}
  static std::optional<MemberValues> match_members(const format::Datatype& from, const format::Datatype& to);
  void convert_enum(std::size_t count, ByteSpan from, MutableByteSpan to) const;

  format::DatatypePtr from_, to_;
  bool identity_;
  MemberValues members_;  // views into from_ and to_; empty unless the types are enums
};

}  // namespace h5mount::dataset
