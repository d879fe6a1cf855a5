// Tables as text files: comma- and tab-separated values, newline-delimited JSON.
#pragma once

#include "table.h"

namespace h5mount::view {

Result<ComputedFilePtr> make_csv(Source source, const ComputedFile* before,
                                 std::span<const dataset::ByteRange> stale, RequestBudget& budget);
Result<ComputedFilePtr> make_tsv(Source source, const ComputedFile* before,
                                 std::span<const dataset::ByteRange> stale, RequestBudget& budget);
Result<ComputedFilePtr> make_ndjson(Source source, const ComputedFile* before,
                                    std::span<const dataset::ByteRange> stale, RequestBudget& budget);

// The size of csv and tsv is known only after a pass over the data.
Result<std::optional<std::uint64_t>> measured_size(const object::DatasetDescription& dataset,
                                                   RequestBudget& budget);
Result<std::optional<std::uint64_t>> ndjson_size(const object::DatasetDescription& dataset,
                                                 RequestBudget& budget);

}  // namespace h5mount::view
