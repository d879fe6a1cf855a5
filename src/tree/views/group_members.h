// The objects in a group that may be parts of a table. Threads: any.
#pragma once

#include <functional>
#include <string>

#include "../core/served_file.h"

namespace h5mount::tree {

// Visits the objects in the same file that the links of a group lead to, in the order of a listing. Returns
// false if it ended before all were visited, as there are more names in the paths of soft links than a table
// may have; a group with more links than limits::kMaxTableLinks has none.
using MemberVisit = std::function<Status(std::string name, const Result<OpenedObjectPtr>& object)>;
Result<bool> for_each_member(ServedFile& file, const OpenedObject& group, RequestBudget& budget,
                             const MemberVisit& visit);

}  // namespace h5mount::tree
