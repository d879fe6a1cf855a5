// Selections in NumPy's basic indexing without brackets: `10:20,:,3`, `::100`, `-1`, `...,0`.
#pragma once

#include <string_view>

#include "h5mount/dataset/dataset_part.h"

namespace h5mount::view {

// The selection that the text describes. An index drops its dimension; slices clip to the extent; steps are
// positive. Fails with NotFound if the text is not a selection of a dataset of that rank, or if an index is
// out of range.
Result<dataset::DatasetPart> parse_selection(std::string_view text,
                                             const object::DatasetDescription& dataset);

}  // namespace h5mount::view
