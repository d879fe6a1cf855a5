#include "client_state.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <span>

#include "h5mount/base/unique_fd.h"

namespace h5mount::fuse {
namespace {

// proc_pid_stat(5), counted from the state, which is the first field behind the name.
constexpr std::size_t kFlags = 6, kPending = 28;
constexpr std::uint64_t kExiting = 0x4, kKilled = 0x400;  // PF_EXITING, PF_SIGNALED
constexpr std::uint64_t kSigkill = 1ULL << (SIGKILL - 1);

// The field `number` of words that are separated by single spaces; 0 where there is none.
std::uint64_t number_at(std::string_view words, std::size_t number) {
  for (; number > 0; --number) {
    const std::size_t space = words.find(' ');
    if (space == std::string_view::npos) return 0;
    words.remove_prefix(space + 1);
  }
  std::uint64_t out = 0;
  std::from_chars(words.data(), words.data() + words.size(), out);
  return out;
}

// The set of signals behind `name`, in hexadecimal digits.
std::uint64_t signals_at(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  std::uint64_t out = 0;
  if (at == std::string_view::npos) return out;
  text.remove_prefix(at + name.size());
  std::from_chars(text.data(), text.data() + text.size(), out, 16);
  return out;
}

// What /proc says of the thread, at the beginning of `buffer`; empty where it says nothing.
std::string_view read_of(pid_t thread, const char* what, std::span<char> buffer) {
  std::array<char, 48> path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/%s", static_cast<int>(thread), what);
  const UniqueFd file(::open(path.data(), O_RDONLY | O_CLOEXEC));
  const ssize_t length = file.get() < 0 ? -1 : ::read(file.get(), buffer.data(), buffer.size());
  return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

}  // namespace

bool status_text_is_interrupted(std::string_view text) {
  const std::uint64_t pending = signals_at(text, "\nSigPnd:\t") | signals_at(text, "\nShdPnd:\t");
  return (pending & ~signals_at(text, "\nSigBlk:\t") & ~signals_at(text, "\nSigIgn:\t")) != 0;
}

bool stat_line_is_gone(std::string_view line, ClientKind kind) {
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= line.size()) return false;
  line.remove_prefix(name_end + 2);
  const std::uint64_t flags = number_at(line, kFlags);
  // A signal that ends the process is pending as SIGKILL in each of its threads.
  if ((number_at(line, kPending) & kSigkill) != 0 || (flags & kKilled) != 0) return true;
  if (kind == ClientKind::Direct) return false;
  return line.front() == 'Z' || line.front() == 'X' || (flags & kExiting) != 0;
}

bool client_is_gone(pid_t thread, ClientKind kind) {
  if (thread <= 0) return false;  // of another PID namespace
  if (::kill(thread, 0) != 0 && errno == ESRCH) return kind == ClientKind::Waiting;
  std::array<char, 4096> buffer;
  if (stat_line_is_gone(read_of(thread, "stat", buffer), kind)) return true;
  return kind == ClientKind::Direct && status_text_is_interrupted(read_of(thread, "status", buffer));
}

}  // namespace h5mount::fuse
