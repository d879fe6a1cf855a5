// Values of a Parquet file whose sizes have to be measured: strings, for each one its length (u32 LE) and its
// bytes, and lists. Threads: any.
#pragma once

#include "parquet_layout.h"

namespace h5mount::view {

// Appends the strings of a column for some rows.
Status append_parquet_strings(const ParquetColumn& column, ByteSpan rows, std::uint64_t row_bytes,
                              const text::ValueContext& context, std::string& out);

// Appends the lists of a column for some rows, each number once: first the levels, which say where a list
// begins and which of them are empty.
Status append_parquet_lists(const ParquetColumn& column, ByteSpan rows, std::uint64_t row_bytes,
                            RequestBudget& budget, std::string& out);

// The layout with the result of one parallel pass over the strings and lists. Row groups become smaller if
// strings are long. Groups that cannot be read count as groups of empty strings; reading them fails.
// `before`: the layout of the table's previous state, or null; its row groups are valid up to the first stale
// byte of the dataset. Fails with LimitExceeded if there is more text than a file of this size can plausibly
// have.
Result<ParquetLayout> measure_parquet_strings(const ViewInput& source, const Table& table,
                                              ParquetLayout layout, const ParquetLayout* before,
                                              std::span<const dataset::ByteRange> stale,
                                              RequestBudget& budget);

}  // namespace h5mount::view
