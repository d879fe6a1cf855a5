// A line on the terminal (stderr) that is written anew, and amounts as people read them.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace h5mount::cli {

// Threads: one at a time.
class ProgressLine {
 public:
  // Shows nothing unless it is `wanted` and there is a terminal.
  explicit ProgressLine(bool wanted);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  bool shows() const { return shows_; }
  // Whether it is time to show something again: five times a second.
  bool due();
  void show(std::string_view text);
  void clear();
  // The last line stays on the terminal.
  void keep();

 private:
  const bool shows_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// "512 B", "1.5 MiB"
std::string bytes_text(double bytes);

}  // namespace h5mount::cli
