// Session: a Tree on a mount point, through the low-level API of libfuse.
//
//   auto session = Session::mount(tree, options);  // mounted; requests wait
//   int code = (*session)->serve(on_ready);         // answers until it ends; then nothing is mounted
//
// An error of `mount` is one line that says what prevents the mount (no /dev/fuse, no such mount point…); it
// has no offset in a file. Threads: `serve` is called once, from the main thread if `handle_signals` is
// set; `stop` from any thread, at any time while the session lives.
//
// The build needs libfuse 3.14, and works with 3.19 too; what is negotiated with the kernel (op_init.cpp) is
// never required. Larger requests, which libfuse proposes from 3.17.2 on, are accepted, though with the
// kernel's default of 256 pages and a read-ahead of 1 MiB nothing changes. Not used are passthrough (libfuse
// 3.17, Linux 6.9), which opens a whole backing file without an offset, as no file of a mount is one; and
// birth times (statx; libfuse 3.18, Linux 6.6), which object headers of version 2 may have. Neither could be
// measured yet. FUSE over io_uring was built and taken away (tests/bench/README.md).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "h5mount/fuse/handover.h"
#include "h5mount/tree/tree.h"

namespace h5mount::fuse {

struct SessionOptions {
  // Absolute; or /dev/fd/N, where descriptor N is a /dev/fuse that whoever started this program has mounted:
  // the mount point and its options are not known then, and it is not unmounted at the end but closed.
  std::string mountpoint;
  std::string source;               // as df and findmnt show it
  std::string subtype = "h5mount";  // shown as fuse.<subtype>
  // Passed to libfuse unchanged (allow_other, noexec, auto_unmount…). Read-only, nosuid and nodev are always
  // added.
  std::vector<std::string> mount_options;
  // Whether the kernel checks permission bits. It then requests a file's attributes before each open unless
  // it has all of them, and counting the blocks of a large chunk index is expensive.
  bool check_permissions = true;
  std::uint32_t max_read = 0;  // bytes of one request; 0: the kernel's own limit
  bool debug = false;          // libfuse logs every request on stderr
  bool single_thread = false;
  // A request that waits for a slow disk occupies its worker; with too few of them `stat` waits as well.
  unsigned workers = 64;
  bool handle_signals = true;  // SIGINT, SIGTERM and SIGHUP end `serve`
  // Called once, by another thread, when a signal or `stop` begins to end the session; may be null.
  std::function<void()> on_stop = nullptr;
  // Called once, by another thread, when the kernel sends no further requests: `serve` returns when those
  // that run have ended, which may wait for a source that hangs. May be null.
  std::function<void()> on_disconnect = nullptr;
  // Set for a mount that survives this process, and that another one unmounts; null: the mount ends with this
  // process.
  std::shared_ptr<Handover> handover = nullptr;
};

class Session {
 public:
  // `tree` may be null if a server takes over whose source can no longer be opened: every node is then Stale.
  static Result<std::unique_ptr<Session>> mount(std::shared_ptr<tree::Tree> tree, SessionOptions options);
  virtual ~Session() = default;

  // `on_ready` is called once, from another thread, when the mount has answered a stat (on a descriptor that
  // was handed over: its first request). Returns 0 if the mount ended normally: unmounted, or stopped by
  // `stop` or a signal.
  virtual int serve(std::function<void()> on_ready) = 0;
  virtual void stop() = 0;
};

// "libfuse 3.14.0, kernel 6.1.0 …": the library in use, and the kernel's protocol.
std::string library_version();

// The N of a mount point /dev/fd/N.
std::optional<int> handed_descriptor(const std::string& mountpoint);

// Why a mount on `mountpoint` cannot succeed, determined without trying; success if it may.
Status check_mountpoint(const std::string& mountpoint);

}  // namespace h5mount::fuse
