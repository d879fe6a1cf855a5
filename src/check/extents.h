// Extents: the places of a file's raw data, from which overlaps are found, and the data that no filter checks
// are read once, in the order of the file. Adjacent extents of one dataset are joined, so that memory grows
// with fragmentation, not with bytes. Threads: any.
#pragma once

#include <cstdint>
#include <functional>
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
  // `file_bytes`: the size of the address space.
  explicit Extents(std::uint64_t file_bytes) : file_bytes_(file_bytes) {}

  // Adds bytes that the dataset `owner` claims, inside the address space. Returns false if datasets have
  // claimed several times more bytes than the file has, or more ranges than limits::kMaxCheckedExtents: a
  // hostile file can make one index lead to any number of chunks, and further ones are then not checked.
  bool add(const Extent& extent);

  std::size_t count() const {
    const MutexLock lock(mutex_);
    return extents_.size();
  }
  // The extents added since the last call, sorted.
  std::vector<Extent> take();

 private:
  const std::uint64_t file_bytes_;
  mutable Mutex mutex_;
  std::vector<Extent> extents_ H5_GUARDED_BY(mutex_);
  std::uint64_t claimed_ H5_GUARDED_BY(mutex_) = 0;
};

// Reads those of the sorted extents that are unfiltered.
void read_unfiltered(std::span<const Extent> extents, const metadata::FileMetadata& file,
                     cache::WorkerPool* workers, const Places& places, Tally& tally);

// Visits each pair of datasets that share bytes once, the one whose bytes begin first last; those whose own
// overlap as a pair of one. `extents`: sorted.
void for_each_overlap(std::span<const Extent> extents,
                      const std::function<void(const Extent& extent, const Extent& before)>& visit);
// Reports them.
void report_overlaps(std::span<const Extent> extents, const metadata::FileMetadata& file,
                     const Places& places, Tally& tally);

}  // namespace h5mount::check
