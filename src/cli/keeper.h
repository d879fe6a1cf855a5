// The keeper of a mount that survives its servers (-o survive): the process that the user started, which
// holds the mount's device and the memory that the servers share (h5mount/fuse/kept_mount.h), starts a
// server, and another where that one is killed or crashes. It reads no HDF5 file, answers no request and has
// one thread.
//
// A server is this program once more, with the words of its command line after the name `kept:…`, and a
// socket to the keeper as descriptor 3. Its name there tells it apart from a mount of its own; in lists of
// processes the mount point leads to the server alone, and the keeper is called h5mount-keeper.
//
// SIGUSR2 has the installed program go on in place of the server. SIGTERM and its kin end the mount. Under
// systemd both descriptors are given to its store besides (FDSTORE), and taken from there by a new keeper.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "command_line.h"
#include "h5mount/fuse/kept_mount.h"

namespace h5mount::cli {

// The program's own words, which are overwritten.
struct OwnWords {
  int count = 0;
  char** words = nullptr;
};

// Returns with the program's exit code.
int run_keeper(const MountCommand& command, OwnWords own);

// The server's side of its socket to the keeper.
class KeptServer {
 public:
  // Of a program that a keeper has started: takes the prefix off its name. Nothing for any other.
  static std::optional<KeptServer> find(OwnWords own);

  // What the keeper holds. Its device goes to the keeper once there is one.
  Result<std::shared_ptr<fuse::KeptMount>> receive() const;
  bool tell_ready() const;  // false where the keeper has ended

 private:
  explicit KeptServer(UniqueFd socket) : socket_(std::make_shared<UniqueFd>(std::move(socket))) {}
  std::shared_ptr<UniqueFd> socket_;
};

// Descriptors above the standard ones that a keeper, or systemd, has handed to this process.
std::vector<unsigned> handed_descriptors(OwnWords own);

}  // namespace h5mount::cli
