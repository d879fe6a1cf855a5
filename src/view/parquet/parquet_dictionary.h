// Columns of names in a Parquet file: the names once in each row group, in a dictionary page, and an index
// for each row. A run of bit-packed indices of 8, 16 or 24 bits has the same length for all values, so the
// size of the file follows from the shape and the names:
//
//   u32 LE bytes of the definition levels   these two if values may be missing
//   run header (varint), a bit a row        1: the row has a value
//   u8 bits of an index
//   run header (varint), indices LE         of the rows that have a value; then zeros, which are not read
//
// Runs are of whole groups of eight. Threads: any.
#pragma once

#include <string>

#include "parquet_column.h"

namespace h5mount::view {

// The bytes of the dictionary pages of categories, and the most that those of an enumeration have.
std::uint64_t dictionary_bytes(const object::Categories& categories);
std::uint64_t most_dictionary_bytes(const format::Datatype& type);

// The names of all 256 values of an enumeration of one byte; a value without a name is its number.
Result<ParquetDictionaryPtr> enum_dictionary(const format::Datatype& type);
ParquetDictionaryPtr category_dictionary(const object::Categories& categories);

// A number of the column's type as it stands in the file, in its lowest bytes.
std::uint64_t value_bits(const ParquetColumn& column, const std::byte* at);

// The bytes of an index among so many names: 1 to 3, as some readers do not accept 32 bits.
std::uint32_t index_bytes(std::uint64_t names);

// The header of a run of bit-packed values for so many rows.
std::string run_header(std::uint64_t rows);

// The definition levels of a page of so many rows: a bit a row, which says that it has a value. None of a
// column of which no value may be missing.
std::uint64_t level_bytes(const ParquetColumn& column, std::uint64_t rows);
class ParquetLevels {
 public:
  // Appends levels that say that all values are missing.
  ParquetLevels(const ParquetColumn& column, std::uint64_t rows, std::string& out);
  void set_present(std::size_t row) {
    if (bits_) out_[*bits_ + row / 8] = static_cast<char>(out_[*bits_ + row / 8] | 1 << row % 8);
  }

 private:
  std::string& out_;
  std::optional<std::size_t> bits_;  // their place; nullopt: there are none
};

// The bytes of a data page of so many rows.
std::uint64_t index_page_bytes(const ParquetColumn& column, std::uint64_t rows);

// Appends the data page of some rows. `first`: the code of the first name in the dictionary. Fails for a code
// that no category has.
Status append_indices(const ParquetColumn& column, std::uint64_t first, ByteSpan rows,
                      std::uint64_t row_bytes, std::string& out);

}  // namespace h5mount::view
