// A dataset with its dimensions in another order: MATLAB's arrays are stored with theirs reversed. Threads:
// any.
#pragma once

#include <span>

#include "h5mount/dataset/dataset_reader.h"

namespace h5mount::dataset {

// Dimension i of what is shown is dimension axes[i] of the dataset; each occurs once.
object::DatasetDescription describe_permuted(const object::DatasetDescription& dataset,
                                             std::span<const std::size_t> axes);

// The elements in that order. `shown` describes them: `describe_permuted`, or another view of the same bytes.
// A reader that moves forward is served from blocks of up to 8 MiB, each made by one pass over the storage
// of its elements; all readers of the process together keep 64 MiB of them.
DatasetReaderPtr open_permuted(DatasetReaderPtr dataset, std::span<const std::size_t> axes,
                               object::DatasetDescription shown);

}  // namespace h5mount::dataset
