// CatalogueRow: what a catalogue says of one object of a file. It becomes a line of JSON, a row of a Parquet
// table, or a row of a store. The file itself is no part of it: it may lie elsewhere tomorrow.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>

namespace h5mount::tree {

struct CatalogueRow {
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();

  // Empty: there is none. Paths, types and messages may have bytes that are not UTF-8.
  std::string path = {}, kind = {}, shape = {}, dtype = {}, attributes = {}, value = {}, error = {};
  std::string more = {};                     // members that only a line of JSON has: "name":value,…
  std::int64_t size = kNone, mtime = kNone;  // bytes; seconds
};

// The texts of a row. Those that are JSON are UTF-8.
struct CatalogueText {
  const char* name;
  std::string CatalogueRow::* text;
  bool is_json;
};
inline constexpr std::array kCatalogueTexts = {
    CatalogueText{"path", &CatalogueRow::path, false},
    CatalogueText{"kind", &CatalogueRow::kind, false},
    CatalogueText{"shape", &CatalogueRow::shape, true},
    CatalogueText{"dtype", &CatalogueRow::dtype, false},
    CatalogueText{"attributes", &CatalogueRow::attributes, true},
    CatalogueText{"value", &CatalogueRow::value, true},
    CatalogueText{"error", &CatalogueRow::error, false},
    CatalogueText{"more", &CatalogueRow::more, true},
};

// A longer row has only the attributes for which there is room.
inline constexpr std::size_t kMaxRowBytes = 16U << 20;

// The bytes of a row, the same for equal rows: a head of fixed length, then its texts.
using CatalogueRowHead = std::array<std::uint64_t, 2 + kCatalogueTexts.size()>;
std::string row_bytes(const CatalogueRow& row);

}  // namespace h5mount::tree
