// The chunks of a chunked dataset as they are stored, filters applied. Threads: any.
#pragma once

#include <cstdint>

#include "h5mount/dataset/dataset_reader.h"

namespace h5mount::dataset {

class StoredChunks {
 public:
  virtual ~StoredChunks() = default;

  struct Stored {
    std::uint64_t bytes = 0;  // 0: never written
    bool filtered = false;    // by every filter of the pipeline
  };
  // Reads of the index what it needs, and no data. `chunk`: counted row-major.
  virtual Result<Stored> find_stored(std::uint64_t chunk) const = 0;

  // The stored bytes [offset, offset + length) of a chunk that has them.
  virtual Status read_stored(std::uint64_t chunk, std::uint64_t offset, std::uint64_t length,
                             Pieces& out) const = 0;
  // Runs the chunk through its filters, for the sake of their checks.
  virtual Status verify_stored(std::uint64_t chunk) const = 0;
};

// Of a reader of a chunked dataset that is not sparse; else null. It lives as long as the reader.
const StoredChunks* stored_chunks_of(const DatasetReader& reader);

}  // namespace h5mount::dataset
