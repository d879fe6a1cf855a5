// Parts of a Parquet file's metadata that are shared by the layout of a table and by rows that are added one
// after the other. Threads: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "parquet_column.h"
#include "thrift_writer.h"

namespace h5mount::view {

inline constexpr std::string_view kParquetMagic = "PAR1";

struct ParquetGroup {
  std::uint64_t rows = 0;
  std::uint64_t offset = 0;  // bytes, from the file's start
  struct Column {
    std::uint64_t names = 0;            // bytes of its dictionary page, with the header
    std::uint64_t page = 0;             // of its data page
    std::uint64_t values = 0;           // in that; 0: one a row
    std::string least = {}, most = {};  // of its values, as in a page; empty: not known
  };
  std::vector<Column> columns;
};

// Write, in FileMetaData: field 2; for each group, an element of field 4; and the last field, followed by the
// footer's length and the magic. `out`: the text that `thrift` writes to.
void write_schema(ThriftWriter& thrift, const std::vector<ParquetColumn>& columns);
void write_row_group(ThriftWriter& thrift, const std::vector<ParquetColumn>& columns,
                     const ParquetGroup& group);
// `ordered`: the number of columns if row groups have statistics, else 0.
void end_parquet_footer(ThriftWriter& thrift, std::size_t ordered, std::string& out);

// The header of a page. `type`, `encoding`: parquet.thrift `PageType`, `Encoding`.
std::string parquet_page_header(std::int32_t type, std::uint64_t page_bytes, std::uint64_t values,
                                std::int32_t encoding);

}  // namespace h5mount::view
