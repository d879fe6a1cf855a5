// Grids as tables: a variable of which a dimension has a coordinate (netCDF's coordinate variables, HDF5's
// dimension scales) has a row for each element: where that is along each dimension, and the element.
// Variables of a group with the same dimensions are columns of one table. Threads: any.
#pragma once

#include "group_column.h"

namespace h5mount::tree {

// The grids of a group, in the order in which their variables are listed. `names`: of its dimensions, with a
// comma between them.
struct NamedGrid {
  std::string names;
  FoundColumns found;
};
Result<std::vector<NamedGrid>> grids_of_group(ServedFile& file, const OpenedObject& group,
                                              const TableForm& form, RequestBudget& budget);

// Whether the object is a variable that is shown as such a table.
Result<bool> is_grid(ServedFile& file, const OpenedObject& object, RequestBudget& budget);

// Adds the columns of a variable, or of the grid `form.grid` of a group (empty: its only one). None if it is
// no such table. The variables' columns are the last ones.
Status find_grid_columns(ServedFile& file, const OpenedObject& object, const TableForm& form,
                         RequestBudget& budget, FoundColumns& found);

}  // namespace h5mount::tree
