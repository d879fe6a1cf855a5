#include "progress_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

namespace h5mount::cli {

ProgressLine::ProgressLine(bool wanted) : shows_(wanted && ::isatty(STDERR_FILENO) == 1) {}

bool ProgressLine::due() {
  const auto now = std::chrono::steady_clock::now();
  if (!shows_ || now - last_ < std::chrono::milliseconds(200)) return false;
  last_ = now;
  return true;
}

// Erases to the end of the line, because the text may have become shorter.
void ProgressLine::show(std::string_view text) {
  if (!shows_) return;
  fmt::print(stderr, "\r{}\033[K", text);
  shown_ = true;
}

void ProgressLine::clear() {
  if (std::exchange(shown_, false)) std::fputs("\r\033[K", stderr);
}

void ProgressLine::keep() {
  if (std::exchange(shown_, false)) std::fputc('\n', stderr);
}

std::string bytes_text(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1024;
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, kUnits[unit]);
}

}  // namespace h5mount::cli
