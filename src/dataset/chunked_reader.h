// ChunkedReader: the read path of chunked datasets. A request goes one of four ways:
//
//   direct    unfiltered chunks with long contiguous stretches: the reply is the file's own pages
//   chunk     random reads, and large chunks that lie in image order: decoded chunks are cached as they are
//   slab      sequential reads: consecutive bands decoded by all workers into image order, cached as one block,
//             the next slabs ahead of the reader; and tiny chunks always
//   strip     sequential reads of bands that the cache cannot hold: see band_scratch.h
//
// A slab with a damaged chunk is read in the chunk way, so that damage stays with the requests that touch it.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_set>

#include "allocation_map.h"
#include "band_scratch.h"
#include "chunk_store.h"
#include "growth.h"

namespace h5mount {

class ChunkedReader final : public DatasetReader, public std::enable_shared_from_this<ChunkedReader> {
 public:
  static Result<std::shared_ptr<const DatasetReader>> open(const ReadEnvironment& environment, OpenedFilePtr file,
                                                           DatasetDescription description,
                                                           const ChunkedReader* previous = nullptr);
  ~ChunkedReader() override;

  Status read(std::uint64_t offset, std::uint64_t length, ReadPattern* pattern, Pieces& out) const override;
  Status read_into(std::uint64_t offset, MutableByteSpan out) const override;
  Result<std::uint64_t> storage_bytes() const override;
  std::optional<std::uint64_t> storage_bytes_known() const override;
  Result<std::uint64_t> find_data(std::uint64_t offset) const override;
  Result<std::uint64_t> find_hole(std::uint64_t offset) const override;
  std::optional<Error> problem() const override { return store_->problem(); }

 private:
  ChunkedReader(const ReadEnvironment& environment, DatasetDescription description,
                std::unique_ptr<ChunkStore> store, std::unique_ptr<GrowthState> growth);

  enum class Way : std::uint8_t { Direct, Chunks, Slabs, SmallSlabs, Strips };
  Way way_for(bool sequential, std::uint64_t length) const;
  Status read_way(Way way, std::uint64_t offset, std::uint64_t length, ReadPattern* pattern, Pieces& out) const;

  Status read_direct(std::uint64_t offset, std::uint64_t length, Pieces& out) const;
  Status read_chunks(std::uint64_t offset, std::uint64_t length, Pieces& out) const;
  Status read_slabs(std::uint64_t bands_per_slab, std::uint64_t kind, std::uint64_t offset, std::uint64_t length,
                    Pieces& out) const;
  Status read_strips(std::uint64_t offset, std::uint64_t length, Pieces& out) const;

  Result<BlockPtr> chunk_block(std::uint64_t chunk) const;
  struct Touched {
    std::uint64_t chunk, begin, end;  // bytes of the decoded chunk that a request wants, as one stretch
  };
  bool partly(std::uint64_t chunk) const;
  Result<ChunkStore::Part> chunk_part(const Touched& touched) const;
  Result<BlockPtr> slab_block(std::uint64_t bands_per_slab, std::uint64_t kind, std::uint64_t slab) const;
  Status make_slab(std::uint64_t first_band, std::uint64_t last_band, MutableByteSpan out) const;
  Status make_slab_part(std::uint64_t first_chunk, std::uint64_t count, std::uint64_t slab_offset,
                        MutableByteSpan out) const;
  void place(std::uint64_t chunk, ByteSpan decoded, MutableByteSpan band) const;

  // Owners of blocks; in a file that is followed a block that may yet change is this reader's alone.
  std::uint64_t owner_of_chunk(std::uint64_t chunk) const;
  std::uint64_t owner_of_bands(std::uint64_t kind, std::uint64_t index, std::uint64_t first, std::uint64_t last) const;
  bool settled(std::uint64_t first_chunk, std::uint64_t count, std::uint64_t next_band) const;
  std::vector<ByteRange> outdated_ranges() const override;

  void drop_behind(Way way, std::uint64_t offset, ReadPattern& pattern) const;
  void read_ahead(Way way, std::uint64_t end_offset, ReadPattern& pattern) const;
  Result<std::shared_ptr<const AllocationMap>> allocation() const;

  std::shared_ptr<BlockCache> cache_;
  std::shared_ptr<WorkerPool> workers_;
  std::unique_ptr<ChunkStore> store_;
  const ChunkPlan& plan_;
  std::unique_ptr<GrowthState> growth_;  // null unless the file is followed
  std::uint64_t owner_;
  std::uint64_t slab_bands_ = 1;        // bands of one slab for sequential readers
  std::uint64_t small_slab_bands_ = 1;  // for random readers of tiny chunks
  std::unique_ptr<BandScratch> scratch_;  // null unless bands are larger than the cache

  mutable std::mutex allocation_mutex_;  // held only to look at and set the pointer
  mutable std::shared_ptr<const AllocationMap> allocation_;
  mutable std::array<std::atomic<std::uint64_t>, 256> visits_{};  // chunks decoded in parts, and how often
  mutable std::mutex damaged_mutex_;
  mutable std::unordered_set<std::uint64_t> damaged_slabs_;
};

}  // namespace h5mount
