// Columns of tables that are made of other datasets: of a table that has a row for each element of a grid
// (object/grid_rows.h) the elements, and where they are; and lists. Immutable; threads: any.
#pragma once

#include "h5mount/dataset/dataset_reader.h"
#include "h5mount/object/grid_rows.h"

namespace h5mount::dataset {

// A dataset of the grid's shape in the order of the rows, in one dimension. The grid's first dimension may be
// shorter than the dataset's.
object::DatasetDescription describe_grid_values(const object::DatasetDescription& dataset,
                                                const object::GridRows& rows);
DatasetReaderPtr open_grid_values(DatasetReaderPtr dataset, object::GridRowsPtr rows);

// The place of each row along a dimension of the grid: numbers of 8 bytes; as codes signed ones of 4 bytes,
// -1 from `known` on.
struct GridPlaces {
  std::size_t axis = 0;
  bool codes = false;
  std::uint64_t known = format::kUnlimited;
};
object::DatasetDescription describe_grid_places(const GridPlaces& places, const object::GridRows& rows);
DatasetReaderPtr open_grid_places(const GridPlaces& places, object::GridRowsPtr rows);

// The element of a dataset of one dimension at that place; zeros behind its end.
object::DatasetDescription describe_grid_coordinate(const object::DatasetDescription& coordinate,
                                                    const object::GridRows& rows);
DatasetReaderPtr open_grid_coordinate(DatasetReaderPtr coordinate, std::size_t axis,
                                      object::GridRowsPtr rows);

// Of the ends of lists, one behind the other in another dataset, the bounds of each: two numbers of 8 bytes,
// the place of the first element and the one behind the last. Fails with UnsupportedFeature if the ends are
// not integers in one dimension.
Result<object::DatasetDescription> describe_list_ends(const object::DatasetDescription& ends);
Result<DatasetReaderPtr> open_list_ends(DatasetReaderPtr ends);

}  // namespace h5mount::dataset
