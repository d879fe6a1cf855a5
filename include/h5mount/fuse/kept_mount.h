// KeptMount: what outlives a serving process, so that the next one goes on with its mount (-o survive). A
// process that serves nobody (cli/keeper.h) holds both descriptors; nothing else of a server is needed.
#pragma once

#include <functional>

#include "h5mount/base/error.h"
#include "h5mount/base/unique_fd.h"

namespace h5mount::fuse {

// What a request counts against itself when its server ends while it is worked for: a crash is likely to be
// its fault, SIGKILL mostly comes from outside. At kMaxBlame it is answered with EIO: after two crashes.
enum class Blame : unsigned { None = 0, Killed = 1, Crashed = 4 };
inline constexpr unsigned kMaxBlame = 8;

struct KeptMount {
  UniqueFd memory;            // as `make_kept_memory` made it
  UniqueFd device;            // of the mount; none: this process is to mount it
  Blame blame = Blame::None;  // how the server before this one ended
  // Called once it is mounted, before the first request: keeps the device. False: nobody keeps it.
  std::function<bool(int device)> keep_device = nullptr;
};

// Memory for one mount, which all its servers share, one after the other. Only what is used of it counts.
Result<UniqueFd> make_kept_memory();

}  // namespace h5mount::fuse
