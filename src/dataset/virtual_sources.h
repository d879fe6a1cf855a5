// VirtualSources: the datasets that a virtual one is put together from, opened at first use, a bounded number
// kept. The files they lie in may grow, or be created, while the view's own file stays as it is: `changed`
// says so, and the sources of the view's next state continue these.
//
// Threads: any; no lock is held while opening or reading.
#pragma once

#include <atomic>
#include <chrono>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "h5mount/dataset/dataset_reader.h"
#include "h5mount/metadata/torn_retry.h"
#include "virtual_nesting.h"

namespace h5mount::dataset {

class VirtualSources {
 public:
  struct Source {
    std::string file_name, dataset;
    std::shared_ptr<const DatasetReader> reader;  // null: missing, reads as the fill value; or `error`
    std::optional<Error> error;                   // it exists but cannot be opened
    std::optional<Error> absent;                  // why it is missing
    object::OpenedFilePtr file;
    std::uint64_t snapshot = 0;       // number of the newest one of its file before it was opened
    bool was_there = false;           // in the state before
    std::vector<ByteRange> outdated;  // bytes of it that the state before may have given otherwise
  };
  using SourcePtr = std::shared_ptr<const Source>;

  // `from`: the view's file. `before`: the sources of the view's previous state, or null.
  VirtualSources(ReadEnvironment environment, object::OpenedFilePtr from, const VirtualSources* before);

  SourcePtr get(const std::string& file_name, const std::string& dataset, SourceBudget& budget);

  // Calls `use` with the source's reader, if there is one; again where the source was just being written.
  template <class Use>
  Status use(const std::string& file_name, const std::string& dataset, SourceBudget& budget, Use&& use) {
    const SourcePtr first = get(file_name, dataset, budget);
    if (first->error) return fail(*first->error);
    if (!first->reader) {
      note_missing(*first);
      return {};
    }
    metadata::FollowedFile& followed = *first->file->followed;
    H5_TRY(followed.revalidate());
    return metadata::retry_torn(followed, "virtual source", budget.retries(), [&](const auto&) -> Status {
      const SourcePtr now = get(file_name, dataset, budget);
      if (now->error) return fail(*now->error);
      if (!now->reader) return {};
      Status done = use(*now->reader);
      if (done) done = followed.confirm_unchanged();
      if (!done && followed.following()) drop(now);
      return done;
    });
  }

  // Whether a source, or a source of a source, reads otherwise now, or was created. Cheap: files are checked
  // at most once in their own interval, missing names once a second.
  bool changed() const;

  // Those that were needed and are missing. Counted up to a bound.
  MissingSources missing() const;
  void note_missing(const Source& source);

  // Opens what the previous state had opened; gives those sources of which some bytes became stale.
  std::vector<SourcePtr> renew(SourceBudget& budget);
  // Whether a torn source was opened anew since the last call: what it has shown is not known then.
  bool take_reopened() { return reopened_.exchange(false); }

 private:
  Result<Source> open(const std::string& file_name, const std::string& dataset, const Source* before,
                      SourceBudget& budget) const;
  bool missing_came() const;
  void drop(const SourcePtr& source);
  std::vector<SourcePtr> all() const;

  const ReadEnvironment environment_;
  const object::OpenedFilePtr from_;
  std::vector<SourcePtr> before_;  // until they are renewed
  std::atomic<bool> reopened_ = false;
  mutable std::mutex mutex_;   // guards what follows
  std::list<SourcePtr> kept_;  // most recently used first
  mutable std::chrono::steady_clock::time_point missing_checked_;
  std::unordered_set<std::uint64_t> missing_;  // hashes of their names
  std::string first_missing_;
};

}  // namespace h5mount::dataset
