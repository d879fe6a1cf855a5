// ByteBudget: a number of bytes that all holders share. Threads: any.
#pragma once

#include <atomic>
#include <cstdint>

namespace h5mount::tree {

class ByteBudget {
 public:
  explicit ByteBudget(std::uint64_t bytes) : left_(bytes) {}

  // Takes nothing and returns false if fewer bytes are left.
  bool take(std::uint64_t bytes) {
    std::uint64_t left = left_.load();
    do {
      if (bytes > left) return false;
    } while (!left_.compare_exchange_weak(left, left - bytes));
    return true;
  }
  void give_back(std::uint64_t bytes) { left_ += bytes; }

 private:
  std::atomic<std::uint64_t> left_;
};

}  // namespace h5mount::tree
