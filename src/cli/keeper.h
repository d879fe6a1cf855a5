// The keeper of a mount that survives its servers (-o survive): the process that the user started, which
// holds the mount's device and the memory that the servers share (h5mount/fuse/kept_mount.h), starts a
// server, and another one if that is killed or crashes. It reads no HDF5 file, answers no request and has one
// thread. With --serve it holds the socket on which the servers accept connections, which wait there while
// none of them runs.
//
// A server is this program once more, with the words of its command line after the name `kept:…`, and a
// socket to the keeper as descriptor 3. Its name there tells it apart from a mount of its own. In lists of
// processes only the server has the mount point among its words, and the keeper is called h5mount-keeper.
//
// SIGUSR2 makes the installed program take over from the server; one of --serve first sends what it has
// begun, while the next one answers already. SIGTERM, SIGINT and the like end the mount. Under systemd both
// descriptors are also put into its store (FDSTORE), from which a new keeper takes them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "h5mount/fuse/kept_mount.h"
#include "words/command_line.h"

namespace h5mount::cli {

// The program's own words, which are overwritten.
struct OwnWords {
  int count = 0;
  char** words = nullptr;
};

// Returns with the program's exit code.
int run_keeper(const MountCommand& command, OwnWords own);
int run_keeper(const ServeCommand& command, OwnWords own);

// The server's side of its socket to the keeper.
class KeptServer {
 public:
  // If a keeper has started this program, takes the prefix off its name and returns the server's side; else
  // nullopt.
  static std::optional<KeptServer> find(OwnWords own);

  // Receives what the keeper holds. Once there is a device, it is passed to the keeper.
  Result<std::shared_ptr<fuse::KeptMount>> receive() const;
  // The same of a keeper of --serve.
  struct Socket {
    int descriptor = -1;
    bool first = true;  // no server has answered before
  };
  Result<Socket> receive_socket() const;
  bool tell_ready() const;  // false if the keeper has ended
  // Once: whether the keeper has another server go on, and this one only sends what it has begun.
  bool is_replaced() const;

 private:
  explicit KeptServer(UniqueFd socket) : socket_(std::make_shared<UniqueFd>(std::move(socket))) {}
  std::shared_ptr<UniqueFd> socket_;
};

// The descriptors, beyond the standard ones, that a keeper or systemd has passed to this process.
std::vector<unsigned> handed_descriptors(OwnWords own);

}  // namespace h5mount::cli
