// The peak resident memory of this process since `reset_memory_peak`, in bytes (Linux).
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace h5mount::test {

inline void reset_memory_peak() {
  std::ofstream("/proc/self/clear_refs") << "5";
}

inline std::uint64_t memory_peak() {
  std::ifstream status("/proc/self/status");
  std::string word;
  std::uint64_t kilobytes = 0;
  while (status >> word)
    if (word == "VmHWM:") status >> kilobytes;
  return kilobytes << 10;
}

}  // namespace h5mount::test
