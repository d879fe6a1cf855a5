// Object headers that are damaged: what is left of them, in a new header at the same address.
#pragma once

#include <unordered_map>

#include "rescue.h"

namespace h5mount::salvage {

// Lays a header over the damaged one at `address`, of the messages that are left of it. A dataset without its
// datatype becomes one of bytes, one without its extents a list of what is stored. False where too little is
// left.
bool mend_header(Rescue& rescue, std::uint64_t address);

// What an old group's entry in its parent's symbol node repeats of its header.
struct CachedTable {
  std::uint64_t tree = 0, heap = 0;
};
std::unordered_map<std::uint64_t, CachedTable> cached_tables(Rescue& rescue);  // by address of the header
bool mend_old_group(Rescue& rescue, std::uint64_t address, const CachedTable& table);

}  // namespace h5mount::salvage
