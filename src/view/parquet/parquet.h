// Tables as Parquet files.
#pragma once

#include "h5mount/view/view.h"

namespace h5mount::view {

Result<std::optional<std::string>> parquet_unfit(const object::DatasetDescription& dataset,
                                                 RequestBudget& budget);
Result<std::optional<std::uint64_t>> parquet_size(const object::DatasetDescription& dataset,
                                                  RequestBudget& budget);
Result<ComputedFilePtr> make_parquet(Source source, const ComputedFile* before,
                                     std::span<const dataset::ByteRange> stale, RequestBudget& budget);

}  // namespace h5mount::view
