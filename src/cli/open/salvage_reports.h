// What salvage did for each file that was opened. Threads: any.
#pragma once

#include <utility>
#include <vector>

#include "h5mount/base/thread_annotations.h"
#include "h5mount/salvage/salvage.h"

namespace h5mount::cli {

class SalvageReports {
 public:
  void add(const salvage::Report& report) {
    const MutexLock lock(mutex_);
    all_.push_back(report);
  }
  std::vector<salvage::Report> take() {
    const MutexLock lock(mutex_);
    return std::exchange(all_, {});
  }

 private:
  Mutex mutex_;
  std::vector<salvage::Report> all_ H5_GUARDED_BY(mutex_);
};

}  // namespace h5mount::cli
