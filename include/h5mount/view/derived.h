// Derivations: parts of a dataset that views show as datasets of their own: a selection of its elements, a
// member of its compound type. Each gives a DatasetReader over the dataset's, so that every view of a dataset
// is one of a part as well. Immutable; threads: any.
#pragma once

#include <memory>

#include "h5mount/view/view.h"

namespace h5mount::view {

class Derivation {
 public:
  virtual ~Derivation() = default;

  // What the part is: its shape, type and size. NotFound where the dataset has no such part.
  virtual Result<object::DatasetDescription> describe(const object::DatasetDescription& dataset) const = 0;
  // Its elements. `before`: the same part of the dataset's state before, or null; the reader's
  // `take_outdated` then gives the stale ranges of the part.
  virtual Result<DatasetReaderPtr> open(const dataset::ReadEnvironment& environment, DatasetReaderPtr dataset,
                                        const DatasetReaderPtr& before) const = 0;
};
using DerivationPtr = std::shared_ptr<const Derivation>;

}  // namespace h5mount::view
