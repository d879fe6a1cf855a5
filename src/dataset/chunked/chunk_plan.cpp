#include "chunk_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace h5mount::dataset {

ChunkPlan::ChunkPlan(const chunk::ChunkGeometry& geometry)
    : grid_(geometry.grid),
      index_dims_(geometry.dims),
      index_chunk_dims_(geometry.chunk_dims),
      dims_(geometry.dims),
      chunk_dims_(geometry.chunk_dims),
      folded_grid_(geometry.grid),
      element_size_(geometry.element_size),
      chunk_bytes_(geometry.chunk_bytes) {
  while (dims_.size() > 1 && chunk_dims_.back() == dims_.back()) {
    const std::uint64_t inner = dims_.back();
    for (auto* v : {&dims_, &chunk_dims_}) {
      v->pop_back();
      v->back() *= inner;
    }
    folded_grid_.pop_back();
  }
  image_bytes_ = element_size_;
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    image_bytes_ *= dims_[i];
    chunk_count_ *= folded_grid_[i];
  }
  while (row_dim_ + 1 < dims_.size() && chunk_dims_[row_dim_] == 1) ++row_dim_;
  row_bytes_ = element_size_;
  for (std::size_t i = row_dim_ + 1; i < dims_.size(); ++i) {
    row_bytes_ *= dims_[i];
    chunks_per_row_block_ *= folded_grid_[i];
  }
  row_block_rows_ = std::min(chunk_dims_[row_dim_], dims_[row_dim_]);
  for (std::size_t i = 0; i < row_dim_; ++i) row_block_count_ *= dims_[i];
  row_block_count_ *= folded_grid_[row_dim_];
}

std::uint64_t ChunkPlan::row_block_offset(std::uint64_t row_block) const {
  const std::uint64_t outer = row_block / folded_grid_[row_dim_], s = row_block % folded_grid_[row_dim_];
  return (outer * dims_[row_dim_] + s * chunk_dims_[row_dim_]) * row_bytes_;
}

std::uint64_t ChunkPlan::row_block_at(std::uint64_t image_offset) const {
  const std::uint64_t row = image_offset / row_bytes_;
  return row / dims_[row_dim_] * folded_grid_[row_dim_] + row % dims_[row_dim_] / chunk_dims_[row_dim_];
}

std::uint64_t ChunkPlan::row_block_rows(std::uint64_t row_block) const {
  const std::uint64_t s = row_block % folded_grid_[row_dim_];
  return std::min(chunk_dims_[row_dim_], dims_[row_dim_] - s * chunk_dims_[row_dim_]);
}

void ChunkPlan::scaled_of(std::uint64_t chunk, std::span<std::uint64_t> scaled) const {
  row_major_place(chunk, grid_, scaled);
}

std::string ChunkPlan::place_of(std::uint64_t chunk) const {
  std::vector<std::uint64_t> scaled(grid_.size()), element;
  scaled_of(chunk, scaled);
  for (std::size_t i = 0; i < scaled.size(); ++i) element.push_back(scaled[i] * index_chunk_dims_[i]);
  return fmt::format("chunk ({}), elements from ({})", fmt::join(scaled, ","), fmt::join(element, ","));
}

bool ChunkPlan::is_edge(std::uint64_t chunk) const {
  for (std::size_t i = grid_.size(); i-- > 0;) {
    const std::uint64_t s = chunk % grid_[i];
    chunk /= grid_[i];
    if (index_dims_[i] - s * index_chunk_dims_[i] < index_chunk_dims_[i]) return true;
  }
  return false;
}

std::uint64_t ChunkPlan::needed_bytes(std::uint64_t chunk) const {
  std::uint64_t last = 0, scale = 1;
  for (std::size_t i = rank(); i-- > 0;) {
    const std::uint64_t s = chunk % folded_grid_[i];
    chunk /= folded_grid_[i];
    last += (std::min(chunk_dims_[i], dims_[i] - s * chunk_dims_[i]) - 1) * scale;
    scale *= chunk_dims_[i];
  }
  return (last + 1) * element_size_;
}

ChunkPlan::Steps ChunkPlan::steps_from(std::uint64_t offset, std::uint64_t in_chunk, std::uint64_t bytes,
                                       std::uint64_t distance) const {
  const std::size_t last = rank() - 1;
  const std::uint64_t image_row = dims_[last] * element_size_, chunk_row = chunk_dims_[last] * element_size_;
  const std::uint64_t rest = std::min(image_row - offset % image_row, chunk_row - in_chunk % chunk_row);
  if (distance > 0 && distance <= rest - bytes) return {(rest - bytes) / distance, distance};
  if (last == 0 || distance == 0 || distance % image_row != 0) return {};
  const std::uint64_t rows = distance / image_row;
  const std::uint64_t below = std::min(dims_[last - 1] - offset / image_row % dims_[last - 1],
                                       chunk_dims_[last - 1] - in_chunk / chunk_row % chunk_dims_[last - 1]);
  return {(below - 1) / rows, rows * chunk_row};
}

}  // namespace h5mount::dataset
