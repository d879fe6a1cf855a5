// ChunkIndex: one interface over every chunk index of the format (specification 3.0, chunk indexing;
// III.A.1).
//
// Lookups are lazy: only the nodes on the path to a chunk are read. Decoded nodes are kept in a cache of
// about 2 MiB per index; kinds without nodes keep nothing. Threads: any, concurrently; no lock is held while
// reading.
//
// An index shows the file's state when its nodes were read. To follow a file that is being written, open a
// new index, which reads one header. Header statistics (numbers of elements) are not used: they may be out of
// date.
//
// All metadata checksums are verified before a node is used. Errors are those of the structures
// (BadSignature, ChecksumMismatch, InvalidValue, Cycle, …) with the file offset. Numbers, sizes and addresses
// that exceed 64 bits or the bounds of base/limits.h are InvalidValue, LimitExceeded or OutOfRange. The
// address in a record is not checked against the file size: the reader of the chunk does that.
//
// To add an index: decoders in format/, the traversal in src/chunk/<kind>.cpp, a line of the table in
// src/chunk/chunk_index.cpp, and cases for the conformance suite of tests/chunk.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "h5mount/format/data_layout.h"
#include "h5mount/format/dataspace.h"
#include "h5mount/metadata/file_metadata.h"

namespace h5mount::chunk {

struct ChunkRecord {
  std::uint64_t address = format::kUndefinedAddress;  // undefined: the chunk was never written
  std::uint64_t stored_size = 0;  // bytes in the file; without filters the chunk's full size, also at edges
  std::uint32_t filter_mask = 0;  // bit i: filter i of the pipeline was not applied
  // Structured chunks (array clients 2, 3; B-tree types 12, 13; their single chunk index): the section fields
  // of the record as stored (format/chunk_record_format.h). Empty for other chunks.
  std::vector<std::byte> section_fields;

  bool allocated() const { return address != format::kUndefinedAddress; }
};

// The properties of a dataset that its index depends on. `make` checks dataspace and layout against each
// other: it fails with InvalidValue for different ranks or a zero chunk dimension, with LimitExceeded for a
// chunk above limits::kMaxChunkBytes (kMaxLargeChunkBytes from layout version 5 on), and with TooLarge if the
// number of chunks does not fit in 64 bits.
struct ChunkGeometry {
  std::vector<std::uint64_t> dims;        // current extent, elements
  std::vector<std::uint64_t> max_dims;    // kUnlimited if unlimited
  std::vector<std::uint64_t> chunk_dims;  // elements, none zero
  std::uint32_t element_size = 0;
  std::uint64_t chunk_bytes = 0;    // product of chunk_dims * element_size
  bool filtered = false;            // the dataset has a filter pipeline
  std::vector<std::uint64_t> grid;  // chunks per dimension over the current extent: ceil(dims / chunk_dims)

  static Result<ChunkGeometry> make(const format::Dataspace& space, const format::DataLayout& layout,
                                    bool filtered);
};

class ChunkIndex {
 public:
  virtual ~ChunkIndex() = default;

  // The record of the chunk at `scaled` coordinates (rank entries, each < grid). For an absent chunk the
  // record's address is undefined; that is not an error.
  virtual Result<ChunkRecord> find(std::span<const std::uint64_t> scaled) const = 0;

  // The out.size() chunks from `scaled` on in row-major order over the grid, all of which must lie within the
  // grid. Chunks in the same node share one lookup of it.
  virtual Status find_run(std::span<const std::uint64_t> scaled, std::span<ChunkRecord> out) const;

  // Asks a far source together for the nodes that have the records of these chunks, a level at a time, and
  // waits only for those that name others. Of a forward reader, what it will read is asked for before what it
  // waits for. `runs` ascend, numbered in row-major order over the grid. Errors are met by the lookups that
  // follow.
  struct Run {
    std::uint64_t first = 0, count = 0;
  };
  virtual void will_find(std::span<const Run> runs) const { (void)runs; }

  // Visits every allocated chunk within the grid, in the index's own order; `visit` returns false to stop.
  // Memory does not grow with the number of chunks. Damage affects only the chunks below the damaged node:
  // all others are visited, and then the first error is returned (unless `visit` stopped before).
  using Visit = std::function<bool(std::span<const std::uint64_t> scaled, const ChunkRecord& record)>;
  virtual Status for_each(const Visit& visit) const = 0;

  // The stored bytes of all chunks if every chunk of the grid is allocated by definition, so that visiting
  // each would tell nothing; nullopt for other kinds.
  virtual Result<std::optional<std::uint64_t>> all_allocated() const { return std::nullopt; }

 protected:
  explicit ChunkIndex(ChunkGeometry geometry) : geometry_(std::move(geometry)) {}
  const ChunkGeometry& geometry() const { return geometry_; }

 private:
  ChunkGeometry geometry_;
};

// Opens the index of the layout's kind. An undefined index address yields an index without chunks. Reads the
// index header only; a version 1 B-tree has none. Header and dataset must agree on filters, element size and
// chunk count.
Result<std::unique_ptr<ChunkIndex>> open_chunk_index(metadata::FileMetadataPtr file,
                                                     const format::DataLayout& layout,
                                                     const ChunkGeometry& geometry);

}  // namespace h5mount::chunk
