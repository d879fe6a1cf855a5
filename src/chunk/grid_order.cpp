#include "h5mount/chunk/grid_order.h"

#include <algorithm>

#include "h5mount/base/checked.h"

namespace h5mount::chunk {

namespace {

Error geometry_error(std::string_view field, std::string text) {
  return Error(ErrorCode::InvalidValue, "Dataspace", field, format::kUndefinedAddress)
      .with_detail(std::move(text));
}

// The one unlimited dimension, or `rank` if there is none.
Result<std::size_t> unlimited_dimension(const ChunkGeometry& geometry, bool unlimited) {
  const auto count = std::ranges::count(geometry.max_dims, format::kUnlimited);
  if (unlimited && count != 1)
    return fail(geometry_error("max_dims", "an extensible array needs exactly one unlimited dimension"));
  if (!unlimited && count != 0)
    return fail(geometry_error("max_dims", "this chunk index cannot hold an unlimited dimension"));
  return static_cast<std::size_t>(std::ranges::find(geometry.max_dims, format::kUnlimited) -
                                  geometry.max_dims.begin());
}

}  // namespace

Result<GridOrder> GridOrder::make(const ChunkGeometry& geometry, bool unlimited) {
  H5_ASSIGN(const std::size_t front, unlimited_dimension(geometry, unlimited));
  const std::size_t rank = geometry.grid.size();
  GridOrder order;
  order.grid_ = geometry.grid;
  order.strides_.resize(rank);
  if (front < rank) order.slowest_first_.push_back(front);
  for (std::size_t i = 0; i < rank; ++i)
    if (i != front) order.slowest_first_.push_back(i);

  std::uint64_t stride = 1;
  for (std::size_t i = rank; i-- > 0;) {
    const std::size_t d = order.slowest_first_[i];
    order.strides_[d] = stride;
    if (geometry.dims[d] > geometry.max_dims[d])
      return fail(geometry_error("dims", "beyond the maximum extent"));
    if (i == 0) break;  // the extent of the slowest dimension is in no stride
    const auto product = checked_mul(stride, divide_up(geometry.max_dims[d], geometry.chunk_dims[d]));
    if (!product) return fail(geometry_error("max_dims", "more chunks than 64 bits can number"));
    stride = *product;
  }

  if (std::ranges::find(geometry.grid, 0U) != geometry.grid.end()) return order;
  // Every element number of the grid is below grid[slowest] * its stride, as the other dimensions together
  // stay below one stride.
  const std::size_t slowest = order.slowest_first_[0];
  if (!checked_mul(geometry.grid[slowest], order.strides_[slowest]))
    return fail(geometry_error("dims", "more chunks than 64 bits can number"));
  for (std::size_t d = 0; d < rank; ++d) order.end_ += (geometry.grid[d] - 1) * order.strides_[d];
  ++order.end_;
  return order;
}

bool GridOrder::scaled(std::uint64_t number, std::span<std::uint64_t> out) const {
  for (const std::size_t d : slowest_first_) {
    out[d] = number / strides_[d];
    number -= out[d] * strides_[d];
    if (out[d] >= grid_[d]) return false;
  }
  return true;
}

}  // namespace h5mount::chunk
