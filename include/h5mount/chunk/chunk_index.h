// ChunkIndex: where a dataset's chunks lie, one interface over every index of the format.
//
// Lookups are lazy: only the nodes on the way to a chunk are read (decoded nodes are kept in a small bounded
// cache of the index, some 2 MiB at most; kinds without a structure keep nothing). Threads: all functions may
// be called from any thread at once; no lock is held while reading.
//
// An index tells what stood in the file when its nodes were read. To follow a file that is being written,
// open a new one: that costs one read of a header. Header statistics (how many elements are set) are not
// used, they may be behind.
//
// All metadata checksums are verified before anything of a node is used. Errors are those of the structures
// (BadSignature, ChecksumMismatch, InvalidValue, Cycle, …) with the place in the file; what would number,
// size or address beyond 64 bits or the bounds of base/limits.h is InvalidValue, LimitExceeded or OutOfRange.
// An address in a record is not checked against the file: whoever reads the chunk does that.
//
// To add an index: decoders in format/, the walk in src/chunk/<kind>.cpp, one case in open_chunk_index; the
// shared conformance suite of tests/chunk runs on it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "h5mount/format/data_layout.h"
#include "h5mount/format/dataspace.h"
#include "h5mount/metadata/file_metadata.h"

namespace h5mount::chunk {

struct ChunkRecord {
  std::uint64_t address = format::kUndefinedAddress;  // undefined: the chunk was never written
  std::uint64_t stored_size = 0;  // bytes in the file; without filters those of a chunk, edges too
  std::uint32_t filter_mask = 0;  // bit i: filter i of the pipeline was not applied
  // Structured chunks (array clients 2, 3; B-tree types 12, 13; their single chunk index): the section fields
  // of the record as stored, N sections: offsets of sections 1…N-1 in the chunk (8 bytes each); where the
  // dataset is filtered also the unfiltered sizes of all N sections (8 each) and their filter masks (4 each).
  // Empty for other chunks.
  std::vector<std::byte> section_fields;

  bool allocated() const { return address != format::kUndefinedAddress; }
};

// What an index must know of its dataset. `make` checks dataspace and layout against each other: InvalidValue
// for ranks that differ or a zero chunk dimension, LimitExceeded for a chunk above limits::kMaxChunkBytes
// (kMaxLargeChunkBytes from layout version 5 on), TooLarge where the chunks are more than 64 bits can number.
struct ChunkGeometry {
  std::vector<std::uint64_t> dims;        // current extent, elements
  std::vector<std::uint64_t> max_dims;    // kUnlimited where unlimited
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

  // The record of the chunk at `scaled` coordinates (rank entries, each < grid). An absent chunk is a record
  // whose address is undefined, not an error.
  virtual Result<ChunkRecord> find(std::span<const std::uint64_t> scaled) const = 0;

  // The chunks at `scaled` and those that follow it in row-major order over the grid, `out.size()` of them
  // (the caller stays within the grid). Amortised: neighbours of one node cost one look at it.
  virtual Status find_run(std::span<const std::uint64_t> scaled, std::span<ChunkRecord> out) const;

  // Every allocated chunk within the grid, in the index' own order; `visit` returns false to stop. Streams:
  // memory does not grow with the number of chunks. Damage hides only what lies below it: all chunks that can
  // be reached are visited, and then the first error is returned (unless `visit` stopped before).
  using Visit = std::function<bool(std::span<const std::uint64_t> scaled, const ChunkRecord& record)>;
  virtual Status for_each(const Visit& visit) const = 0;

 protected:
  explicit ChunkIndex(ChunkGeometry geometry) : geometry_(std::move(geometry)) {}
  const ChunkGeometry& geometry() const { return geometry_; }

 private:
  ChunkGeometry geometry_;
};

// By the layout's index kind. An undefined index address gives an index with no chunks. Nothing but headers
// is read; of a version 1 B-tree, which has none, nothing. Header and dataset must agree on filters, element
// size and chunk count.
Result<std::unique_ptr<ChunkIndex>> open_chunk_index(metadata::FileMetadataPtr file,
                                                     const format::DataLayout& layout,
                                                     const ChunkGeometry& geometry);

}  // namespace h5mount::chunk
