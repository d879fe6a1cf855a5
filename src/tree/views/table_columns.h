// Which datasets are the columns of a table: of a group, of categorical and nullable data (categories.h), and
// in the decoded views of what a convention says to be a table (meaning/tables.h), or of a grid
// (grid_columns.h). Threads: any.
#pragma once

#include "group_column.h"

namespace h5mount::tree {

// The columns of an object in the order of the group's links or of the convention. A group is no table if it
// is the root and not decoded, has more than limits::kMaxTableLinks links or names in the paths of its soft
// links, or no length that more than half of such datasets have, and at least two. In a file that is
// followed, the lengths of datasets that can still grow may differ, as a writer appends to one after the
// other. Errors: of the group's links, and those that may pass; a member that cannot be read is left out.
// `measured`: sources may be opened (see description_of).
Result<FoundColumns> find_columns(ServedFile& file, const OpenedObject& object, const TableForm& form,
                                  RequestBudget& budget, bool measured);

}  // namespace h5mount::tree
