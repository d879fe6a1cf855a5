// DiskCache: bytes of far objects, kept in a directory for later runs and for other programs that the user
// runs now. A DiskObject (disk_object.h) knows which bytes of one object are in it.
//
// An object lies in files of at most 64 MiB, or a sixteenth of the bound, so that an object which is larger
// than the cache does not drop itself. A file's name is a hash of the object's URL, validators and length;
// records (disk_record.h) are added to it by one program at a time, which holds the directory's lock, and
// read without the lock. So a program that is killed leaves an unfinished record at most, which the next
// writer cuts off. A file that turns out to be damaged is removed, and its bytes are fetched again.
//
// Threads: any. No failure is reported as an error: bytes that cannot be kept or read are fetched.
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
  // `most_bytes` must be at least kMinDiskCacheBytes. Makes the directory if it does not exist. Errors:
  // AccessDenied, Io.
  static Result<std::unique_ptr<DiskCache>> open(const std::string& directory, std::uint64_t most_bytes);
  DiskCache(UniqueFd directory, std::uint64_t most_bytes);

  std::uint64_t part_bytes() const { return part_bytes_; }
  int directory() const { return directory_.get(); }
  std::uint64_t hits() const { return hits_.load(std::memory_order_relaxed); }
  void add_hit() { hits_.fetch_add(1, std::memory_order_relaxed); }

  // Runs `job`, which keeps `bytes` bytes, in a thread of the cache; the job is not run if too many bytes
  // wait already.
  void later(std::uint64_t bytes, std::function<void()> job);
  void finish();  // waits for all jobs; later ones are not run

  // Takes the lock: only one program at a time, and one thread of it, adds or drops. Returns nullopt if
  // others hold it for too long.
  std::optional<UniqueFd> take_turn();
  // To be called with the lock: makes room for `bytes` more bytes, and counts them. Returns false if there is
  // no room.
  bool make_room(const UniqueFd& turn, std::uint64_t bytes) const;

 private:
  std::uint64_t drop_oldest(std::uint64_t most, std::uint64_t free_bytes) const;

  const UniqueFd directory_;
  const std::uint64_t most_bytes_, part_bytes_;
  std::atomic<std::uint64_t> hits_ = 0, waiting_bytes_ = 0;
  std::atomic<std::chrono::steady_clock::rep> busy_until_ = 0;  // the lock is not tried before this time
  Mutex mutex_;
  std::unique_ptr<JobQueue> jobs_
      H5_GUARDED_BY(mutex_);  // made for the first job, as the process may fork before
  bool finished_ H5_GUARDED_BY(mutex_) = false;
};

}  // namespace h5mount::remote
