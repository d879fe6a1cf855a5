#include "fusermount.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "h5mount/base/descriptor_message.h"
#include "h5mount/base/text.h"

namespace h5mount::fuse {
namespace {

constexpr const char* kSocketVariable = "_FUSE_COMMFD=";

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

// fusermount3 sends the descriptor over the socket whose number it finds in its environment.
Result<pid_t> start_fusermount(const std::string& program, std::vector<std::string> words, int socket) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with(kSocketVariable)) variables.emplace_back(*variable);
  }
  variables.push_back(kSocketVariable + std::to_string(socket));
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, socket, socket);  // it stays open in the program
  pid_t child = -1;
  const int error = ::posix_spawn(&child, program.c_str(), &actions, nullptr, pointers_to(words).data(),
                                  pointers_to(variables).data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return fail(io_error(error, program));
  return child;
}

void await_end(pid_t child) {
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

// Runs in the child of a process with threads, so it only makes system calls.
[[noreturn]] void unmount_at_end(int alive, const char* program, char* const* words) {
  constexpr int kAlive = 3;
  ::setsid();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_IGN);
  // An open session descriptor would keep the connection alive, and the pipe's other end would hide this
  // process's end.
  ::dup2(alive, kAlive);
  ::close_range(kAlive + 1, ~0U, 0);
  char byte = 0;
  while (::read(kAlive, &byte, 1) < 0 && errno == EINTR) {
  }
  ::execv(program, words);
  ::_exit(1);
}

}  // namespace

std::optional<std::string> find_fusermount() {
  const char* const variable = ::getenv("PATH");
  std::string_view places = variable != nullptr ? variable : "/usr/bin:/bin";
  while (!places.empty()) {
    const std::string_view place = take_until(places, ':');
    std::string program = fmt::format("{}/fusermount3", place);
    if (place.starts_with('/') && ::access(program.c_str(), X_OK) == 0) return program;
  }
  return std::nullopt;
}

Status FusermountMount::begin(const std::string& program, const std::string& mountpoint,
                              const std::string& options) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail(io_error(errno, "socketpair"));
  socket_ = UniqueFd(ends[0]);
  UniqueFd theirs(ends[1]);
  H5_ASSIGN(const pid_t asked,
            start_fusermount(program, {program, "-o", options, "--", mountpoint}, theirs.get()));
  theirs.reset();
  auto sent = receive_with_descriptors(socket_.get(), 1);  // nothing if the program ended without a mount
  if (!sent.descriptors.empty()) device_ = std::move(sent.descriptors.front());
  // With auto_unmount the program stays, and waits for the end of the socket.
  if (!device_ || !options.contains("auto_unmount")) await_end(asked);
  if (!device_) return fail({ErrorCode::Io, program + " mounted nothing"});
  return start_child(program, mountpoint);
}

Status FusermountMount::start_child(const std::string& program, const std::string& mountpoint) {
  std::vector<std::string> words{program, "-u", "-q", "-z", "--", mountpoint};
  const std::vector<char*> pointers = pointers_to(words);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail(io_error(errno, "pipe"));
  const UniqueFd reading(ends[0]);
  alive_ = UniqueFd(ends[1]);
  child_ = ::fork();
  if (child_ == 0) unmount_at_end(reading.get(), program.c_str(), pointers.data());
  return child_ > 0 ? Status{} : fail(io_error(errno, "fork"));
}

void FusermountMount::end() {
  device_.reset();
  alive_.reset();
  socket_.reset();
  if (child_ > 0) await_end(std::exchange(child_, -1));
}

}  // namespace h5mount::fuse
