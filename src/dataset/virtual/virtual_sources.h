// VirtualSources: the source datasets of a virtual one, opened when they are first used; a bounded number is
// kept open. Their files may grow, or be created, while the virtual dataset's own file is unchanged:
// `changed` detects it, and the sources of the next state take over from these.
//
// Threads: any; no lock is held while opening or reading.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "h5mount/base/thread_annotations.h"
#include "h5mount/dataset/open_dataset.h"
#include "h5mount/metadata/torn_retry.h"
#include "h5mount/object/resolve_path.h"
#include "virtual_nesting.h"

namespace h5mount::dataset {

class VirtualSources {
 public:
  struct Source {
    std::string file_name, dataset;
    std::shared_ptr<const DatasetReader> reader;  // null: missing (reads return the fill value), or `error`
    std::optional<Error> error;                   // why a source that exists cannot be opened
    std::optional<Error> absent;                  // why the source is missing
    object::OpenedFilePtr file;
    std::vector<std::string> way;  // names of files, each in the one before, that lead to `file`
    std::uint64_t snapshot = 0;    // number of its file's newest snapshot before it was opened
    bool followed = false;         // whether that snapshot's file was followed
    bool was_there = false;        // whether it existed in the previous state
    std::vector<ByteRange> stale;  // ranges of its bytes, since the previous state
  };
  using SourcePtr = std::shared_ptr<const Source>;

  // `from` is the virtual dataset's file; `before` are the sources of the virtual dataset's previous state,
  // or null.
  VirtualSources(ReadEnvironment environment, object::OpenedFilePtr from, const VirtualSources* before);

  SourcePtr get(const std::string& file_name, const std::string& dataset, RequestBudget& budget);

  // How many sources from number 0 on need not be looked up one by one to find the first that is missing.
  // `dataset` contains `%b` for the number.
  std::uint64_t count_numbered(const std::string& file_name, const std::string& dataset, std::uint64_t most,
                               RequestBudget& budget) const;

  // Calls `use` with the source, if it has a reader, and again with a new reader if the source was torn.
  template <class Use>
  Status use(const std::string& file_name, const std::string& dataset, RequestBudget& budget, Use&& use) {
    const SourcePtr first = get(file_name, dataset, budget);
    if (first->error) return fail(*first->error);
    if (!first->reader) {
      note_missing(*first);
      return {};
    }
    metadata::FollowedFile& followed = *first->file->followed;
    H5_TRY(followed.revalidate());
    return metadata::retry_torn(followed, "virtual source", budget, [&](const auto&) -> Status {
      const SourcePtr now = get(file_name, dataset, budget);
      if (now->error) return fail(*now->error);
      if (!now->reader) return {};
      Status done = use(*now);
      if (done) done = followed.confirm_unchanged();
      if (!done && followed.following()) drop(now);
      return done;
    });
  }

  // Whether a source, or a source of a source, has changed or was created. Costs little: each file is checked
  // at most once per its own interval, missing names once a second.
  bool changed() const;
  // Whether a torn source was opened again, so that it is unknown which of its bytes were returned before.
  bool reopened() const { return reopened_; }

  // The sources that were needed and are missing, counted up to a bound.
  MissingSources missing() const;
  void note_missing(const Source& source);

  // Opens the file that a source's way leads to, for as long as this mount's files are open.
  std::function<Result<std::shared_ptr<metadata::FollowedFile>>()> opener_of(const Source& source) const;
  const object::OpenedFilePtr& from() const { return from_; }

  // Opens the sources that the previous state had opened; returns those of which some bytes became stale.
  std::vector<SourcePtr> renew(RequestBudget& budget);

 private:
  Result<Source> open(const std::string& file_name, const std::string& dataset, const Source* before,
                      RequestBudget& budget) const;
  Status open_in(Source& source, const std::string& path, const Source* before, RequestBudget& budget,
                 std::optional<object::PathWork::Leaving>& leaving) const;
  bool missing_came() const;
  void drop(const SourcePtr& source);
  std::vector<SourcePtr> all() const;

  const ReadEnvironment environment_;
  const object::OpenedFilePtr from_;
  std::vector<SourcePtr> before_;  // removed once they are renewed
  std::atomic<bool> reopened_ = false;
  mutable Mutex mutex_;
  std::list<SourcePtr> kept_ H5_GUARDED_BY(mutex_);  // most recently used first
  mutable std::chrono::steady_clock::time_point missing_checked_ H5_GUARDED_BY(mutex_);
  std::unordered_set<std::uint64_t> missing_ H5_GUARDED_BY(mutex_);  // hashes of the sources' names
  std::string first_missing_ H5_GUARDED_BY(mutex_);
};

}  // namespace h5mount::dataset
