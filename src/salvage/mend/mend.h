// Mends object headers and groups: the messages and links that are left go into new ones.
#pragma once

#include "salvage_state.h"

namespace h5mount::salvage {

// Lays a new header over the damaged one at `address`, with the messages that are left of it. A dataset
// without its datatype becomes one of opaque elements (of bytes if their size is not known), one without its
// extents a list of the elements or chunks that are stored. Returns false if too little is left.
bool mend_header(SalvageState& state, std::uint64_t address);

// The copy of an old group's symbol table message in the group's entry in its parent's symbol node.
struct CachedTable {
  std::uint64_t tree = 0, heap = 0;
};
std::unordered_map<std::uint64_t, CachedTable> cached_tables(SalvageState& state);  // by the header's address
bool mend_old_group(SalvageState& state, std::uint64_t address, const CachedTable& table);

// ---- groups

// The links of an old group, by the addresses of its tree and heap.
std::vector<format::Link> links_of_table(const SalvageState& state, std::uint64_t tree, std::uint64_t heap);
// The links of a group whose header is gone.
struct HeadlessGroup {
  std::uint64_t heap = 0;  // address of the heap with the links' names, or with the links
  std::vector<format::Link> links;
};
// Finds such groups by heaps that lie in none of `used` (each may be null).
std::vector<HeadlessGroup> headless_groups(SalvageState& state, std::array<const UsedRanges*, 2> used);

// The links of a damaged group that are found in surviving nodes and heap blocks and are not in `known`.
std::vector<format::Link> surviving_links(SalvageState& state, const object::Object& group,
                                          std::span<const format::Link> known);
// Replaces the group's own links by these.
bool replace_links(SalvageState& state, const object::Object& group, std::span<const format::Link> links);
// Makes a new group of these links and returns its address.
std::optional<std::uint64_t> make_group(SalvageState& state, std::span<const format::Link> links);
// Names by address, from symbol nodes and link messages that nothing claims. If the number of names without
// an object in the heap of one damaged old group equals the number of lost objects, they are assigned to the
// objects in order: both are in the order in which they were made.
std::unordered_map<std::uint64_t, std::string> surviving_names(SalvageState& state,
                                                               std::span<const DamagedGroup> groups,
                                                               std::span<const std::uint64_t> lost);

}  // namespace h5mount::salvage
