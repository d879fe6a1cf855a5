// What differs between two sources, or parts of them: names, kinds, shapes, types, attributes, values. Equal
// is what a reader cannot tell apart; how it is stored does not matter.
//
// Threads: as front/commands.h; values are compared on `threads` threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "h5mount/front/commands.h"

namespace h5mount::front {

// Numbers are equal if |a - b| is at most `absolute`, or at most `relative` times |a|.
struct Tolerance {
  double absolute = 0, relative = 0;
  bool none() const { return absolute == 0 && relative == 0; }
};

struct DiffSide {
  std::shared_ptr<tree::Tree> tree;
  std::string path;       // in the form of find_path, symlinks are followed; empty: the root
  FailureHandler failed;  // is told what of this side could not be compared
};

struct DiffOptions {
  Tolerance tolerance;
  // PATH with all below it (`*` stops at `/`, `**` does not), or PATH@NAME (`*` crosses `/`); names as side
  // `a` shows them.
  std::vector<std::string> ignored;
  std::uint64_t first = 10;  // so many places of values that differ are told for each dataset or attribute
  bool json = false;         // one object; else a line for each difference
  unsigned threads = 1;
  // Bytes of values that were compared, of one side; null: they are not counted.
  std::atomic<std::uint64_t>* compared_bytes = nullptr;
};

enum class DiffResult : std::uint8_t {
  Equal,
  Different,  // also if the path is in one side only
  Trouble,    // something could not be compared, which was told; a path in neither side too
};

// Writes the differences, with their paths in `a`, as they are found. An object that several paths lead to is
// compared once, at the first of them. Fails if the output cannot be written.
Result<DiffResult> diff(const DiffSide& a, const DiffSide& b, const DiffOptions& options, Output& out);

// The output of a comparison that could not begin.
std::string diff_of_nothing(const DiffOptions& options);

}  // namespace h5mount::front
