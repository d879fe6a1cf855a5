// The shape of a file: the offset of its address 0, the width of its addresses, and its root; from the
// superblock, or inferred from the structures that are found if there is no superblock.
#pragma once

#include <optional>
#include <string>

#include "h5mount/format/superblock.h"
#include "sweep.h"

namespace h5mount::salvage {

struct Shape {
  std::int64_t base = 0;  // the offset of address 0; negative if the file's front is missing
  format::Superblock superblock;
  std::string found_by;  // empty: the superblock, in its place
  bool root_known = true;
  bool flags_left = false;  // a writer that did not close the file left its status flags
  // The root's tree and heap, of which an old superblock has a copy.
  std::uint64_t root_tree = format::kUndefinedAddress, root_heap = format::kUndefinedAddress;
};

// `swept` receives the structures of the whole file, if it is swept because the superblock does not tell.
Result<Shape> find_shape(const std::shared_ptr<io::ByteSource>& source, const Options& options,
                         std::optional<Swept>& swept);

}  // namespace h5mount::salvage
