// The datasets that a virtual dataset's numbered source names, found by one walk over their group: opening
// them one after another takes as long as reading them. Threads: any.
#pragma once

#include <cstdint>
#include <string_view>

#include "h5mount/base/request_budget.h"
#include "h5mount/object/object.h"

namespace h5mount::dataset {

// How many datasets from number 0 on have hard links of these names without a gap, at most `most`. Returns 0
// unless the name has its number once, in the last component: other names have to be looked up.
std::uint64_t count_numbered_datasets(const metadata::FileMetadataPtr& file, std::string_view name,
                                      std::uint64_t most, RequestBudget& budget);

}  // namespace h5mount::dataset
