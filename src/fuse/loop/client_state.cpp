#include "client_state.h"

#include <signal.h>

#include <array>
#include <cerrno>
#include <charconv>

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

}  // namespace

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
