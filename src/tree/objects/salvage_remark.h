// The remark of salvage on a dataset that is shown as lines of text. Threads: any.
#pragma once

#include <string>

#include "h5mount/tree/tree.h"
#include "h5mount/view/view.h"

namespace h5mount::tree {

// The remark with its ranges, which are of bytes of the dataset's elements, as ranges of bytes of the file of
// lines that `lines` is.
Result<std::string> remark_in_lines(const std::string& remark, const view::ComputedFile& lines,
                                    std::uint64_t element_bytes, RequestBudget& budget);

}  // namespace h5mount::tree
