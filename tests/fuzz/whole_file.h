// A walk over a whole HDF5 file with the operations of a mount, without FUSE: lists and looks up every
// directory, gets stat, xattrs and target of every node, opens every file, reads it at both ends and at
// random offsets, and searches it for data and holes; what is under /.h5 too. Errors are expected for damaged
// files and are counted. Violations of invariants, which no file may cause, are listed in `violations`.
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
  double seconds = 20;  // checked between operations
  // Of the directories under /.h5 every so manieth is walked, the first of them being `first_hidden`: walks
  // of similar files share them.
  unsigned hidden_step = 1, first_hidden = 0;
};

struct WalkReport {
  std::uint64_t nodes = 0, files = 0, bytes = 0, xattrs = 0, errors = 0;
  bool opened = false;    // the file could be opened
  bool complete = false;  // the walk ended without reaching a bound
  double slowest_seconds = 0;
  std::string slowest;  // the operation and its path
  std::vector<std::string> violations;
};

WalkReport walk_whole_file(std::shared_ptr<io::ByteSource> source, const WalkBounds& bounds);

}  // namespace h5mount::test
