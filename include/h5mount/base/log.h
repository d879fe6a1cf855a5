// One log for the program. A line goes to stderr, or to syslog once the program is a daemon, where the level
// that was set lets it; and the last thousand lines stay in memory, warnings and errors whatever the level,
// to be read as
// /.h5/log. Names from files are escaped, a line is at most 4 KiB, and a flood (more than some hundred lines
// a minute) is cut with a count of what was left out. Threads: any.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>

#include "h5mount/base/error.h"

namespace h5mount {

enum class LogLevel { Error = 0, Warning = 1, Info = 2, Debug = 3 };

void set_log_level(LogLevel level);  // of what is emitted
bool log_enabled(LogLevel level);    // whether a line of that level is emitted or kept
void set_log_to_syslog(bool on);     // after the program has become a daemon

// False where the line was left out: its level is not wanted, or it is part of a flood.
bool log_line(LogLevel level, std::string_view text);

// The same, but what was logged once is not logged again until `state` is another: a damaged node comes up in
// every read that needs it, each time in another context. `cause` tells what is wrong apart from that; the
// text itself by default. Thousands of causes are remembered, the latest ones.
bool log_once(LogLevel level, std::string_view text, std::uint64_t state = 0, std::string_view cause = {});

// Control bytes, escapes and bytes that are not UTF-8 as \xNN: a name from a file cannot steer a terminal.
std::string escape_for_log(std::string_view text);

// ---- the lines in memory

// As one text of lines "2026-11-21T17:29:52Z warning: …". Its bytes are numbered from the first line that was
// ever kept, so that a reader who follows the log goes on where it was; those of lines that were dropped are
// gone.
struct KeptLog {
  std::uint64_t begin = 0, end = 0;  // bytes that are there
  std::time_t last = 0;              // when the last line came
};
KeptLog kept_log();
// At most `length` bytes from `offset` on, fewer only at the end; nothing where they are gone.
std::optional<std::string> read_kept_log(std::uint64_t offset, std::size_t length);

template <class... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(level)) log_line(level, fmt::format(format, std::forward<Args>(args)...));
}

inline void log_error(const Error& error) {
  log_line(LogLevel::Error, error.text());
}

}  // namespace h5mount
