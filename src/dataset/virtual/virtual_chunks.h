// VirtualChunks: a virtual dataset as a chunked one, whose chunks are those of its sources. Threads: any.
#pragma once

#include <string>
#include <vector>

#include "h5mount/dataset/readers_over.h"
#include "h5mount/dataset/stored_chunks.h"
#include "virtual_reader.h"

namespace h5mount::dataset {

class VirtualChunks final : public SameImageReader, public StoredChunks {
 public:
  // Opens all sources. Fails with UnsupportedFeature, and a short phrase, if their chunks cannot be those of
  // the whole: they differ in shape, filters, type or fill value, or a mapping is no box of whole chunks.
  static Result<DatasetReaderPtr> make(std::shared_ptr<const VirtualReader> whole, RequestBudget& budget);

  Status read_chunk(std::uint64_t chunk, std::uint64_t offset, std::uint64_t length, Pieces& out,
                    RequestBudget& budget) const override;
  Status find_stored_run(std::uint64_t first, std::span<Stored> out) const override;
  Status read_stored(std::uint64_t chunk, std::uint64_t offset, std::uint64_t length,
                     Pieces& out) const override;
  Status verify_stored(std::uint64_t chunk) const override;

 private:
  using Places = std::vector<std::uint64_t>;
  // What one mapping shows: a box of whole chunks of a source.
  struct Box {
    std::string file, dataset;
    Places to, from;  // the first chunk, in the grid of the whole and in that of the source
  };
  class Builder;

  VirtualChunks(std::shared_ptr<const VirtualReader> whole, object::DatasetDescription shown)
      : SameImageReader(std::move(shown), whole), whole_(std::move(whole)) {}

  // Calls use(reader, its chunk's number) with the source of a chunk, if there is one.
  template <class Use>
  Status use_source(const Box& box, std::uint64_t chunk, Use&& use) const;
  Result<std::uint64_t> number_in(const DatasetReader& source, const Box& box, std::uint64_t chunk) const;

  const std::shared_ptr<const VirtualReader> whole_;
  Places grid_;
  std::vector<std::size_t> dimensions_;  // for each of a source's, that of the whole
  Places source_chunk_;                  // the shape of its chunks
  std::vector<Box> boxes_;
  std::vector<std::uint32_t> box_of_;  // for each chunk 1 + the number of its box; 0: none shows it
  cache::BlockCache::Charge charge_;
};

}  // namespace h5mount::dataset
