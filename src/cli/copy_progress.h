// A line on a terminal with the progress of a copy or an archive.
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

// Rewrites the line on stderr until it is destroyed.
class CopyProgressLine {
 public:
  explicit CopyProgressLine(const front::CopyProgress& progress);
  ~CopyProgressLine();
  CopyProgressLine(const CopyProgressLine&) = delete;
  CopyProgressLine& operator=(const CopyProgressLine&) = delete;

 private:
  void show();

  const front::CopyProgress& progress_;
  ProgressLine line_{true};
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  Mutex mutex_;
  Condition ending_;
  bool ended_ H5_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace h5mount::cli
