// BandScratch: for rows of chunks that the cache cannot hold (chunks long in the slow dimension: a pencil layout), and
// single chunks larger than the cache. Decoding them again for every row would turn minutes into days; so each
// chunk of the band is decoded once into an unlinked temporary file, chunk after chunk as it comes out of the filters,
// and rows are gathered from it a strip at a time. (Image order in the file would need one small write a row and
// chunk; in chunk order both sides move tens of KiB at once.)
//
//   scratch file   |chunk 0 rows 0..n|chunk 1 rows 0..n| ...      strip k = rows [k h, k h + h) of every chunk,
//                     ^^^ strip k       ^^^ strip k               gathered into image order, cached as a block
//
// One band at a time is kept per dataset; the file is bounded by half of the free space where it lies ($TMPDIR, else
// /var/tmp). Threads: any; the lock is held only to look at the state.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

#include "chunk_store.h"

namespace h5mount {

class BandScratch {
 public:
  explicit BandScratch(const ChunkStore& store);
  ~BandScratch();

  struct Strip {
    BlockPtr block;
    std::uint64_t offset = 0;  // image offset of its first byte
  };
  // The strip that holds an image offset; the first call for a band decodes all of it. `kind`: of the strips' blocks
  // in the cache. Errors: those of decoding, LimitExceeded where there is no room.
  Result<Strip> strip_at(std::uint64_t offset, BlockCache& cache, std::uint64_t owner, std::uint64_t kind,
                         WorkerPool& workers);

 private:
  // One band decoded to a file of its own; readers of the band before keep theirs.
  struct Band {
    explicit Band(std::uint64_t number) : band(number) {}
    ~Band();
    std::uint64_t band;
    int fd = -1;
    std::mutex mutex;
    std::condition_variable ready;
    bool done = false;
    Status result;
  };
  std::shared_ptr<Band> band_ready(std::uint64_t band, WorkerPool& workers);
  Status fill_band(Band& band, WorkerPool& workers) const;
  Status gather(const Band& band, std::uint64_t first_row, std::uint64_t rows, MutableByteSpan out) const;

  const ChunkStore& store_;
  const ChunkPlan& plan_;
  std::uint64_t strip_rows_;
  std::uint64_t chunk_row_bytes_;
  std::mutex mutex_;
  std::shared_ptr<Band> current_;
};

}  // namespace h5mount
