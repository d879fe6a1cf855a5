#include "background.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "../words/exit_codes.h"
#include "h5mount/base/log.h"

namespace h5mount::cli {
namespace {

int exit_code_of_child(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return kExitMountFailed;
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) != 0) return WEXITSTATUS(status);
  if (WIFSIGNALED(status))
    std::fprintf(stderr, "h5mount: ended by signal %d before the mount answered\n", WTERMSIG(status));
  return kExitMountFailed;
}

[[noreturn]] void wait_for_child(pid_t child, int socket) {
  char word = 0;
  ssize_t length = 0;
  do {
    length = ::recv(socket, &word, 1, 0);
  } while (length < 0 && errno == EINTR);
  ::_exit(length == 1 ? 0 : exit_code_of_child(child));
}

}  // namespace

void let_go_of_terminal() {
  ::setsid();
  if (::chdir("/") != 0) log(LogLevel::Debug, "cannot leave the working directory");
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return;
  set_log_to_syslog(true);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null.get(), fd);
}

Result<Background> Background::fork_process() {
  std::array<int, 2> sockets{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0) {
    return fail(io_error(errno, "socketpair"));
  }
  UniqueFd parents(sockets[0]), childs(sockets[1]);
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return fail(io_error(errno, "fork"));
  if (child == 0) return Background(std::move(childs));
  childs.reset();
  wait_for_child(child, parents.get());
}

bool Background::ready() const {
  let_go_of_terminal();
  return ::send(parent_.get(), "+", 1, MSG_NOSIGNAL) == 1;
}

}  // namespace h5mount::cli
