// Listener: the socket on which a server accepts connections: a port, or a socket in the file system.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "h5mount/base/unique_fd.h"
#include "h5mount/serve/server.h"

namespace h5mount::serve {

// The file of a Unix socket; it is removed at the end if it is still the one that was made.
class SocketFile {
 public:
  SocketFile() = default;
  explicit SocketFile(std::string path);  // `path`: that of a socket which was just bound
  ~SocketFile() { remove(); }
  SocketFile(SocketFile&& other) noexcept { *this = std::move(other); }
  SocketFile& operator=(SocketFile&& other) noexcept;
  SocketFile(const SocketFile&) = delete;
  SocketFile& operator=(const SocketFile&) = delete;

  void remove();

 private:
  std::string path_;  // empty if there is none
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

struct Listener {
  UniqueFd socket;
  SocketFile file = {};
  std::string url = {};    // http://127.0.0.1:8000/, or http://unix:PATH:/ as nginx names a socket
  std::uint16_t port = 0;  // 0 for a Unix socket
  bool six = false;        // whether the address is one of IPv6
  bool loopback = false;   // whether only this machine reaches the port
  bool handed = false;     // whether others may accept connections from the same socket
  // Whether the file of a Unix socket is this user's alone.
  bool own_file = false;
};

// Fails with Io if the address cannot be listened on or the path is taken, and with InvalidValue if there is
// no address or if the path is too long for a socket.
Result<Listener> listen_at(const ServerOptions& options);

// The address of a socket that others made, without taking it. Fails with InvalidValue unless it listens at
// the place that `options` name, where port 0 is any.
Result<Listener> describe_listening(const ServerOptions& options, int descriptor);

}  // namespace h5mount::serve
