// The layout of a Parquet file of a table (format specification of Apache Parquet). It follows from shape and
// type alone, except for strings, whose lengths have to be measured.
//
//   0      P A R 1
//          row groups: for each column a page header and its values (PLAIN, no compression, REQUIRED; where
//          values may be missing OPTIONAL, with levels: parquet_dictionary.h);
//          columns of names have a dictionary and indices (parquet_dictionary.h)
//          footer: FileMetaData in Thrift's compact protocol
//          u32 LE length of the footer, P A R 1
#pragma once

#include <algorithm>

#include "../table/table.h"
#include "h5mount/base/checked.h"
#include "parquet_column.h"
#include "parquet_metadata.h"

namespace h5mount::view {

// The result of one pass over the columns of strings and lists.
struct ParquetStrings {
  std::vector<std::uint64_t> page_bytes;  // of each row group, of each of these columns in order
  std::vector<std::uint64_t> values;      // of the same pages, of lists
  std::vector<bool> utf8;  // whether all strings of a column are UTF-8: else they are plain bytes
};

class ParquetLayout {
 public:
  static constexpr std::uint64_t kMaxColumns = 4096;

  // Fails with UnsupportedFeature, and a short phrase, if Parquet cannot represent a type. `table`: that of
  // the dataset. `most_rows`: the most rows of a group. The lengths of strings are unknown before
  // set_strings.
  static Result<ParquetLayout> of(const object::DatasetDescription& dataset, const Table& table,
                                  RequestBudget& budget, std::uint64_t most_rows = format::kUnlimited);
  void set_strings(ParquetStrings strings);

  const std::vector<ParquetColumn>& columns() const { return columns_; }
  std::size_t string_columns() const { return string_columns_; }
  const ParquetStrings& strings() const { return strings_; }
  std::uint64_t rows() const { return rows_; }
  std::uint64_t rows_per_group() const { return rows_per_group_; }
  std::uint64_t groups() const { return boxes_ ? boxes_->boxes() : divide_up(rows_, rows_per_group_); }
  std::uint64_t first_row(std::uint64_t group) const {
    return boxes_ ? first_rows_[static_cast<std::size_t>(group)] : group * rows_per_group_;
  }
  std::uint64_t rows_of(std::uint64_t group) const {
    return boxes_ ? first_row(group + 1) - first_row(group)
                  : std::min(rows_per_group_, rows_ - group * rows_per_group_);
  }
  std::uint64_t group_of_row(std::uint64_t row) const;
  bool in_boxes() const { return boxes_ != nullptr; }
  // An offset in bytes from the file's start; for the group after the last one, the footer's offset.
  std::uint64_t group_offset(std::uint64_t group) const;
  std::uint64_t group_at(std::uint64_t offset) const;
  std::uint64_t page_bytes(const ParquetColumn& column, std::uint64_t group) const;  // of values
  std::uint64_t page_values(const ParquetColumn& column, std::uint64_t group) const;
  std::string page_header(const ParquetColumn& column, std::uint64_t group) const;
  ParquetGroup group(std::uint64_t index) const;
  // The dictionary page before the page of indices, with its header; empty for other columns.
  std::string dictionary_page(const ParquetColumn& column, std::uint64_t group) const;
  // The code of its first name.
  std::uint64_t first_code(const ParquetColumn& column, std::uint64_t group) const;
  std::uint64_t all_dictionary_bytes() const { return dictionary_bytes_; }
  std::string footer() const;  // with its length and the magic
  // For a table without strings. The cost does not depend on the number of groups.
  std::uint64_t footer_size() const;
  // At least footer_size(), for any table.
  std::uint64_t most_footer_bytes() const;

 private:
  // The names of a dictionary page that a group has: all, or those of its box.
  struct Names {
    std::uint64_t first = 0, count = 0, bytes = 0;
  };
  Names names_of(const ParquetColumn& column, std::uint64_t group) const;
  std::string dictionary_header(const ParquetColumn& column, std::uint64_t group) const;
  std::uint64_t dictionary_bytes(const ParquetColumn& column, std::uint64_t group) const;  // with its header
  void add_statistics(const ParquetColumn& column, std::uint64_t group, ParquetGroup::Column& out) const;
  std::uint64_t group_bytes(std::uint64_t group) const;
  std::uint64_t column_bytes(const ParquetColumn& column, std::uint64_t group) const;
  Status set_boxes(RequestBudget& budget);
  void set_offsets();
  std::uint64_t most_schema_bytes() const;  // of the footer, groups apart
  std::uint64_t most_bytes_of_group() const;

  std::vector<ParquetColumn> columns_;
  std::size_t string_columns_ = 0;
  std::uint64_t dictionary_bytes_ = 0;  // of all columns
  std::uint64_t rows_ = 0, rows_per_group_ = 1;
  ParquetStrings strings_;
  object::GridRowsPtr boxes_;              // of which each is a group; null: groups have equally many rows
  std::vector<std::uint64_t> first_rows_;  // of each box, and behind the last
  std::uint64_t whole_group_ = 0, last_group_ = 0;  // bytes, if all groups but the last have one size
  std::vector<std::uint64_t> offsets_;  // of groups, and of the footer, if there are strings or boxes
};

inline constexpr std::uint64_t kStepsPerFooterByte = 8;  // of a request's budget

}  // namespace h5mount::view
