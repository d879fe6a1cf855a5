// What users and clients write into names: file names, names of extended attributes, `PATH@NAME`, and
// selections such as `10:20,:,3`. The process aborts where a name is shown as no file name, is not found
// again under the name that it is shown by, or where a selection leaves its dataset.
#pragma once

#include <string_view>

namespace h5mount::test {

// A line each; those after the first are also the names of one directory.
void take_names(std::string_view input);

}  // namespace h5mount::test
