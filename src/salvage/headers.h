// Mends damaged object headers: the messages that are left go into a new header at the same address.
#pragma once

#include <unordered_map>

#include "rescue.h"

namespace h5mount::salvage {

// Lays a new header over the damaged one at `address`, with the messages that are left of it. A dataset
// without its datatype becomes one of opaque elements (of bytes if their size is not known), one without its
// extents a list of the elements or chunks that are stored. Returns false if too little is left.
bool mend_header(Rescue& rescue, std::uint64_t address);

// The copy of an old group's symbol table message in the group's entry in its parent's symbol node.
struct CachedTable {
  std::uint64_t tree = 0, heap = 0;
};
std::unordered_map<std::uint64_t, CachedTable> cached_tables(Rescue& rescue);  // by the header's address
bool mend_old_group(Rescue& rescue, std::uint64_t address, const CachedTable& table);

}  // namespace h5mount::salvage
