// Tally: the findings and totals of a check that runs on several threads. Threads: any.
#pragma once

#include <algorithm>
#include <string>
#include <unordered_set>

#include "h5mount/base/thread_annotations.h"
#include "h5mount/cache/worker_pool.h"
#include "h5mount/check/check.h"

namespace h5mount::check {

class Tally {
 public:
  Tally(const Options& options, Report& report);

  bool quick() const { return quick_; }

  // Adds a finding, with a severity that depends on the kind of error. The same error of the same object
  // is one finding, however often it is met.
  void found(const std::string& path, const Error& error);
  void note(const std::string& path, const Error& error) { add({Severity::Note, path, error}); }
  // A field whose value the specification does not allow; nothing if an error tells of that field.
  void disagrees(const std::string& path, const Error& error);
  // Counts a finding without listing it, as enough of its kind are listed.
  void count_unlisted(const Error& error);

  void count(std::uint64_t Totals::* which, std::uint64_t by = 1);
  // Returns false once the report wants no more.
  bool go_on();
  Totals totals() const;

 private:
  void add(const Finding& finding);
  std::uint64_t& counter(Severity severity) H5_REQUIRES(mutex_);

  const bool quick_;
  const std::uint64_t checksums_before_;
  mutable Mutex mutex_;
  Report& report_ H5_GUARDED_BY(mutex_);
  Totals totals_ H5_GUARDED_BY(mutex_);
  // Hashes of fields that errors tell of, by structure and offset.
  std::unordered_set<std::size_t> told_fields_ H5_GUARDED_BY(mutex_);
  std::unordered_set<std::size_t> told_ H5_GUARDED_BY(mutex_);  // hashes of the findings that are listed
  bool stopped_ H5_GUARDED_BY(mutex_) = false;
};

inline constexpr std::size_t kBatch = 256;  // what is handed to the workers at a time

// Calls work(0) … work(count - 1) on the workers (null: on this thread) until the report wants no more, which
// is checked before each call, as one chunk can take a second.
template <class Work>
void for_each(cache::WorkerPool* workers, std::uint64_t count, Tally& tally, const Work& work) {
  for (std::uint64_t first = 0; first < count && tally.go_on(); first += kBatch) {
    const auto batch = static_cast<std::size_t>(std::min<std::uint64_t>(kBatch, count - first));
    const auto job = [&](std::size_t i) {
      if (tally.go_on()) work(first + i);
    };
    if (workers != nullptr)
      workers->for_each_index(batch, job);
    else
      for (std::size_t i = 0; i < batch; ++i) job(i);
  }
}

}  // namespace h5mount::check
