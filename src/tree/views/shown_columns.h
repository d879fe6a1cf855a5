// What stands for the columns of a table in one state of their datasets. Threads: any.
#pragma once

#include <span>

#include "group_column.h"

namespace h5mount::tree {

// The rows of the columns' grid, by the descriptions of their datasets in order: as long along its first
// dimension as the shortest of its variables. Fails with Stale if these have other shapes than each other.
Result<object::GridRowsPtr> rows_of_grid(std::span<const GroupColumn> columns,
                                         std::span<const DatasetDescriptionPtr> datasets, bool in_boxes);

// `rows`: of the grid; null: the columns are none's.
Result<object::DatasetDescription> describe_column(const GroupColumn& column,
                                                   const object::DatasetDescription& dataset,
                                                   const object::GridRows* rows);
// `known`: the number of names of a column of codes.
Result<dataset::DatasetReaderPtr> open_column(const GroupColumn& column, dataset::DatasetReaderPtr dataset,
                                              const object::GridRowsPtr& rows, std::uint64_t known);

}  // namespace h5mount::tree
