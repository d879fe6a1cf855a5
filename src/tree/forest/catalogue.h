// Catalogue: metadata.jsonl and catalogue.parquet of a forest: what all its files hold, one line or row for
// each object. Files are opened one after the other; the text made from them is kept on disk (spool.h) as
// long as somebody has it open, so that it is the result of one pass, whatever its length and wherever it is
// read. Making it twice, to measure it first, would open every file twice and mix two states. Threads: any.
#pragma once

#include <atomic>
#include <memory>

#include "catalogue_walk.h"
#include "h5mount/base/once_value.h"

namespace h5mount::tree {

// A catalogue.parquet that was made.
struct CatalogueTable {
  Spool bytes;
  std::uint64_t digest = 0;  // of the survey that was made before
  mutable std::atomic<std::uint64_t> readers{0};
};

class Catalogue {
 public:
  // `options` must outlive this object.
  Catalogue(const ForestOptions& options, ForestDirectoryPtr top) : options_(options), top_(std::move(top)) {}

  // Each opening has its own pass, which goes on as it is read.
  std::shared_ptr<OpenNode> open_lines();
  // Openings while the table is being made, or while it is kept and no file has changed, share one pass; a
  // request that ends leaves the pass to the others.
  Result<std::shared_ptr<OpenNode>> open_parquet(RequestBudget& budget);
  // The size of the one that was opened last and still is; else of the one that would be opened now, which is
  // then made.
  Result<std::uint64_t> parquet_size(RequestBudget& budget);
  std::uint64_t known_parquet_size() const;  // 0: it would have to be made

  void add_counts(ForestCounts& to) const {
    to.passes = progress_.running;
    to.told = progress_.files;
    to.to_tell = progress_.of_files;
    to.opened = progress_.opened;
    to.remembered = progress_.remembered;
  }

 private:
  using Table = CatalogueTable;
  using Image = std::shared_ptr<const Table>;
  Result<Image> parquet(RequestBudget& budget);
  Result<Image> make_parquet(RequestBudget& budget);
  Image known() const;

  const ForestOptions& options_;
  const ForestDirectoryPtr top_;
  CatalogueProgress progress_;
  mutable Mutex mutex_;
  std::weak_ptr<OnceValue<Image>> making_ H5_GUARDED_BY(mutex_);
  std::weak_ptr<const Table> newest_ H5_GUARDED_BY(mutex_);
  // The newest one, unless it is large: who asks for the size reads the table next.
  Image kept_ H5_GUARDED_BY(mutex_);
  // The one whose pages the kernel keeps, as long as somebody has it open.
  std::weak_ptr<const Table> cached_ H5_GUARDED_BY(mutex_);
};

}  // namespace h5mount::tree
