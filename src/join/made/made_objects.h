// The objects of a joined file, as its plan says. Threads: any.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "h5mount/dataset/open_dataset.h"
#include "h5mount/join/made_file.h"
#include "h5mount/join/plan.h"

namespace h5mount::join {

// Opens a file of the plan, of which attributes are taken.
using OpenPlanned = std::function<Result<dataset::ReadEnvironment>(std::uint32_t file)>;

// Served: the elements of datasets are elsewhere, and a member that cannot be joined is an empty dataset.
// Stored: a file of virtual datasets; what it cannot say is left out, and named in the root's attribute
// h5mount_left_out (a string of JSON, path: reason).
enum class MadeFor : std::uint8_t { Serving, Storing };

// Damaged attributes are left out. Errors are those of opening files, of the moment, and of the budget.
Result<std::vector<MadeObject>> made_objects(const Plan& plan, MadeFor use, const OpenPlanned& open,
                                             RequestBudget& budget);

}  // namespace h5mount::join
