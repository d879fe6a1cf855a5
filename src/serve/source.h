// ServedSource: a source and its newest opened state. A request holds the state that it began with, so that a
// download goes on when the file is replaced. Threads: any.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "h5mount/base/thread_annotations.h"
#include "h5mount/serve/server.h"

namespace h5mount::serve {

// A source as one request sees it. The version was taken before anything of the tree is read, so that bytes
// may be newer than their entity tag but never older.
struct Snapshot {
  std::shared_ptr<tree::Tree> tree;
  std::shared_ptr<void> pin;
  std::string version;        // of the source's file
  std::int64_t modified = 0;  // seconds since 1970
  std::function<bool(const tree::NodeStat&)> shown;  // as in OpenedSource
};

class ServedSource {
 public:
  explicit ServedSource(Source source);

  const std::string& name() const { return name_; }

  // Opens the source again where its file is another one now; requests meanwhile wait. Errors: those of
  // opening.
  Result<std::shared_ptr<const Snapshot>> current();

 private:
  Result<SourceState> current_state() H5_REQUIRES(mutex_);

  const std::string name_;
  const std::function<Result<OpenedSource>()> open_;
  const std::uint64_t run_;  // differs from run to run
  Mutex mutex_;
  std::optional<OpenedSource> opened_ H5_GUARDED_BY(mutex_);
  std::uint64_t unsettled_ H5_GUARDED_BY(mutex_) = 0;
};

}  // namespace h5mount::serve
