// A line on a terminal with the progress of a copy, an archive or a comparison.
#pragma once

#include <chrono>
#include <string>
#include <thread>

#include "h5mount/base/thread_annotations.h"
#include "h5mount/front/copy.h"
#include "open/progress_line.h"

namespace h5mount::cli {

// "12.3 MiB of 64.0 MiB, 45 of 100 files, 120.0 MiB/s, 1:05 left"
std::string progress_text(const front::CopyProgress& progress, std::chrono::duration<double> elapsed);

// Rewrites the line on stderr until it is destroyed; then the last one stays there, or not.
class CopyProgressLine {
 public:
  explicit CopyProgressLine(const front::CopyProgress& progress, bool stays = true);
  ~CopyProgressLine();
  CopyProgressLine(const CopyProgressLine&) = delete;
  CopyProgressLine& operator=(const CopyProgressLine&) = delete;

  // Makes room for other output. Threads: any.
  void clear();

 private:
  void show();

  const front::CopyProgress& progress_;
  const bool stays_;
  ProgressLine line_{true};
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  Mutex mutex_;
  Condition ending_;
  bool ended_ H5_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace h5mount::cli
