// The shape of a file: where its address 0 lies, how wide its addresses are, where its root is; from the
// superblock, or inferred from what is found where there is none.
#pragma once

#include <optional>
#include <string>

#include "h5mount/format/superblock.h"
#include "sweep.h"

namespace h5mount::salvage {

struct Shape {
  std::int64_t base = 0;  // the offset of address 0; negative where the front is missing
  format::Superblock superblock;
  std::string found_by;  // empty: the superblock, in its place
  bool root_known = true;
  bool flags_left = false;  // a writer that is gone left its status flags
  // An old superblock's copy of what the root's header says.
  std::uint64_t root_tree = format::kUndefinedAddress, root_heap = format::kUndefinedAddress;
};

// `swept`: what the whole file holds; it is swept where the superblock does not tell.
Result<Shape> find_shape(const std::shared_ptr<io::ByteSource>& source, const Options& options,
                         std::optional<Swept>& swept);

}  // namespace h5mount::salvage
