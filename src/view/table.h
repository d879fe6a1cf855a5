// Tables, which csv, tsv and ndjson show. The rows of a table are those of a 1-d or 2-d dataset, or the one
// element of a scalar compound. Its columns are the members of a compound type (nested members and the items
// of arrays are columns of their own), or the indices of the second dimension. Joined datasets
// (dataset/joined_datasets.h), which stand for the datasets of a group, have one or more columns each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "h5mount/base/limits.h"
#include "h5mount/view/view.h"

namespace h5mount::view {

struct Column {
  std::string name;  // unique in the table
  format::DatatypePtr type;
  std::uint64_t offset = 0;  // bytes, within a row
};

struct Table {
  std::vector<Column> columns;  // at least one
  std::uint64_t rows = 0;
  std::uint64_t row_bytes = 0;  // as stored
};

// Why a dataset is no table; nothing where it is one. Costs a walk of its type.
std::optional<std::string> table_unfit(const object::DatasetDescription& dataset);

// The table of a dataset for which table_unfit returned nothing.
Result<Table> table_of(const object::DatasetDescription& dataset);

// h5py's complex numbers (two equal floats named r and i) and HDF5's own are one cell.
bool is_complex(const format::Datatype& type);

}  // namespace h5mount::view
