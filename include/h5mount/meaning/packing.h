// Packed numbers, and which of them are missing: what CF and netCDF say of the elements of a dataset.
// Immutable; threads: any.
#pragma once

#include <optional>
#include <vector>

#include "h5mount/meaning/elements.h"
#include "h5mount/meaning/numbers.h"

namespace h5mount::meaning {

struct Packing {
  NumberType stored;
  NumberKind read_as = NumberKind::I8;  // the stored kind, or that of the other sign
  // The value is the stored number times `scale`, plus `offset`, each rounded in the type of the result. What
  // is absent does nothing: -0.0 plus 0 would be 0.
  std::optional<double> scale, offset;
  // Without these the stored number is the value.
  bool scaled() const { return scale || offset; }
  NumberKind shown = NumberKind::I8;  // F32 or F64 if it is scaled, else `read_as`

  // Missing are numbers that equal one of these, and those below `least` and above `most`: as
  // AttributeNumbers has them, in the kind `read_as`. A NaN among them stands for each.
  std::vector<std::uint64_t> fills;
  std::optional<std::uint64_t> least, most;
  bool may_miss() const { return !fills.empty() || least || most; }
  // Whether a missing value can be seen in the values: it is NaN.
  bool marks_missing() const { return may_miss() && !is_integer(shown); }
  bool changes_values() const { return scaled() || marks_missing() || read_as != stored.kind; }
};

// What the attributes of a dataset say of its numbers; nullopt: it has others than processors have. Errors
// are those of reading attributes.
Result<std::optional<Packing>> packing_of(const Subject& subject);

// Makes values of stored numbers: little-endian ones of the kind `shown`; a missing float is NaN, a missing
// integer as it is stored.
ElementsPtr elements_of(const Packing& packing);
format::DatatypePtr type_of(NumberKind kind);

// What is made of the values of numbers.
class OfNumbers : public Elements {
 public:
  void decode(ByteSpan stored, MutableByteSpan shown, std::byte* missing) const final;

 protected:
  // `shown_bytes`: of what each number means.
  OfNumbers(const Packing& packing, std::size_t shown_bytes);

 private:
  // Writes what a value of the kind `Packing::shown` means; null: it is missing. Returns false if it is
  // written as missing.
  virtual bool write(const std::byte* value, MutableByteSpan to) const = 0;

  const ElementsPtr values_;
  const std::size_t stored_bytes_, value_bytes_, shown_bytes_;
};

}  // namespace h5mount::meaning
