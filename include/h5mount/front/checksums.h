// Writes the SHA-256 of datasets as lines that `sha256sum --check` reads in a mount of the file.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "h5mount/front/commands.h"

namespace h5mount::front {

struct ChecksumOptions {
  unsigned threads = 1;                     // datasets that are read side by side
  std::string prefix = {};                  // of the paths in the lines: "a.h5/"
  const std::atomic<bool>* stop = nullptr;  // true: ends soon, with the error Stale; null: cannot be stopped
  std::function<void(std::uint64_t bytes)> progress = nullptr;  // bytes read so far, after every dataset
};

// Writes a line for every dataset below the root, in the order of the tree, under each of its names; a
// dataset with several hard links is read once. A dataset that cannot be read has no line and is passed to
// `context.failed`. Fails without libcrypto (sign::has_sha256).
Status write_checksums(const Context& context, const ChecksumOptions& options);

}  // namespace h5mount::front
