// What stat(2) says of a place of a forest.
#pragma once

#include "place_table.h"

namespace h5mount::tree {

// `entry`: the present state of the place. Opens nothing.
NodeStat stat_of_place(const Place& place, const ForestEntry& entry, const TreeOptions& options);

}  // namespace h5mount::tree
