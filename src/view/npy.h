// NumPy's file format: a header, then the dataset's image as stored.
#pragma once

#include "h5mount/view/view.h"

namespace h5mount::view {

Result<std::optional<std::string>> npy_unfit(const object::DatasetDescription& dataset,
                                             RequestBudget& budget);
Result<std::optional<std::uint64_t>> npy_size(const object::DatasetDescription& dataset,
                                              RequestBudget& budget);
Result<ComputedFilePtr> make_npy(Source source, const ComputedFile* before,
                                 std::span<const dataset::ByteRange> stale, RequestBudget& budget);

}  // namespace h5mount::view
