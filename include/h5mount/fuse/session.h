// Session: a Tree on a mount point, through the low-level API of libfuse.
//
//   auto session = Session::mount(tree, options);   // the kernel has it; nothing answers yet
//   int code = (*session)->serve(on_ready);          // answers until unmounted or stopped; then nothing is
//   mounted
//
// Errors of `mount` are one line of words that say what stands in the way (no /dev/fuse, no such mount
// point…); they need no offset in a file. Threads: `serve` is called once, from the main thread where
// `handle_signals` is set; `stop` from anywhere, at any time while the session lives.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "h5mount/tree/tree.h"

namespace h5mount::fuse {

struct SessionOptions {
  std::string mountpoint;           // absolute
  std::string source;               // what df and findmnt show
  std::string subtype = "h5mount";  // shown as fuse.<subtype>
  // Handed to libfuse as they are (allow_other, noexec, auto_unmount…). Read-only, nosuid and nodev are
  // always added.
  std::vector<std::string> mount_options;
  // The kernel holds everyone to the permission bits. For that it asks for a file's attributes before each
  // open where it does not have all of them, and the blocks of a large chunk index are dear.
  bool check_permissions = true;
  std::uint32_t max_read = 0;  // bytes of one request; 0: as many as the kernel asks for
  bool debug = false;          // libfuse tells every request on stderr
  bool single_thread = false;
  // A request that waits for a slow disk holds its worker; too few of them and `stat` waits as well.
  unsigned workers = 64;
  bool handle_signals = true;  // SIGINT, SIGTERM and SIGHUP end `serve`
};

class Session {
 public:
  static Result<std::unique_ptr<Session>> mount(std::shared_ptr<tree::Tree> tree, SessionOptions options);
  virtual ~Session() = default;

  // `on_ready` is called once, from another thread, when the mount has answered a stat. Returns 0 where the
  // mount ended in order: unmounted, stopped or told to by a signal.
  virtual int serve(std::function<void()> on_ready) = 0;
  virtual void stop() = 0;
};

// Why a mount on `mountpoint` cannot succeed, seen without trying; nothing where it may.
Status check_mountpoint(const std::string& mountpoint);

}  // namespace h5mount::fuse
