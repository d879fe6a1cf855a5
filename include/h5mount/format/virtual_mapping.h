// The mappings of a virtual dataset, stored as a global heap object: which part of it comes from which
// dataset of which file (specification 3.0 "Virtual Dataset", docs/format-notes.md "Virtual datasets").
// Versions 0 and 1.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "h5mount/format/selection.h"

namespace h5mount::format {

struct VirtualMapping {
  std::string file;     // "." is the file itself; may hold %b
  std::string dataset;  // may hold %b
  Selection source;
  Selection view;
};

// Visits the mappings one after another, as there may be very many. `selections`: where in the cursor's bytes
// the mapping's selections stand, that of the source first (decode_selection). An error of `visit` ends the
// walk.
using VisitMapping = std::function<Status(VirtualMapping mapping, std::size_t selections)>;
Status for_each_virtual_mapping(Cursor& cursor, const VisitMapping& visit);

}  // namespace h5mount::format
