// KeptMount: what outlives a serving process, so that the next one goes on with its mount (-o survive). A
// process that serves no requests (cli/keeper.h) holds both descriptors; nothing else of a server is needed.
#pragma once

#include <functional>

#include "h5mount/base/error.h"
#include "h5mount/base/unique_fd.h"

namespace h5mount::fuse {

// What is added to a request's blame when its server ends while working for it: a crash is likely to be its
// fault, SIGKILL mostly comes from outside. At kMaxBlame, which two crashes reach, it is answered with EIO.
enum class Blame : unsigned { None = 0, Killed = 1, Crashed = 4 };
inline constexpr unsigned kMaxBlame = 8;

struct KeptMount {
  UniqueFd memory;            // as `make_kept_memory` made it
  UniqueFd device;            // of the mount; none: this process is to mount it
  Blame blame = Blame::None;  // how the server before this one ended
  // Called once the file system is mounted, before the first request, to keep the device. Returns false if
  // nobody keeps it.
  std::function<bool(int device)> keep_device = nullptr;
};

// Memory for one mount, shared by its servers one after the other. Only the pages that are used take memory.
Result<UniqueFd> make_kept_memory();

}  // namespace h5mount::fuse
