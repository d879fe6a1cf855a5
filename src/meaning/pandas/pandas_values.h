// What the columns of pandas' frames are, by the type that they are stored in and the name of their own.
// Immutable; threads: any.
#pragma once

#include <string>
#include <string_view>

#include "records.h"

namespace h5mount::meaning {

struct PandasTexts {
  std::string missing = "nan";  // the text of a missing value
  bool latin1 = false;          // else UTF-8
};

// The column whose bytes are at `offset` of the rows. `dtype`: pandas' name of the type, or of the kind of an
// index, which may be empty. Missing are NaN, NaT, and the text for it. Times are texts with nine decimals,
// or dataset::kTimestampTag for a ColumnTable.
RecordColumn pandas_column(std::string name, std::uint64_t offset, const format::DatatypePtr& stored,
                           std::string_view dtype, const PandasTexts& texts, dataset::ShownAs form);

// Makes doubles, seconds, of PyTables' Time64: seconds in the upper half, microseconds in the lower one, with
// the rounding of PyTables.
ElementsPtr seconds_of_time64(bool big_endian);

}  // namespace h5mount::meaning
