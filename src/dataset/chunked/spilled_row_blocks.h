// SpilledRowBlocks: row blocks that the cache cannot hold (chunks long in the slow dimension), and single
// chunks larger than the cache. Decoding them again for every row would turn minutes into days, so each chunk
// of the row block is decoded once into an unlinked temporary file, chunk after chunk as it comes out of the
// filters, and rows are gathered from it a stripe at a time. (Image order in the file would need one small
// write a row and chunk; in chunk order both sides move tens of KiB at once.)
//
//   spill file   |chunk 0 rows 0..n|chunk 1 rows 0..n| ...     stripe k = rows [k h, k h + h) of every chunk,
//                   ^^^ stripe k      ^^^ stripe k             gathered into image order, cached as a block
//
// The row blocks that were used last are kept per dataset: several readers may be at work on it. All spill
// files together take at most half of the free space of the directory where they lie ($TMPDIR, else
// /var/tmp). Threads: any; the lock is held only to look at the state.
#pragma once

#include <list>
#include <memory>

#include "chunked_blocks.h"
#include "h5mount/base/temporary_file.h"
#include "h5mount/base/thread_annotations.h"

namespace h5mount::dataset {

class SpilledRowBlocks {
 public:
  explicit SpilledRowBlocks(ChunkedBlocksPtr blocks);

  struct Stripe {
    cache::BlockPtr block;
    std::uint64_t offset = 0;  // image offset of its first byte
  };
  // The stripe that contains an image offset; the first call for a row block decodes all of it. Errors: those
  // of decoding, LimitExceeded if there is not enough free space.
  Result<Stripe> stripe_at(std::uint64_t offset, RequestBudget& budget) const;

 private:
  // One row block, decoded to a file of its own, which its readers keep.
  struct Spilled {
    explicit Spilled(std::uint64_t number) : row_block(number) {}
    ~Spilled();
    Spilled(const Spilled&) = delete;
    Spilled& operator=(const Spilled&) = delete;
    bool done_soon();  // after a short wait

    const std::uint64_t row_block;
    std::uint64_t bytes = 0;  // size of the file, counted in the bound on all spill files
    TemporaryFile file;
    Mutex mutex;
    Condition ready;
    bool done H5_GUARDED_BY(mutex) = false;
    Status result;  // set before `done`, and not changed afterwards
  };
  using SpilledPtr = std::shared_ptr<Spilled>;
  // Those of a dataset. A file that another dataset makes may take the place of one (SpillFiles::reserve).
  struct Kept {
    Mutex mutex;
    std::list<SpilledPtr> used_last H5_GUARDED_BY(mutex);  // the newest first
    void drop(const SpilledPtr& spilled);
  };
  struct Making {
    Kept& kept;
    const SpilledPtr spilled;
    Status result = fail(no_memory());
    ~Making();
  };
  friend class SpillFiles;

  Result<std::shared_ptr<const Spilled>> spilled(std::uint64_t row_block, RequestBudget& budget) const;
  SpilledPtr find_or_add(std::uint64_t row_block, bool& added) const;
  std::uint64_t row_block_bytes() const;
  Status open_file(const SpilledPtr& spilled) const;
  Status decode_to_file(Spilled& spilled, RequestBudget& budget) const;
  Status gather(const Spilled& spilled, ChunkPlan::Rows rows, MutableByteSpan out) const;

  ChunkedBlocksPtr blocks_;
  const ChunkPlan& plan_;
  std::uint64_t stripe_rows_;
  std::uint64_t chunk_row_bytes_;
  const std::shared_ptr<Kept> kept_ = std::make_shared<Kept>();
};

}  // namespace h5mount::dataset
