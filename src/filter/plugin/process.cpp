#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "h5mount/base/long_work.h"
#include "protocol.h"

namespace h5mount::filter {

namespace {

template <class T>
MutableByteSpan bytes_of(T& value) {
  return {reinterpret_cast<std::byte*>(&value), sizeof value};
}

Error failed_plugin(const std::string& name, std::string_view what) {
  return {ErrorCode::FilterFailed, fmt::format("filter plugin{}{}: {}", name.empty() ? "" : " ", name, what)};
}

// Starts `program` with arguments `words` and `socket` as its standard input. Uses posix_spawn, not fork:
// other threads may hold locks.
Result<pid_t> spawn(const std::string& program, const std::vector<std::string>& words, int socket) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  // A serving thread may be bound to a processor, which the helper would inherit.
  note_long_work();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, socket, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  sigset_t all;
  sigfillset(&all);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  char* environment[] = {nullptr};
  pid_t pid = 0;
  const int trouble =
      ::posix_spawn(&pid, program.c_str(), &actions, &attributes, arguments.data(), environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (trouble != 0) return fail(io_error(trouble, "start a helper for filter plugins"));
  return pid;
}

}  // namespace

Result<std::unique_ptr<PluginProcess>> PluginProcess::start(const PluginOptions& options, int id,
                                                            std::uint64_t memory) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail(io_error(errno, "make a socket for filter plugins"));
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(options.timeout).count();
  std::vector<std::string> words = {kHelperName, std::to_string(id), std::to_string(memory),
                                    std::to_string(seconds)};
  words.insert(words.end(), options.directories.begin(), options.directories.end());
  const auto pid = spawn(options.helper, words, ends[1]);
  ::close(ends[1]);
  if (!pid) {
    ::close(ends[0]);
    return fail(pid.error());
  }
  std::unique_ptr<PluginProcess> process(new PluginProcess(*pid, ends[0], options.timeout));
  H5_TRY(process->greet());
  return process;
}

PluginProcess::~PluginProcess() {
  ::close(socket_);
  if (pid_ > 0) reap(true);
}

Status PluginProcess::greet() {
  const Deadline deadline = std::chrono::steady_clock::now() + timeout_;
  PluginReply greeting;
  H5_TRY(receive(bytes_of(greeting), deadline));
  if (greeting.answer == PluginAnswer::NotFound)
    return fail({ErrorCode::NotFound, "no plugin has this filter"});
  if (greeting.bytes > kMaxGreeting) return fail(failed_plugin("", "a greeting of no sound length"));
  name_.resize(static_cast<std::size_t>(greeting.bytes));
  H5_TRY(receive({reinterpret_cast<std::byte*>(name_.data()), name_.size()}, deadline));
  if (greeting.answer == PluginAnswer::Done) return {};
  return fail(failed_plugin("", name_));
}

Result<std::size_t> PluginProcess::decode(ByteSpan in, std::span<const std::uint32_t> values,
                                          MutableByteSpan out) {
  const Deadline deadline = std::chrono::steady_clock::now() + timeout_;
  if (values.size() > kMaxPluginValues) return fail(failed_plugin(name_, "too many client values"));
  PluginRequest request{in.size(), out.size(), static_cast<std::uint32_t>(values.size()), 0};
  usable_ = false;  // until the reply was read completely
  H5_TRY(send(bytes_of(request), deadline));
  H5_TRY(send(std::as_bytes(values), deadline));
  H5_TRY(send(in, deadline));
  PluginReply reply;
  H5_TRY(receive(bytes_of(reply), deadline));
  if (reply.answer == PluginAnswer::Done) {
    if (reply.bytes > out.size()) return fail(failed_plugin(name_, "an answer longer than was asked for"));
    H5_TRY(receive(out.first(static_cast<std::size_t>(reply.bytes)), deadline));
    usable_ = true;
    return static_cast<std::size_t>(reply.bytes);
  }
  if (reply.bytes != 0) return fail(failed_plugin(name_, "an answer that is none"));
  usable_ = true;
  return fail(failed_plugin(name_, reply.answer == PluginAnswer::TooLong
                                       ? "it gives more bytes than the chunk has"
                                       : "it cannot decode these bytes"));
}

Status PluginProcess::wait_for(short events, Deadline deadline) {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd what{socket_, events, 0};
    const int ready = left.count() <= 0 ? 0 : ::poll(&what, 1, static_cast<int>(left.count()));
    if (ready > 0) return {};
    if (ready < 0 && errno == EINTR) continue;
    reap(true);
    return fail(failed_plugin(name_, fmt::format("it hangs: no answer in {} ms", timeout_.count())));
  }
}

Status PluginProcess::send(ByteSpan bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN || errno == EINTR) {
      H5_TRY(wait_for(POLLOUT, deadline));
    } else {
      return fail(ended());
    }
  }
  return {};
}

Status PluginProcess::receive(MutableByteSpan bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t n = ::recv(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (n > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    } else if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
      H5_TRY(wait_for(POLLIN, deadline));
    } else {
      return fail(ended());
    }
  }
  return {};
}

Error PluginProcess::ended() {
  const int status = reap(false);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) return failed_plugin(name_, "it hangs");
  if (WIFSIGNALED(status))
    return failed_plugin(name_, fmt::format("it crashed (signal {})", WTERMSIG(status)));
  return failed_plugin(name_, fmt::format("it ended itself (exit code {})", WEXITSTATUS(status)));
}

// Waits for the helper's end, killing it first where `kill` is set; returns its wait status.
int PluginProcess::reap(bool kill) {
  int status = 0;
  if (pid_ <= 0) return status;
  if (kill) ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  usable_ = false;
  return status;
}

}  // namespace h5mount::filter
