// Writes chunk indexes of every kind into memory. Implements the specification's layouts independently of the
// reader, so that errors in either show.
#pragma once

#include <functional>
#include <map>
#include <ostream>
#include <string>

#include "h5mount/base/checksum.h"
#include "h5mount/chunk/chunk_index.h"

namespace h5mount::test {

using Coordinates = std::vector<std::uint64_t>;

// Appends little-endian fields to a file in memory.
class ByteWriter {
 public:
  explicit ByteWriter(format::FileSizes file_sizes) : sizes(file_sizes) {}

  std::uint64_t here() const { return bytes.size(); }
  void text(std::string_view four) {
    for (const char c : four) bytes.push_back(static_cast<std::byte>(c));
  }
  void uint(std::uint64_t value, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i) bytes.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
  void address(std::uint64_t value) { uint(value, sizes.offsets); }
  void length(std::uint64_t value) { uint(value, sizes.lengths); }
  void checksum_from(std::uint64_t start) { uint(lookup3_checksum(ByteSpan(bytes).subspan(start)), 4); }

  format::FileSizes sizes;
  std::vector<std::byte> bytes;
};

struct IndexCase {
  std::string name;
  format::ChunkIndexKind kind = format::ChunkIndexKind::BTree1;
  Coordinates grid;      // chunks per dimension
  Coordinates max_grid;  // the same of the maximum extents; kUnlimited
  bool filtered = false;
  format::FileSizes sizes{8, 8};
  unsigned page_bits = 10;  // arrays
  unsigned size_width = 3;  // of the stored size in filtered records
  // Which chunks exist: every `step`-th in row-major order from `first` on.
  std::uint64_t first = 0, step = 1;
  bool structured = false;

  // For an index of a complete dataset: its shape, its chunk shape, and the bytes of its chunks, which
  // precede the index in the file. Empty: a shape that fits `grid`, and invented records.
  Coordinates dims = {}, chunk_dims = {};
  std::uint32_t element_size = 2;
  std::map<Coordinates, chunk::ChunkRecord> records = {};
  std::vector<std::byte> data = {};
};

inline void PrintTo(const IndexCase& what, std::ostream* out) {
  *out << what.name;
}

struct BuiltIndex {
  IndexCase what;
  std::vector<std::byte> bytes;
  format::DataLayout layout;
  chunk::ChunkGeometry geometry;
  std::map<Coordinates, chunk::ChunkRecord> chunks;
};

BuiltIndex build_index(const IndexCase& what);
std::vector<IndexCase> all_index_cases();
std::vector<Coordinates> grid_coordinates(const Coordinates& grid);

}  // namespace h5mount::test
