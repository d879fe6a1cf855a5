// DiskCache: what came of far objects, kept in a directory for later runs and for other programs of the user
// that run now. What is in it of one object, a DiskObject (disk_object.h) knows.
//
// An object lies in files of at most 64 MiB, or a sixteenth of the bound, so that one which is larger than
// the cache does not drop itself. A file's name is a hash of the object's URL, validators and length; records
// (disk_record.h) are added to it by one program at a time, which holds the directory's lock, and read
// without it. So a program that is killed leaves an unfinished record at most, which the next writer cuts
// off; a file that is damaged is removed when that is seen, and its bytes are fetched again.
//
// Threads: any. No failure is an error: what cannot be kept or read is fetched.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "h5mount/base/error.h"
#include "h5mount/base/job_queue.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/base/unique_fd.h"

namespace h5mount::remote {

class DiskCache {
 public:
  // `most_bytes`: at least kMinDiskCacheBytes. The directory is made where there is none. Errors:
  // AccessDenied, Io.
  static Result<std::unique_ptr<DiskCache>> open(const std::string& directory, std::uint64_t most_bytes);
  DiskCache(UniqueFd directory, std::uint64_t most_bytes);

  std::uint64_t part_bytes() const { return part_bytes_; }
  int directory() const { return directory_.get(); }
  std::uint64_t hits() const { return hits_.load(std::memory_order_relaxed); }
  void add_hit() { hits_.fetch_add(1, std::memory_order_relaxed); }

  // Runs `job`, which keeps `bytes`, in a thread of the cache's own; not at all where too much waits already.
  void later(std::uint64_t bytes, std::function<void()> job);
  void finish();  // waits for all jobs; none is taken afterwards

  // Only one program at a time, and one thread of it, adds or drops. Nothing: others have it for too long.
  std::optional<UniqueFd> take_turn();
  // Within a turn: makes room for so many bytes more, which are then counted. False where there is none.
  bool make_room(const UniqueFd& turn, std::uint64_t bytes) const;

 private:
  std::uint64_t drop_oldest(std::uint64_t most, std::uint64_t free_bytes) const;

  const UniqueFd directory_;
  const std::uint64_t most_bytes_, part_bytes_;
  std::atomic<std::uint64_t> hits_ = 0, waiting_bytes_ = 0;
  std::atomic<std::chrono::steady_clock::rep> busy_until_ = 0;  // no turn is tried for before
  Mutex mutex_;
  std::unique_ptr<JobQueue> jobs_
      H5_GUARDED_BY(mutex_);  // from the first job on: the process may fork before
  bool finished_ H5_GUARDED_BY(mutex_) = false;
};

}  // namespace h5mount::remote
