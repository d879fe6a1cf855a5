#include "h5mount/base/log.h"

#include <syslog.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>

namespace h5mount {
namespace {

constexpr unsigned kLinesPerWindow = 300;
constexpr std::chrono::seconds kWindow{60};

std::atomic<LogLevel> g_level{LogLevel::Warning};
std::atomic<bool> g_syslog{false};

void emit(LogLevel level, const std::string& line) {
  if (g_syslog.load(std::memory_order_relaxed)) {
    static constexpr int kPriorities[] = {LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG};
    syslog(LOG_DAEMON | kPriorities[static_cast<int>(level)], "%s", line.c_str());
  } else {
    std::fprintf(stderr, "h5mount: %s\n", line.c_str());
  }
}

// A damaged file read in a loop must not fill a disk with its complaints.
class FloodGate {
 public:
  // How many lines were dropped before this one, or -1 where this one is to be dropped.
  int admit() {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    int dropped = 0;
    if (now - start_ > kWindow) {
      dropped = static_cast<int>(dropped_);
      start_ = now;
      lines_ = dropped_ = 0;
    }
    if (lines_ >= kLinesPerWindow) {
      ++dropped_;
      return -1;
    }
    ++lines_;
    return dropped;
  }

 private:
  std::mutex mutex_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  unsigned lines_ = 0;
  unsigned dropped_ = 0;
};

}  // namespace

void set_log_level(LogLevel level) { g_level.store(level, std::memory_order_relaxed); }
bool log_enabled(LogLevel level) { return level <= g_level.load(std::memory_order_relaxed); }

void set_log_to_syslog(bool on) {
  if (on) openlog("h5mount", LOG_PID, LOG_DAEMON);
  g_syslog.store(on, std::memory_order_relaxed);
}

void log_line(LogLevel level, std::string_view text) {
  static FloodGate gate;
  const int dropped = level == LogLevel::Debug ? 0 : gate.admit();
  if (dropped < 0) return;
  if (dropped > 0) emit(LogLevel::Warning, fmt::format("{} lines left out", dropped));
  emit(level, escape_for_log(text));
}

std::string escape_for_log(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    std::size_t length = c < 0x80 ? 1 : c >= 0xC2 && c < 0xE0 ? 2 : c >= 0xE0 && c < 0xF0 ? 3 : c >= 0xF0 && c < 0xF5 ? 4 : 0;
    bool sound = length != 0 && i + length <= text.size() && (length > 1 || (c >= 0x20 && c != 0x7F));
    for (std::size_t k = 1; sound && k < length; ++k) sound = (static_cast<unsigned char>(text[i + k]) & 0xC0) == 0x80;
    // C1 controls (U+0080..U+009F) steer some terminals.
    if (sound && length == 2 && c == 0xC2 && static_cast<unsigned char>(text[i + 1]) < 0xA0) sound = false;
    if (sound) {
      out.append(text.substr(i, length));
      i += length - 1;
    } else {
      out += fmt::format("\\x{:02x}", c);
    }
  }
  return out;
}

}  // namespace h5mount
