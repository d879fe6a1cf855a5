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

constexpr std::uint64_t kExiting = 0x4, kKilled = 0x400;  // PF_EXITING, PF_SIGNALED
constexpr std::uint64_t kSigkill = 1ULL << (SIGKILL - 1);

// The set of signals after `name`, given as hexadecimal digits.
std::uint64_t signals_at(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  std::uint64_t out = 0;
  if (at == std::string_view::npos) return out;
  text.remove_prefix(at + name.size());
  std::from_chars(text.data(), text.data() + text.size(), out, 16);
  return out;
}

// Fields counted from the state, which is the first one behind the name.
constexpr std::size_t kFlags = 6, kPending = 28, kProcessor = 36;

// The field `number` of words that are separated by single spaces; -1 if there is none.
std::int64_t number_at(std::string_view words, std::size_t number) {
  for (; number > 0; --number) {
    const std::size_t space = words.find(' ');
    if (space == std::string_view::npos) return -1;
    words.remove_prefix(space + 1);
  }
  std::int64_t out = -1;
  std::from_chars(words.data(), words.data() + words.size(), out);
  return out;
}

std::uint64_t bits_at(std::string_view words, std::size_t number) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(number_at(words, number), 0));
}

// The text of /proc/THREAD/`what`, as far as `buffer` holds it; empty if it cannot be read.
std::string_view read_of_thread(pid_t thread, const char* what, std::span<char> buffer) {
  std::array<char, 48> path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/%s", static_cast<int>(thread), what);
  const UniqueFd file(::open(path.data(), O_RDONLY | O_CLOEXEC));
  const ssize_t length = file ? ::read(file.get(), buffer.data(), buffer.size()) : -1;
  return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

}  // namespace

// The name may contain spaces and parentheses, so that fields are counted from the last parenthesis on.
std::optional<ThreadStat> parse_thread_stat(std::string_view line) {
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= line.size()) return std::nullopt;
  line.remove_prefix(name_end + 2);
  return ThreadStat{.state = line.front(),
                    .flags = bits_at(line, kFlags),
                    .pending = bits_at(line, kPending),
                    .processor = static_cast<int>(number_at(line, kProcessor))};
}

std::optional<ThreadStat> thread_stat(pid_t thread) {
  std::array<char, 4096> buffer;
  return parse_thread_stat(read_of_thread(thread, "stat", buffer));
}

bool status_text_is_interrupted(std::string_view text) {
  const std::uint64_t pending = signals_at(text, "\nSigPnd:\t") | signals_at(text, "\nShdPnd:\t");
  return (pending & ~signals_at(text, "\nSigBlk:\t") & ~signals_at(text, "\nSigIgn:\t")) != 0;
}

bool is_gone(const ThreadStat& thread, ClientKind kind) {
  // A signal that ends the process is pending as SIGKILL in each of its threads.
  if ((thread.pending & kSigkill) != 0 || (thread.flags & kKilled) != 0) return true;
  if (kind == ClientKind::Direct) return false;
  return thread.state == 'Z' || thread.state == 'X' || (thread.flags & kExiting) != 0;
}

bool client_is_gone(pid_t thread, ClientKind kind) {
  if (thread <= 0) return false;  // of another PID namespace
  if (::kill(thread, 0) != 0 && errno == ESRCH) return kind == ClientKind::Waiting;
  if (const auto stat = thread_stat(thread); stat && is_gone(*stat, kind)) return true;
  std::array<char, 4096> buffer;
  return kind == ClientKind::Direct && status_text_is_interrupted(read_of_thread(thread, "status", buffer));
}

}  // namespace h5mount::fuse
