// KeptLines: the last lines of the log. SeenCauses: what was logged already. Threads: any.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_set>

#include "h5mount/base/log.h"
#include "h5mount/base/thread_annotations.h"

namespace h5mount {

class KeptLines {
 public:
  static constexpr std::size_t kMaxLines = 1000;

  void add(std::time_t when, std::string line);  // `line` ends with its newline
  KeptLog extent() const;
  std::optional<std::string> read(std::uint64_t offset, std::size_t length) const;

 private:
  struct Line {
    std::uint64_t begin;
    std::string text;
  };
  mutable Mutex mutex_;
  std::deque<Line> lines_ H5_GUARDED_BY(mutex_);
  KeptLog extent_ H5_GUARDED_BY(mutex_);
};

// A bounded set of causes, the oldest dropped first.
class SeenCauses {
 public:
  static constexpr std::size_t kMaxCauses = 4096;

  bool add(std::uint64_t cause);  // false if it is already present
  void remove(std::uint64_t cause);

 private:
  Mutex mutex_;
  std::unordered_set<std::uint64_t> seen_ H5_GUARDED_BY(mutex_);
  std::deque<std::uint64_t> order_ H5_GUARDED_BY(mutex_);
};

}  // namespace h5mount
