// The keeper of a mount that survives its servers (-o survive): the process that the user started, which
// holds the mount's device and the memory that the servers share, starts a server, and another one if that is
// killed or crashes. It reads no HDF5 file, answers no request and has one thread. With --serve it holds the
// socket on which the servers accept connections, which wait there while none of them runs.
//
// A server is this program once more, with the words of its command line after the name `kept:…`, and a
// socket to the keeper as descriptor 3. Its name there tells it apart from a mount of its own. In lists of
// processes only the server has the mount point among its words, and the keeper is called h5mount-keeper.
//
// SIGUSR2 makes the installed program take over from the server; one of --serve first sends what it has
// begun, while the next one answers already. SIGTERM, SIGINT and the like end the mount. Under systemd both
// descriptors are also put into its store (FDSTORE), from which a new keeper takes them.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "h5mount/base/error.h"
#include "h5mount/base/unique_fd.h"
#include "h5mount/fuse/handover.h"

namespace h5mount::survive {

// The program's own words, which are overwritten.
struct OwnWords {
  int count = 0;
  char** words = nullptr;
};

// The descriptors that a keeper holds: of a mount the memory and, once it is mounted, the device; of --serve
// the socket.
struct HeldDescriptors {
  UniqueFd memory = {}, device = {};
  UniqueFd socket = {};
};
// That of a mount: taken from systemd's store, or with new memory and no device.
Result<HeldDescriptors> hold_mount();

struct KeeperOptions {
  std::string name;  // for messages: the mount point, or the address
  std::chrono::seconds serve_within;
  int failure = 1;  // the exit code where no server can be started, or none serves
  // Called when the first server is ready. Returns false if nobody waits for that. May be null.
  std::function<bool()> on_ready = nullptr;
  std::function<void()> unmount = nullptr;  // may be null
};
// Returns with the program's exit code.
int run_keeper(KeeperOptions options, HeldDescriptors held, OwnWords own);

// The server's side of its socket to the keeper.
class KeeperLink {
 public:
  // If a keeper has started this program, takes the prefix off its name and returns the server's side; else
  // nullopt.
  static std::optional<KeeperLink> find(OwnWords own);

  // Receives what the keeper holds. Once there is a device, it is passed to the keeper.
  Result<std::shared_ptr<fuse::Handover>> receive() const;
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
  explicit KeeperLink(UniqueFd socket) : socket_(std::make_shared<UniqueFd>(std::move(socket))) {}
  std::shared_ptr<UniqueFd> socket_;
};

// The descriptors, beyond the standard ones, that a keeper or systemd has passed to this process.
std::vector<unsigned> handed_descriptors(OwnWords own);
// The descriptors of systemd that are no keeper's: sockets of a socket unit.
std::vector<int> handed_sockets();

}  // namespace h5mount::survive
