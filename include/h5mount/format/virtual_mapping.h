// The global heap object behind a virtual layout: which part of the view comes from which dataset of which file
// (FORMAT-NOTES 'Virtual datasets'). Versions 0 and 1.
#pragma once

#include <string>
#include <vector>

#include "h5mount/format/selection.h"

namespace h5mount {

struct VirtualMapping {
  std::string file;     // "." is the file itself; may hold %b
  std::string dataset;  // may hold %b
  Selection source;
  Selection view;
};

Result<std::vector<VirtualMapping>> decode_virtual_mappings(Cursor& cursor, FileSizes sizes);

}  // namespace h5mount
