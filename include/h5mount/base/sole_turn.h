// SoleTurn: work that one thread does at a time, while others leave it out. It ends also if the work throws.
#pragma once

#include <atomic>

namespace h5mount {

class SoleTurn {
 public:
  explicit SoleTurn(std::atomic<bool>& taken) : taken_(taken), mine_(!taken.exchange(true)) {}
  ~SoleTurn() {
    if (mine_) taken_ = false;
  }
  SoleTurn(const SoleTurn&) = delete;
  SoleTurn& operator=(const SoleTurn&) = delete;
  bool mine() const { return mine_; }

 private:
  std::atomic<bool>& taken_;
  const bool mine_;
};

}  // namespace h5mount
