// Where everything stands in a Parquet file of a table (format specification of Apache Parquet), from shape
// and type alone:
//
//   0      P A R 1
//          row groups: for each column a page header and its values (PLAIN, no compression, REQUIRED)
//          footer: FileMetaData in Thrift's compact protocol
//          u32 LE length of the footer, P A R 1
#pragma once

#include <algorithm>

#include "h5mount/base/checked.h"
#include "table.h"

namespace h5mount::view {

struct ParquetColumn {
  std::string name;                            // UTF-8
  std::int32_t physical = 0;                   // parquet.thrift `Type`
  std::optional<std::int32_t> converted = {};  // parquet.thrift `ConvertedType`
  std::uint32_t value_bytes = 0;               // in the file
  std::uint64_t offset = 0;                    // bytes, within a row of the table
  std::uint32_t stored_bytes = 0;              // there
  format::ByteOrder order = format::ByteOrder::Little;
  enum class Conversion : std::uint8_t { Bytes, SignExtend, ZeroExtend, HalfFloat } conversion = {};
  std::string enum_names = {};  // JSON object, name to number
};

class ParquetLayout {
 public:
  // UnsupportedFeature, with a short phrase, where Parquet has no form for a type.
  static Result<ParquetLayout> of(const object::DatasetDescription& dataset);

  const std::vector<ParquetColumn>& columns() const { return columns_; }
  std::uint64_t rows() const { return rows_; }
  std::uint64_t rows_per_group() const { return rows_per_group_; }
  std::uint64_t groups() const { return divide_up(rows_, rows_per_group_); }
  std::uint64_t rows_of(std::uint64_t group) const {
    return std::min(rows_per_group_, rows_ - group * rows_per_group_);
  }
  std::uint64_t group_offset(std::uint64_t group) const;  // bytes, from the file's start; also the footer's
  std::string page_header(const ParquetColumn& column, std::uint64_t rows) const;
  std::string footer() const;  // with its length and the magic

 private:
  std::uint64_t group_bytes(std::uint64_t rows) const;
  void write_row_group(class ThriftWriter& out, std::uint64_t group) const;

  std::vector<ParquetColumn> columns_;
  std::uint64_t rows_ = 0, rows_per_group_ = 1;
};

inline constexpr std::string_view kParquetMagic = "PAR1";

}  // namespace h5mount::view
