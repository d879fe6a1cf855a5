// ChunkIndex: where a dataset's chunks lie, one interface over every index of the format.
//
// Lookups are lazy: only the nodes on the way to a chunk are read (decoded nodes are kept in a small bounded cache
// of the index). Threads: all functions may be called from any thread at once; no lock is held while reading.
//
// To add an index: decoders in format/, the walk in src/chunk/<kind>.cpp, one case in open_chunk_index; the shared
// conformance suite of tests/chunk runs on it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "h5mount/format/data_layout.h"
#include "h5mount/format/dataspace.h"
#include "h5mount/metadata/file_metadata.h"

namespace h5mount {

struct ChunkRecord {
  std::uint64_t address = kUndefinedAddress;  // undefined: the chunk was never written
  std::uint64_t stored_size = 0;              // bytes in the file
  std::uint32_t filter_mask = 0;              // bit i: filter i of the pipeline was not applied
  // Structured chunks (index record types 12, 13): the section fields of the record as stored; empty otherwise.
  std::vector<std::byte> section_fields;

  bool allocated() const { return address != kUndefinedAddress; }
};

// What an index must know of its dataset.
struct ChunkGeometry {
  std::vector<std::uint64_t> dims;        // current extent, elements
  std::vector<std::uint64_t> max_dims;    // kUnlimited where unlimited
  std::vector<std::uint64_t> chunk_dims;  // elements, none zero
  std::uint32_t element_size = 0;
  std::uint64_t chunk_bytes = 0;          // product of chunk_dims * element_size
  bool filtered = false;                  // the dataset has a filter pipeline
  std::vector<std::uint64_t> grid;        // chunks per dimension over the current extent: ceil(dims / chunk_dims)

  static Result<ChunkGeometry> make(const Dataspace& space, const DataLayout& layout, bool filtered);
};

class ChunkIndex {
 public:
  virtual ~ChunkIndex() = default;

  // The record of the chunk at `scaled` coordinates (rank entries, each < grid). An absent chunk is a record whose
  // address is undefined, not an error.
  virtual Result<ChunkRecord> find(std::span<const std::uint64_t> scaled) const = 0;

  // The chunks at `scaled` and those that follow it in row-major order over the grid, `out.size()` of them (the
  // caller stays within the grid). Amortised: neighbours of one node cost one look at it.
  virtual Status find_run(std::span<const std::uint64_t> scaled, std::span<ChunkRecord> out) const;

  // Every allocated chunk within the grid, in the index' own order; `visit` returns false to stop.
  using Visit = std::function<bool(std::span<const std::uint64_t> scaled, const ChunkRecord& record)>;
  virtual Status for_each(const Visit& visit) const = 0;

 protected:
  explicit ChunkIndex(ChunkGeometry geometry) : geometry_(std::move(geometry)) {}
  const ChunkGeometry& geometry() const { return geometry_; }

 private:
  ChunkGeometry geometry_;
};

// By the layout's index kind. An undefined index address gives an index with no chunks. Nothing but headers is read.
Result<std::unique_ptr<ChunkIndex>> open_chunk_index(FileMetadataPtr file, const DataLayout& layout,
                                                     const ChunkGeometry& geometry);

}  // namespace h5mount
