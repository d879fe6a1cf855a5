// The program's log. Lines up to the level that was set go to stderr, or to syslog once the program is a
// daemon. The last 1,000 lines also stay in memory (warnings and errors whatever the level) and are read as
// /.h5/log. Control bytes are escaped; a line has at most 4 KiB. If there are more than 300 lines in a
// minute, the rest is dropped and counted, except debug lines. Threads: any.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <ctime>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "h5mount/base/advice.h"
#include "h5mount/base/error.h"

namespace h5mount {

enum class LogLevel { Error = 0, Warning = 1, Info = 2, Debug = 3 };

void set_log_level(LogLevel level);  // of the lines that go to stderr or syslog
bool log_enabled(LogLevel level);    // whether a line of that level is emitted or kept in memory
void set_log_to_syslog(bool on);     // after the program has become a daemon

// Returns false if the line was dropped, because of its level or of the rate limit.
bool log_line(LogLevel level, std::string_view text);

// Logs each pair of `cause` and `state` once. A damaged node fails every read that needs it, each time with
// another context in `text`; `cause` names the damage without the context (by default it is `text`). `state`
// is the version of the file. The latest 4,096 pairs are remembered.
bool log_once(LogLevel level, std::string_view text, std::uint64_t state = 0, std::string_view cause = {});

// Replaces control characters and bytes that are not UTF-8 by \xNN, so that a name from a file cannot send
// escape sequences to a terminal.
std::string escape_for_log(std::string_view text);

// ---- the lines in memory

// The kept lines are one text of lines "2026-11-21T17:29:52Z warning: …". Its offsets count from the first
// line ever kept, so that a reader that follows the log continues at its last offset.
struct KeptLog {
  std::uint64_t begin = 0, end = 0;  // offsets [begin, end) are in memory
  std::time_t last = 0;              // time of the last line
};
KeptLog kept_log();
// At most `length` bytes from `offset` on, fewer only at the end; nullopt if `offset` was already dropped.
std::optional<std::string> read_kept_log(std::uint64_t offset, std::size_t length);

// Without memory for the text the line is left out: handlers of exceptions log too.
template <class... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (!log_enabled(level)) return;
  try {
    log_line(level, fmt::format(format, std::forward<Args>(args)...));
  } catch (const std::bad_alloc&) {
    return;
  }
}

// Logs the exception that is being handled: `who` failed by it.
void log_exception(std::string_view who) noexcept;

inline void log_error(const Error& error) {
  log_line(LogLevel::Error, text_with_advice(error));
}

}  // namespace h5mount
