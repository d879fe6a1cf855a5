// The chunks of a chunked dataset as they are stored, filters applied. Threads: any.
#pragma once

#include <cstdint>
#include <span>

#include "h5mount/dataset/dataset_reader.h"

namespace h5mount::dataset {

class StoredChunks {
 public:
  virtual ~StoredChunks() = default;

  struct Stored {
    std::uint64_t bytes = 0;    // 0: the chunk was never written
    bool filtered = false;      // whether every filter of the pipeline was applied
    std::uint64_t address = 0;  // in `source`
    std::shared_ptr<const io::ByteSource> source = nullptr;
  };
  // Reads the index as far as needed, and no data. `chunk`: the chunk's row-major number.
  Result<Stored> find_stored(std::uint64_t chunk) const {
    Stored out;
    H5_TRY(find_stored_run(chunk, {&out, 1}));
    return out;
  }
  // The same for the chunks first, first + 1, …: those of one node of the index share its lookup.
  virtual Status find_stored_run(std::uint64_t first, std::span<Stored> out) const = 0;

  // Reads the stored bytes [offset, offset + length) of a chunk that was written.
  virtual Status read_stored(std::uint64_t chunk, std::uint64_t offset, std::uint64_t length,
                             Pieces& out) const = 0;
  // Decodes the chunk and discards the result, to verify its checksums.
  virtual Status verify_stored(std::uint64_t chunk) const = 0;
};

// Null unless the reader is of a chunked dataset that is not sparse. The result lives as long as the reader.
const StoredChunks* stored_chunks_of(const DatasetReader& reader);

// Whether what one pipeline encoded the other one decodes: levels and block sizes stand in what is encoded.
bool same_decoding(const std::vector<format::FilterDescription>& a,
                   const std::vector<format::FilterDescription>& b);

// A virtual dataset as a chunked one whose chunks are those of its sources. Opens all of these. Fails with
// UnsupportedFeature, and a short phrase that names the file, if they do not agree in the shape of chunks,
// filters, type and fill value, or show parts that are no boxes of whole chunks.
Result<DatasetReaderPtr> with_source_chunks(const DatasetReaderPtr& dataset, RequestBudget& budget);

}  // namespace h5mount::dataset
