#include "release_notice.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <utility>

#include "h5mount/base/mount_table.h"

namespace h5mount::cli {
namespace {

struct Address {
  sockaddr_un socket{};
  socklen_t length = 0;
};

std::optional<Address> address_of(const MountEntry& mounted) {
  const std::string name = "h5mount/" + mounted.device;
  Address out;
  if (name.size() + 1 > sizeof out.socket.sun_path) return std::nullopt;
  out.socket.sun_family = AF_UNIX;
  std::ranges::copy(name, out.socket.sun_path + 1);  // after a NUL: abstract
  out.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return out;
}

const sockaddr* generic(const Address& address) {
  return reinterpret_cast<const sockaddr*>(&address.socket);
}

// Retries: the kernel may reuse a device number before the process that had it has exited.
bool bind_with_retries(int socket, const Address& address) {
  constexpr int kAttempts = 20;
  constexpr useconds_t kPause = 10'000;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (::bind(socket, generic(address), address.length) == 0) return true;
    if (errno != EADDRINUSE) return false;
    ::usleep(kPause);
  }
  return false;
}

// Any process may have bound the name; only the process of the mount's own user counts.
bool is_mounter(int socket, const std::string& mount_options) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return false;
  return (mount_options + ",").find(",user_id=" + std::to_string(peer.uid) + ",") != std::string::npos;
}

}  // namespace

void publish_release_notice(const std::string& mountpoint) {
  constexpr int kMaxWaiting = 16;
  const auto mounted = find_mount(mountpoint);
  const auto address = mounted.and_then(address_of);
  if (!address) return;
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return;
  if (bind_with_retries(socket.get(), *address) && ::listen(socket.get(), kMaxWaiting) == 0)
    (void)socket.release();  // the kernel closes it
}

ReleaseWait::ReleaseWait(const std::string& mountpoint) {
  const auto mounted = find_mount(mountpoint);
  const auto address = mounted.and_then(address_of);
  if (!address) return;
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return;
  if (::connect(socket.get(), generic(*address), address->length) == 0 &&
      is_mounter(socket.get(), mounted->options))
    connected_ = std::move(socket);
}

void ReleaseWait::await(std::chrono::milliseconds most) const {
  if (!connected_) return;
  pollfd end{.fd = connected_.get(), .events = POLLIN, .revents = 0};
  ::poll(&end, 1, static_cast<int>(most.count()));
}

}  // namespace h5mount::cli
