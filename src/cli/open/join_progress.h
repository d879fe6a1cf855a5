// What a terminal is shown while the headers of many files are read to be joined.
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "h5mount/tree/forest.h"

namespace h5mount::cli {

// Shows a line on stderr, if that is a terminal, as long as headers are being read. Threads: one of its own,
// which ends with it.
class JoinProgress {
 public:
  // `tree`: shows nothing unless it joins files.
  explicit JoinProgress(const std::shared_ptr<tree::Tree>& tree);
  ~JoinProgress();
  JoinProgress(const JoinProgress&) = delete;
  JoinProgress& operator=(const JoinProgress&) = delete;

 private:
  void run();

  const std::shared_ptr<tree::Forest> forest_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace h5mount::cli
