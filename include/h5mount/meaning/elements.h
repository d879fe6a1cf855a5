// Elements that are decoded one by one, and the dataset of what they mean. Immutable; threads: any.
#pragma once

#include <memory>

#include "h5mount/dataset/derivation.h"

namespace h5mount::meaning {

// What is done with many elements at once.
class Elements {
 public:
  virtual ~Elements() = default;
  // Writes what each means to `shown`, and 1 or 0 to `missing`, which may be null.
  virtual void decode(ByteSpan stored, MutableByteSpan shown, std::byte* missing) const = 0;
};
using ElementsPtr = std::shared_ptr<const Elements>;

// The dataset with elements of another type. `elements_in_one`: how many of the stored ones each is made of.
Result<object::DatasetDescription> described_as(const object::DatasetDescription& dataset,
                                                format::DatatypePtr type, std::uint64_t elements_in_one);

// A dataset with what each element means. `type`: of that; `stored_bytes`: of an element.
dataset::DerivationPtr derive_elements(ElementsPtr elements, format::DatatypePtr type,
                                       std::uint64_t stored_bytes);
// The same of datasets of one or two dimensions, as rows: what each element of the row means, one behind the
// other, and then for each a byte that is 1 where it is missing.
dataset::DerivationPtr derive_rows(ElementsPtr elements, format::DatatypePtr type,
                                   std::uint64_t stored_bytes);

}  // namespace h5mount::meaning
