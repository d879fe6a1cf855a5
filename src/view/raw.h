// The elements as stored, or as text if their type has no byte form (text_lines.h), for parts of datasets.
// The file's own tree shows whole datasets.
#pragma once

#include "h5mount/view/view.h"

namespace h5mount::view {

Result<std::optional<std::string>> raw_unfit(const object::DatasetDescription& dataset,
                                             RequestBudget& budget);
Result<std::optional<std::uint64_t>> raw_size(const object::DatasetDescription& dataset,
                                              RequestBudget& budget);
Result<ComputedFilePtr> make_raw(Source source, const ComputedFile* before,
                                 std::span<const dataset::ByteRange> stale, RequestBudget& budget);

}  // namespace h5mount::view
