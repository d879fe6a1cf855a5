// ParquetRows: writes a Parquet file from its beginning to its end, from rows that are added one after the
// other: texts, bytes and whole numbers, any of which may be missing. A row group is held in memory until it
// is full.
//
//   ParquetRows rows({{"name", ParquetRows::Kind::Text}, {"size", ParquetRows::Kind::Number}}, take);
//   rows.add(cells);
//   rows.finish();
//
// Threads: one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "h5mount/base/error.h"

namespace h5mount::view {

class ParquetRows {
 public:
  // UTF-8; the same, each text once in a row group's dictionary; any bytes; signed, of 64 bits.
  enum class Kind : std::uint8_t { Text, Name, Bytes, Number };
  struct Column {
    std::string name;  // UTF-8
    Kind kind = Kind::Text;
  };
  // monostate: it is missing; a string_view: of the column's kind.
  using Cell = std::variant<std::monostate, std::int64_t, std::string_view>;
  using Take = std::function<Status(std::string_view bytes)>;  // of the file, in their order

  // A row group ends with the row by which it reaches so many bytes.
  static constexpr std::size_t kGroupBytes = 4U << 20;

  ParquetRows(const std::vector<Column>& columns, Take take);
  ~ParquetRows();
  ParquetRows(const ParquetRows&) = delete;
  ParquetRows& operator=(const ParquetRows&) = delete;

  // One cell for each column, of the column's kind. Errors: those of `take`.
  Status add(std::span<const Cell> row);
  Status finish();

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace h5mount::view
