#include "h5mount/base/log.h"

#include <syslog.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <mutex>
#include <new>

#include <fmt/chrono.h>

#include "h5mount/base/log_notes.h"
#include "h5mount/base/utf8.h"
#include "kept_lines.h"

namespace h5mount {
namespace {

constexpr unsigned kLinesPerWindow = 300;
constexpr std::chrono::seconds kWindow{60};
constexpr std::size_t kMaxLineBytes = 4096;

std::atomic<LogLevel> g_level{LogLevel::Warning};
std::atomic<bool> g_syslog{false};

// The data of the log are never destroyed: threads that outlive `main` still write to it.
KeptLines& kept_lines() {
  static auto* const lines = new KeptLines;
  return *lines;
}

bool is_emitted(LogLevel level) {
  return level <= g_level.load(std::memory_order_relaxed);
}

std::string_view level_name(LogLevel level) {
  static constexpr std::string_view kNames[] = {"error", "warning", "info", "debug"};
  return kNames[static_cast<int>(level)];
}

// `line` is already escaped.
void keep(LogLevel level, const std::string& line) {
  const std::time_t now = std::time(nullptr);
  kept_lines().add(now, fmt::format("{:%FT%TZ} {}: {}\n", fmt::gmtime(now), level_name(level), line));
}

void emit(LogLevel level, const std::string& line) {
  keep(level, line);
  if (!is_emitted(level)) return;
  if (g_syslog.load(std::memory_order_relaxed)) {
    static constexpr int kPriorities[] = {LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG};
    syslog(LOG_DAEMON | kPriorities[static_cast<int>(level)], "%s", line.c_str());
  } else {
    std::fprintf(stderr, "h5mount: %s\n", line.c_str());
  }
}

// Limits the rate of lines, so that a damaged file that is read in a loop does not fill the disk with
// messages.
class RateLimiter {
 public:
  // Returns the number of lines dropped before this one, or -1 if this one must be dropped.
  int admit() {
    const MutexLock lock(mutex_);
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
  Mutex mutex_;
  std::chrono::steady_clock::time_point start_ H5_GUARDED_BY(mutex_) = std::chrono::steady_clock::now();
  unsigned lines_ H5_GUARDED_BY(mutex_) = 0;
  unsigned dropped_ H5_GUARDED_BY(mutex_) = 0;
};

}  // namespace

void set_log_level(LogLevel level) {
  g_level.store(level, std::memory_order_relaxed);
}
bool log_enabled(LogLevel level) {
  return level <= LogLevel::Warning || is_emitted(level);
}

void set_log_to_syslog(bool on) {
  if (on) openlog("h5mount", LOG_PID, LOG_DAEMON);
  g_syslog.store(on, std::memory_order_relaxed);
}

bool log_line(LogLevel level, std::string_view text) try {
  static auto& limiter = *new RateLimiter;
  if (!log_enabled(level)) return false;
  const int dropped = level == LogLevel::Debug ? 0 : limiter.admit();
  if (dropped < 0) return false;
  if (dropped > 0) emit(LogLevel::Warning, fmt::format("{} lines left out", dropped));
  const std::string line = escape_for_log(text);
  const std::string_view shown = utf8_prefix(line, kMaxLineBytes);
  emit(level, shown.size() == line.size() ? line : fmt::format("{}…", shown));
  return true;
} catch (
    const std::bad_alloc&) {  // called where nothing may be thrown: by libfuse, and by handlers of exceptions
  return false;
}

void log_exception(std::string_view who) noexcept try { throw; } catch (const std::exception& exception) {
  log(LogLevel::Error, "{}: internal error: {}", who, exception.what());
} catch (...) {
  log(LogLevel::Error, "{}: internal error", who);
}

void note_in_log(std::string_view text) {
  keep(LogLevel::Info, escape_for_log(text));
}

bool log_once(LogLevel level, std::string_view text, std::uint64_t state, std::string_view cause) {
  static auto& seen = *new SeenCauses;
  if (!log_enabled(level)) return false;
  const std::size_t hash = std::hash<std::string_view>{}(cause.empty() ? text : cause);
  const std::uint64_t key = hash ^ (state * 0x9E37'79B9'7F4A'7C15U);
  if (!seen.add(key)) return false;
  if (log_line(level, text)) return true;
  seen.remove(key);  // dropped by the rate limit: log it at the next occurrence
  return false;
}

KeptLog kept_log() {
  return kept_lines().extent();
}

std::optional<std::string> read_kept_log(std::uint64_t offset, std::size_t length) {
  return kept_lines().read(offset, length);
}

std::string escape_for_log(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    // Terminals may interpret the C1 controls (U+0080 to U+009F) too.
    const bool control = length == 1   ? first < 0x20 || first == 0x7F
                         : length == 2 ? first == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0
                                       : false;
    if (length == 0 || control)
      out += fmt::format("\\x{:02x}", first);
    else
      out += text.substr(0, length);
    text.remove_prefix(length == 0 || control ? 1 : length);
  }
  return out;
}

}  // namespace h5mount
