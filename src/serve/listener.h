// Listener: the socket on which a server accepts connections: a port, or a socket in the file system.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "h5mount/base/unique_fd.h"
#include "h5mount/serve/server.h"

namespace h5mount::serve {

// The file of a Unix socket; removed at the end where it is still the one that was made.
class SocketFile {
 public:
  SocketFile() = default;
  explicit SocketFile(std::string path);  // that of a socket which was bound just now
  ~SocketFile() { remove(); }
  SocketFile(SocketFile&& other) noexcept { *this = std::move(other); }
  SocketFile& operator=(SocketFile&& other) noexcept;
  SocketFile(const SocketFile&) = delete;
  SocketFile& operator=(const SocketFile&) = delete;

  void remove();

 private:
  std::string path_;  // empty: none
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

struct Listener {
  UniqueFd socket;
  SocketFile file = {};
  std::string url = {};    // http://127.0.0.1:8000/, or http://unix:PATH:/ as nginx names a socket
  std::uint16_t port = 0;  // 0: a Unix socket
  bool six = false;        // IPv6
  bool loopback = false;   // a port that only this machine reaches
};

// Io: the address cannot be listened on, or the path is taken. InvalidValue: no address, or a path that is
// too long for a socket.
Result<Listener> listen_at(const ServerOptions& options);

}  // namespace h5mount::serve
