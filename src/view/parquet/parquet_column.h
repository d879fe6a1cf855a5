// A column of a Parquet file, and the names in its dictionary if it has one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "h5mount/object/object.h"

namespace h5mount::view {

class Cell;

// The names of a column, by their indices.
struct ParquetDictionary {
  std::string page;  // of each name its length (u32 LE) and its bytes
  std::uint32_t count = 0;
  bool utf8 = true;  // all names
  // If not 0, the names are values of so many bytes, and a row group has those of its part of the axis.
  std::uint32_t value_bytes = 0;
};
using ParquetDictionaryPtr = std::shared_ptr<const ParquetDictionary>;

struct ParquetColumn {
  std::string name;                            // UTF-8
  std::int32_t physical = 0;                   // parquet.thrift `Type`
  std::optional<std::int32_t> converted = {};  // parquet.thrift `ConvertedType`
  bool is_timestamp = false;                   // microseconds since 1970-01-01, in no time zone
  std::uint32_t value_bytes = 0;               // in the file; 0 for strings and booleans
  std::uint64_t offset = 0;                    // bytes, within a row of the table
  format::DatatypePtr type = {};  // of the numbers or codes there; null for bytes, text and booleans
  enum class Conversion : std::uint8_t { Bytes, SignExtend, ZeroExtend, HalfFloat, Bits, Text, Index, List };
  Conversion conversion = Conversion::Bytes;
  Conversion element = Conversion::Bytes;  // of the numbers of lists
  // Whether the size of its pages depends on what is in them.
  bool is_measured() const { return conversion == Conversion::Text || conversion == Conversion::List; }
  // JSON object, name to number; null except for enumerations. Columns of one type share it.
  std::shared_ptr<const std::string> enum_names = {};
  std::shared_ptr<const Cell> text = {};  // of strings, and of references, which are text
  std::size_t string_index = 0;           // index among these columns, and lists
  // Of lists, whose values are of this column's type; they have the bounds of the list in a row.
  struct List {
    object::CategoriesPtr source;
    bool is_sound(std::uint64_t first, std::uint64_t end) const {
      return first <= end && end <= source->elements;
    }
  };
  std::optional<List> list = {};
  ParquetDictionaryPtr dictionary = {};   // of indices, which have `value_bytes`
  object::CategoriesPtr categories = {};  // of indices that are codes; else they are bytes
  std::optional<std::size_t> axis = {};   // the dimension of the grid that it is
  bool optional = false;  // values may be missing: by a code, by a mask, references to nothing
  std::optional<std::uint64_t> mask = {};  // see Column
  bool is_masked(const std::byte* row) const { return mask && row[*mask] != std::byte{0}; }
};

}  // namespace h5mount::view
