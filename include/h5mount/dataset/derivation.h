// Derivations: what stands for a dataset where something else than its own elements is shown: a selection of
// them, a member of its compound type, the values that they mean. Each is a DatasetReader over the dataset's,
// so that every view of a dataset works on it too. Immutable; threads: any.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "h5mount/dataset/dataset_reader.h"

namespace h5mount::dataset {

// What elements are shown as, where the values that they mean have a form for each.
enum class ShownAs : std::uint8_t { Bytes, Text, TextTable, ColumnTable };

// The tag of opaque elements of eight bytes that are little-endian microseconds since 1970-01-01, in the
// proleptic Gregorian calendar and no time zone: a column of times.
inline constexpr std::string_view kTimestampTag = "timestamp[us]";

class Derivation {
 public:
  virtual ~Derivation() = default;

  // Shape, type and size of what is derived. Fails with NotFound if the dataset has no such part.
  virtual Result<object::DatasetDescription> describe(const object::DatasetDescription& dataset) const = 0;
  // The elements.
  virtual Result<DatasetReaderPtr> open(DatasetReaderPtr dataset) const = 0;
  // The bytes of `part` that may differ from `before`, the same of an earlier state, if the ranges `stale` of
  // the dataset's image may have changed. `open` returned both.
  virtual std::vector<ByteRange> stale_since(const DatasetReader& part, const DatasetReader& before,
                                             std::span<const ByteRange> stale) const = 0;
};
using DerivationPtr = std::shared_ptr<const Derivation>;

}  // namespace h5mount::dataset
