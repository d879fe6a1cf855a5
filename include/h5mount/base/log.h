// One log for the program: a line a message to stderr, or to syslog once the program is a daemon. Names from
// files are escaped, and a flood (more than some hundred lines a minute) is cut with a count of what was left out.
// Threads: any.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "h5mount/base/error.h"

namespace h5mount {

enum class LogLevel { Error = 0, Warning = 1, Info = 2, Debug = 3 };

void set_log_level(LogLevel level);
bool log_enabled(LogLevel level);
void set_log_to_syslog(bool on);  // after the program has become a daemon
void log_line(LogLevel level, std::string_view text);

// Control bytes, escapes and bytes that are not UTF-8 as \xNN: a name from a file cannot steer a terminal.
std::string escape_for_log(std::string_view text);

template <class... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(level)) log_line(level, fmt::format(format, std::forward<Args>(args)...));
}

inline void log_error(const Error& error) {
  if (log_enabled(LogLevel::Error)) log_line(LogLevel::Error, error.text());
}

}  // namespace h5mount
