// A walk over a whole HDF5 file as a mount would be used, without FUSE: every directory listed and looked up,
// every node asked for its stat, xattrs and target, every file opened, read at both ends and at random
// places, and searched for data and holes; /.h5/attributes too. Errors are what damaged files are expected to
// give: they are counted. What no file may cause is told in `violations`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "h5mount/io/byte_source.h"
#include "h5mount/tree/tree.h"

namespace h5mount::test {

struct WalkBounds {
  std::uint64_t nodes = 2'000;
  std::uint64_t bytes_per_file = 2U << 20;
  std::uint64_t bytes = 64U << 20;
  double seconds = 20;  // looked at between operations
};

struct WalkReport {
  std::uint64_t nodes = 0, files = 0, bytes = 0, xattrs = 0, errors = 0;
  bool opened = false;    // the file was taken at all
  bool complete = false;  // no bound ended the walk
  double slowest_seconds = 0;
  std::string slowest;  // the operation and its path
  std::vector<std::string> violations;
};

WalkReport walk_whole_file(std::shared_ptr<io::ByteSource> source, const WalkBounds& bounds);

}  // namespace h5mount::test
