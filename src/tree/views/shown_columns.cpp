#include "shown_columns.h"

#include <algorithm>

#include "h5mount/base/checked.h"
#include "h5mount/dataset/grid_columns.h"

namespace h5mount::tree {

namespace {

using Kind = GroupColumn::Kind;

// What `derivation` makes of a dataset; the dataset if it is null.
Result<object::DatasetDescription> derived(const dataset::DerivationPtr& derivation,
                                           const object::DatasetDescription& dataset) {
  if (derivation) return derivation->describe(dataset);
  return dataset;
}
Result<dataset::DatasetReaderPtr> derived(const dataset::DerivationPtr& derivation,
                                          dataset::DatasetReaderPtr dataset) {
  if (derivation) return derivation->open(std::move(dataset));
  return dataset;
}

dataset::GridPlaces places_of(const GroupColumn& column, std::uint64_t known) {
  return {column.axis, column.kind == Kind::Codes, known};
}

}  // namespace

Result<object::GridRowsPtr> rows_of_grid(std::span<const GroupColumn> columns,
                                         std::span<const DatasetDescriptionPtr> datasets, bool in_boxes) {
  std::vector<std::uint64_t> dims, chunk;
  std::uint64_t row_bytes = 0, elements = 1;
  std::size_t axes = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    constexpr std::uint64_t kOfDimension = 8;
    row_bytes += kOfDimension;
    if (columns[i].kind != Kind::Values) {
      ++axes;
      continue;
    }
    H5_ASSIGN(const object::DatasetDescription own, derived(columns[i].first, *datasets[i]));
    row_bytes += own.element_size;
    if (dims.empty()) {
      dims = own.space.dims;
      if (datasets[i]->layout.cls == format::LayoutClass::Chunked) chunk = datasets[i]->layout.chunk_dims;
    }
    if (own.space.dims.size() != dims.size() || dims.empty() ||
        !std::ranges::equal(dims.begin() + 1, dims.end(), own.space.dims.begin() + 1, own.space.dims.end()))
      return fail({ErrorCode::Stale, "variables of a grid that differ in shape"});
    dims[0] = std::min(dims[0], own.space.dims[0]);
  }
  if (dims.size() != axes) return fail({ErrorCode::Stale, "a grid of another number of dimensions"});
  for (const std::uint64_t dim : dims) {
    const auto more = checked_mul(elements, dim);
    if (!more || *more > format::kUnlimited / 2)
      return fail({ErrorCode::TooLarge, "a grid of too many elements"});
    elements = *more;
  }
  if (!in_boxes) return object::GridRows::in_order(std::move(dims));
  return object::GridRows::in_boxes(std::move(dims), chunk, row_bytes);
}

Result<object::DatasetDescription> describe_column(const GroupColumn& column,
                                                   const object::DatasetDescription& dataset,
                                                   const object::GridRows* rows) {
  if (column.kind == Kind::Codes || column.kind == Kind::Places)
    return dataset::describe_grid_places(places_of(column, format::kUnlimited), *rows);
  if (column.kind == Kind::Lists) return dataset::describe_list_ends(dataset);
  H5_ASSIGN(object::DatasetDescription own, derived(column.first, dataset));
  if (column.kind == Kind::Coordinate) return dataset::describe_grid_coordinate(own, *rows);
  if (rows != nullptr) own = dataset::describe_grid_values(own, *rows);
  return derived(column.then, own);
}

Result<dataset::DatasetReaderPtr> open_column(const GroupColumn& column, dataset::DatasetReaderPtr dataset,
                                              const object::GridRowsPtr& rows, std::uint64_t known) {
  if (column.kind == Kind::Codes || column.kind == Kind::Places)
    return dataset::open_grid_places(places_of(column, known), rows);
  if (column.kind == Kind::Lists) return dataset::open_list_ends(std::move(dataset));
  H5_ASSIGN(dataset::DatasetReaderPtr own, derived(column.first, std::move(dataset)));
  if (column.kind == Kind::Coordinate)
    return dataset::open_grid_coordinate(std::move(own), column.axis, rows);
  if (rows) own = dataset::open_grid_values(std::move(own), rows);
  return derived(column.then, std::move(own));
}

}  // namespace h5mount::tree
