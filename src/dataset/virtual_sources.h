// VirtualSources: the datasets that a virtual one is put together from, opened when somebody first asks for
// them, a bounded number kept. The files they stand in may grow, or come to be, while the view's own file
// stays as it is: `changed` says so, and the sources of the view's next state go on from these.
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

namespace h5mount::dataset {

class VirtualSources {
 public:
  struct Source {
    std::string file_name, dataset;
    std::shared_ptr<const DatasetReader> reader;  // null: not there, reads as fill; or `error`
    std::optional<Error> error;                   // it is there but cannot be opened
    std::optional<Error> absent;                  // why it is not there
    object::OpenedFilePtr file;
    std::uint64_t generation = 0;     // of the file when it was opened
    bool was_there = false;           // in the state before
    std::vector<ByteRange> outdated;  // bytes of it that the state before may have given otherwise
  };
  using SourcePtr = std::shared_ptr<const Source>;

  // `from`: the view's file. `before`: of the view's state before, or null.
  VirtualSources(ReadEnvironment environment, object::OpenedFilePtr from, const VirtualSources* before);

  SourcePtr get(const std::string& file_name, const std::string& dataset);

  // Calls `use` with the source's reader, if there is one; again where the source was just being written.
  template <class Use>
  Status use(const std::string& file_name, const std::string& dataset, Use&& use) {
    const SourcePtr first = get(file_name, dataset);
    if (first->error) return fail(*first->error);
    if (!first->reader) {
      note_missing(*first);
      return {};
    }
    H5_TRY(first->file->metadata->look());
    return metadata::retry_torn(*first->file->metadata, "virtual source", [&]() -> Status {
      const SourcePtr now = get(file_name, dataset);
      if (now->error) return fail(*now->error);
      if (!now->reader) return {};
      Status done = use(*now->reader);
      if (done) done = now->file->metadata->revalidate();
      if (!done && now->file->metadata->following()) drop(now);
      return done;
    });
  }

  // Whether a source, or a source of a source, reads otherwise now, or came to be. Cheap: files are looked at
  // as often as their own interval lets them, names that were not there once a second.
  bool changed() const;

  // Those that were needed and not there. Counted up to a bound.
  MissingSources missing() const;
  void note_missing(const Source& source);

  // Opens what the state before had opened; gives those sources of which something became wrong.
  std::vector<SourcePtr> renew();
  // Whether a torn source was opened anew since the last call: nobody knows then what it has shown.
  bool take_reopened() { return reopened_.exchange(false); }

 private:
  Result<Source> open(const std::string& file_name, const std::string& dataset, const Source* before) const;
  bool missing_came() const;
  void drop(const SourcePtr& source);
  std::vector<SourcePtr> all() const;

  const ReadEnvironment environment_;
  const object::OpenedFilePtr from_;
  std::vector<SourcePtr> before_;  // until they are renewed
  std::atomic<bool> reopened_ = false;
  mutable std::mutex mutex_;   // of what follows
  std::list<SourcePtr> kept_;  // most recently used first
  mutable std::chrono::steady_clock::time_point looked_for_missing_;
  std::unordered_set<std::uint64_t> missing_;  // hashes of their names
  std::string first_missing_;
};

}  // namespace h5mount::dataset
