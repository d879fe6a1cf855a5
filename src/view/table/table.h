// Tables, which csv, tsv and ndjson show. The rows of a table are those of a 1-d or 2-d dataset, or the one
// element of a scalar compound. Its columns are the members of a compound type (nested members and the items
// of arrays are columns of their own), or the indices of the second dimension. Joined datasets
// (dataset/dataset_columns.h), which stand for the datasets of a group, have one or more columns each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "h5mount/base/limits.h"
#include "h5mount/view/view.h"

namespace h5mount::view {

// The bound on the names of all columns of a table together: those of nested members are composed of several
// names of the type, so a small file can ask for any amount.
inline constexpr std::uint64_t kMaxTableNameBytes = 2U << 20;

struct Column {
  std::string name;  // unique in the table
  format::DatatypePtr type;
  std::uint64_t offset = 0;                    // bytes, within a row
  object::CategoriesPtr categories = nullptr;  // what its integers stand for; null: themselves
  // The place of the byte in a row that is not 0 if the value is missing.
  std::optional<std::uint64_t> mask = {};
};

// The place of a code's name; nullopt for -1, which stands for a missing value. Fails if no category has the
// code.
Result<std::optional<std::uint64_t>> category_of(const format::Datatype& type, const std::byte* code,
                                                 const object::Categories& categories);

struct Table {
  std::vector<Column> columns;  // at least one
  std::uint64_t rows = 0;
  std::uint64_t row_bytes = 0;  // as stored
  // For an open file: the charge for the columns and for what a view makes from their names.
  std::shared_ptr<cache::BlockCache::Charge> charge = {};
};

// Why a dataset is not a table; nullopt if it is one. Costs a walk of its type, but no column is made.
Result<std::optional<std::string>> table_unfit(const object::DatasetDescription& dataset,
                                               RequestBudget& budget);

// The number of columns; fails with UnsupportedFeature if the dataset is not a table.
Result<std::uint64_t> table_columns(const object::DatasetDescription& dataset, RequestBudget& budget);

// The table of a dataset, for inspection only; fails with UnsupportedFeature if table_unfit returns a reason.
// At most kMaxTableNameBytes of names.
Result<Table> table_of(const object::DatasetDescription& dataset, RequestBudget& budget);

// The same for a file that is opened: before the table and the texts of a view are made, the cache is charged
// with the most that they may take; settle_charge then lowers that to what they take. `text_bytes`: the bytes
// of what a view made from the names.
Result<Table> table_of(const ViewInput& source, RequestBudget& budget);
void settle_charge(const Table& table, std::size_t text_bytes);

// h5py's complex numbers (two equal floats named r and i) and HDF5's own are one cell.
bool is_complex(const format::Datatype& type);

}  // namespace h5mount::view
