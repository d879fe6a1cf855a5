// Derivations: parts of a dataset that views show like datasets: a selection of its elements, a member of its
// compound type. Each is a DatasetReader over the dataset's, so every view of a dataset works on a part too.
// Immutable; threads: any.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "h5mount/view/view.h"

namespace h5mount::view {

class Derivation {
 public:
  virtual ~Derivation() = default;

  // Shape, type and size of the part. Fails with NotFound if the dataset has no such part.
  virtual Result<object::DatasetDescription> describe(const object::DatasetDescription& dataset) const = 0;
  // The part's elements.
  virtual Result<DatasetReaderPtr> open(DatasetReaderPtr dataset) const = 0;
  // The bytes of `part` that may differ from `before`, the same part of an earlier state, if the ranges
  // `stale` of the dataset's image may have changed. `open` returned both.
  virtual std::vector<dataset::ByteRange> stale_since(const dataset::DatasetReader& part,
                                                      const dataset::DatasetReader& before,
                                                      std::span<const dataset::ByteRange> stale) const = 0;
};
using DerivationPtr = std::shared_ptr<const Derivation>;

// The elements that a text in NumPy's basic indexing selects, without brackets: `10:20,:,3`, `::100`, `-1`,
// `...,0`. An index drops its dimension; slices clip to the extent; steps are positive.
DerivationPtr derive_selection(std::string text);

// A member of a compound type, named by the path to it through nested compounds; packed.
DerivationPtr derive_member(std::vector<std::string> path);

}  // namespace h5mount::view
