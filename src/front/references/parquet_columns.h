// The columns of a small Parquet file: of bytes and of whole numbers of 64 bits, in PLAIN or a dictionary,
// not compressed. Threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "h5mount/base/error.h"

namespace h5mount::front {

// monostate: it is missing. Views are of the file's bytes.
using ParquetCell = std::variant<std::monostate, std::int64_t, std::string_view>;
struct ParquetColumnCells {
  std::string name;
  std::vector<ParquetCell> cells;
};

// Fails with InvalidValue if it is no such file, and with LimitExceeded if it has more rows.
Result<std::vector<ParquetColumnCells>> read_parquet_columns(std::string_view file, std::size_t most_rows);

}  // namespace h5mount::front
