// DatasetPart: a regular selection of a dataset's elements, or of one member of each, as a dataset of its
// own. Its reader uses the dataset's reader, and reads only the storage that the selection touches.
#pragma once

#include <memory>
#include <vector>

#include "h5mount/dataset/dataset_reader.h"

namespace h5mount::dataset {

struct DatasetPart {
  // The selection in one dimension: `count` positions from `start` on, `step` apart; all are within the
  // extent.
  struct Axis {
    std::uint64_t start = 0, step = 1, count = 0;
    bool dropped = false;  // true: not a dimension of the part, as an index selected its only position
    bool operator==(const Axis&) const = default;
  };
  std::vector<Axis> axes;            // one for each dimension of the dataset
  format::DatatypePtr type;          // type of the part's elements
  std::uint64_t element_offset = 0;  // bytes from the beginning of the dataset's element
};

// Selects the whole dataset.
DatasetPart whole_dataset(const object::DatasetDescription& dataset);

// Shape, type and size of the part; its storage is described as contiguous, without filters.
object::DatasetDescription describe_part(const object::DatasetDescription& dataset, const DatasetPart& part);

std::shared_ptr<const DatasetReader> open_part(std::shared_ptr<const DatasetReader> dataset,
                                               DatasetPart part);

// The ranges of a part's image that have become stale since `before`, which is the same part of an earlier
// state, if `stale` are the stale ranges of the dataset's image. Both readers must come from open_part.
std::vector<ByteRange> stale_in_part(const DatasetReader& part, const DatasetReader& before,
                                     std::span<const ByteRange> stale);

}  // namespace h5mount::dataset
