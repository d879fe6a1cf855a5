// Extents: where the raw data of a file are, to find data that overlap and to read, once and in the order of
// the file, what no filter checks. Neighbours of one dataset are joined, so that memory grows with
// fragmentation, not with bytes. Threads: any.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "h5mount/base/thread_annotations.h"
#include "h5mount/cache/worker_pool.h"
#include "h5mount/metadata/file_metadata.h"
#include "places.h"
#include "tally.h"

namespace h5mount::check {

struct Extent {
  std::uint64_t begin, end;  // addresses
  PlaceId owner;
  bool unfiltered;  // nothing but reading them checks these bytes
};

class Extents {
 public:
  // `file_bytes`: the length of the address space.
  explicit Extents(std::uint64_t file_bytes) : file_bytes_(file_bytes) {}

  // Bytes that the dataset `owner` claims, inside the address space. False where datasets have claimed
  // several times more than the file has, or more ranges than limits::kMaxCheckedExtents: a hostile file can
  // make one index lead to any number of chunks, and no more of them are worth a look.
  bool add(const Extent& extent);

  // What was added since the last call, sorted.
  std::vector<Extent> take();

 private:
  const std::uint64_t file_bytes_;
  Mutex mutex_;
  std::vector<Extent> extents_ H5_GUARDED_BY(mutex_);
  std::uint64_t claimed_ H5_GUARDED_BY(mutex_) = 0;
};

// Reads the unfiltered ones of sorted extents.
void read_unfiltered(std::span<const Extent> extents, const metadata::FileMetadata& file,
                     cache::WorkerPool* workers, const Places& places, Tally& tally);

// Reports each dataset that shares bytes with another one, or with itself, once a pair, of sorted extents.
void report_overlaps(std::span<const Extent> extents, const metadata::FileMetadata& file,
                     const Places& places, Tally& tally);

}  // namespace h5mount::check
