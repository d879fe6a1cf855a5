#include "h5mount/base/log.h"

#include <syslog.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <deque>
#include <functional>
#include <unordered_set>

#include <fmt/chrono.h>

#include "h5mount/base/log_notes.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/base/utf8.h"

namespace h5mount {
namespace {

constexpr unsigned kLinesPerWindow = 300;
constexpr std::chrono::seconds kWindow{60};
constexpr std::size_t kMaxLineBytes = 4096;

std::atomic<LogLevel> g_level{LogLevel::Warning};
std::atomic<bool> g_syslog{false};

// The last lines of the log. Threads: any.
class RecentLines {
 public:
  void add(std::time_t when, std::string line) {  // `line` ends with its newline
    const MutexLock lock(mutex_);
    const std::uint64_t begin = extent_.end;
    extent_.end += line.size();
    extent_.last = when;
    lines_.push_back({begin, std::move(line)});
    if (lines_.size() > kMaxLines) lines_.pop_front();
    extent_.begin = lines_.front().begin;
  }
  KeptLog extent() const {
    const MutexLock lock(mutex_);
    return extent_;
  }
  std::optional<std::string> read(std::uint64_t offset, std::size_t length) const {
    const MutexLock lock(mutex_);
    if (offset < extent_.begin) return std::nullopt;
    std::string out;
    if (offset >= extent_.end) return out;
    auto line = std::prev(std::ranges::upper_bound(lines_, offset, {}, &Line::begin));
    auto skipped = static_cast<std::size_t>(offset - line->begin);
    for (; line != lines_.end() && out.size() < length; ++line, skipped = 0)
      out += std::string_view(line->text).substr(skipped, length - out.size());
    return out;
  }

 private:
  static constexpr std::size_t kMaxLines = 1000;
  struct Line {
    std::uint64_t begin;
    std::string text;
  };

  mutable Mutex mutex_;
  std::deque<Line> lines_ H5_GUARDED_BY(mutex_);
  KeptLog extent_ H5_GUARDED_BY(mutex_);
};

// A bounded set of causes that were logged already, the oldest dropped first. Threads: any.
class SeenCauses {
 public:
  bool add(std::uint64_t cause) {  // false if it is already present
    const MutexLock lock(mutex_);
    if (!seen_.insert(cause).second) return false;
    order_.push_back(cause);
    if (order_.size() > kMaxCauses) {
      seen_.erase(order_.front());
      order_.pop_front();
    }
    return true;
  }
  void remove(std::uint64_t cause) {
    const MutexLock lock(mutex_);
    if (seen_.erase(cause) != 0) std::erase(order_, cause);
  }

 private:
  static constexpr std::size_t kMaxCauses = 4096;
  Mutex mutex_;
  std::unordered_set<std::uint64_t> seen_ H5_GUARDED_BY(mutex_);
  std::deque<std::uint64_t> order_ H5_GUARDED_BY(mutex_);
};

// The data of the log are never destroyed: threads that outlive `main` still write to it.
RecentLines& recent_lines() {
  static auto* const lines = new RecentLines;
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
  recent_lines().add(now, fmt::format("{:%FT%TZ} {}: {}\n", fmt::gmtime(now), level_name(level), line));
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
  return recent_lines().extent();
}

std::optional<std::string> read_kept_log(std::uint64_t offset, std::size_t length) {
  return recent_lines().read(offset, length);
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
