// DatasetPart: a regular selection of a dataset's elements, or of one member of each, as a dataset of its
// own: a DatasetReader over the dataset's, which reads only the storage that the selection touches.
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
    bool dropped = false;  // not a dimension of the part: an index selected its only position
    bool operator==(const Axis&) const = default;
  };
  std::vector<Axis> axes;            // one for each dimension of the dataset
  format::DatatypePtr type;          // of the part's elements
  std::uint64_t element_offset = 0;  // bytes, within the dataset's elements
};

// Selects the whole dataset.
DatasetPart whole_dataset(const object::DatasetDescription& dataset);

// Shape, type and size of the part; storage is contiguous, without filters.
object::DatasetDescription describe_part(const object::DatasetDescription& dataset, const DatasetPart& part);

std::shared_ptr<const DatasetReader> open_part(std::shared_ptr<const DatasetReader> dataset,
                                               DatasetPart part);

// What is stale in a part since `before`, the same part of an earlier state, where `stale` is so in the
// dataset's image. Both were returned by open_part.
std::vector<ByteRange> stale_in_part(const DatasetReader& part, const DatasetReader& before,
                                     std::span<const ByteRange> stale);

}  // namespace h5mount::dataset
