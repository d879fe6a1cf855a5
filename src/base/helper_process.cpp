#include "h5mount/base/helper_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <thread>
#include <utility>

#include "h5mount/base/long_work.h"

namespace h5mount {
namespace {

constexpr int kFirstPassed = 3;
constexpr std::chrono::milliseconds kToEnd{1000};  // for a helper that has closed its socket

// The arguments of posix_spawn, freed at the end.
struct SpawnPlan {
  SpawnPlan() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnPlan() {
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  void reset_signals() {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

// Copies with numbers above those that the helper's descriptors will have, so that no move there overwrites
// another one.
Result<std::vector<UniqueFd>> copies_above(const std::vector<int>& descriptors) {
  std::vector<UniqueFd> out;
  const int above = kFirstPassed + static_cast<int>(descriptors.size());
  for (const int descriptor : descriptors) {
    out.emplace_back(::fcntl(descriptor, F_DUPFD_CLOEXEC, above));
    if (!out.back()) return fail(io_error(errno, "pass a descriptor to a helper"));
  }
  return out;
}

// The words as exec takes them, with a null pointer at the end.
std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

// Uses posix_spawn, not fork, as other threads may hold locks.
Result<pid_t> spawn(const HelperProcess::Program& program, int socket) {
  H5_ASSIGN(const auto passed, copies_above(program.descriptors));
  const auto words = pointers_to(program.words), environment = pointers_to(program.environment);
  // A serving thread may be bound to a processor, which the helper would inherit.
  note_long_work();
  SpawnPlan plan;
  plan.reset_signals();
  posix_spawn_file_actions_adddup2(&plan.actions, socket, 0);
  posix_spawn_file_actions_addopen(&plan.actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&plan.actions, 2, "/dev/null", O_WRONLY, 0);
  for (int number = kFirstPassed; const UniqueFd& one : passed)
    posix_spawn_file_actions_adddup2(&plan.actions, one.get(), number++);
  pid_t pid = 0;
  const int trouble = ::posix_spawn(&pid, program.path.c_str(), &plan.actions, &plan.attributes, words.data(),
                                    environment.data());
  if (trouble != 0) return fail(io_error(trouble, fmt::format("start the helper {}", program.path)));
  return pid;
}

}  // namespace

Result<std::unique_ptr<HelperProcess>> HelperProcess::start(const Program& program) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail(io_error(errno, "make a socket for a helper"));
  UniqueFd own(ends[0]);
  const UniqueFd others(ends[1]);
  H5_ASSIGN(const pid_t pid, spawn(program, others.get()));
  return std::unique_ptr<HelperProcess>(new HelperProcess(pid, std::move(own)));
}

HelperProcess::~HelperProcess() {
  if (running()) reap({});
}

Status HelperProcess::send(ByteSpan bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0)
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    else if (errno == EAGAIN || errno == EINTR)
      H5_TRY(wait_for(POLLOUT, deadline));
    else
      return fail(ended());
  }
  return {};
}

Status HelperProcess::receive(MutableByteSpan bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t n = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (n > 0)
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    else if (n < 0 && (errno == EAGAIN || errno == EINTR))
      H5_TRY(wait_for(POLLIN, deadline));
    else
      return fail(ended());
  }
  return {};
}

Status HelperProcess::wait_for(short events, Deadline deadline) {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd what{socket_.get(), events, 0};
    const int ready = left.count() <= 0 ? 0 : ::poll(&what, 1, static_cast<int>(left.count()));
    if (ready > 0) return {};
    if (ready < 0 && errno == EINTR) continue;
    reap({});
    return fail({ErrorCode::TimedOut, "it hangs"});
  }
}

Error HelperProcess::ended() {
  if (!running()) return {ErrorCode::Io, "it has ended"};
  const int status = reap(kToEnd);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) return {ErrorCode::TimedOut, "it hangs"};
  if (WIFSIGNALED(status)) return {ErrorCode::Io, fmt::format("it crashed (signal {})", WTERMSIG(status))};
  return {ErrorCode::Io, fmt::format("it ended itself (exit code {})", WEXITSTATUS(status))};
}

// The helper's wait status. A helper that does not end within `patience` is killed.
int HelperProcess::reap(std::chrono::milliseconds patience) {
  const Deadline end = std::chrono::steady_clock::now() + patience;
  int status = 0, how = WNOHANG;
  for (pid_t reaped = 0; reaped != pid_;) {
    if (how == WNOHANG && std::chrono::steady_clock::now() >= end) {
      ::kill(pid_, SIGKILL);
      how = 0;
    }
    reaped = ::waitpid(pid_, &status, how);
    if (reaped < 0 && errno != EINTR) break;
    if (reaped == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  pid_ = 0;
  return status;
}

}  // namespace h5mount
