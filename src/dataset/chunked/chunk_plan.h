// ChunkPlan: where the bytes of a chunked dataset's row-major image lie in its chunks. Pure arithmetic.
//
// Trailing dimensions that one chunk covers exactly are folded into the one before: they are contiguous in
// chunk and image alike, and with one chunk across them the row-major chunk number stays what it is.
//
//   image (dims)      +--------+--------+-----+      row block k = the rows that one row of chunks covers,
//   row of chunks ->  | chunk  | chunk  | edge|      contiguous in the image
//                     +--------+--------+-----+
//                     | chunk  | ...
//
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "h5mount/base/limits.h"
#include "h5mount/base/row_major.h"
#include "h5mount/chunk/chunk_index.h"

namespace h5mount::dataset {

class ChunkPlan {
 public:
  // All extents are at least 1 (an empty dataset has no plan).
  explicit ChunkPlan(const chunk::ChunkGeometry& geometry);

  std::size_t rank() const { return dims_.size(); }
  std::span<const std::uint64_t> dims() const { return dims_; }
  std::span<const std::uint64_t> chunk_dims() const { return chunk_dims_; }
  std::uint64_t element_size() const { return element_size_; }
  std::uint64_t chunk_bytes() const { return chunk_bytes_; }
  std::uint64_t chunk_count() const { return chunk_count_; }
  std::uint64_t image_bytes() const { return image_bytes_; }
  // The longest run of bytes that is contiguous in chunk and image.
  std::uint64_t run_bytes() const { return chunk_dims_.back() * element_size_; }

  // Whether each chunk is one run of the image: chunks follow one another in it.
  bool linear() const { return row_dim_ + 1 == dims_.size(); }

  std::uint64_t row_block_count() const { return row_block_count_; }
  std::uint64_t chunks_per_row_block() const { return chunks_per_row_block_; }
  std::uint64_t full_row_block_bytes() const { return row_block_rows_ * row_bytes_; }
  std::uint64_t row_block_offset(
      std::uint64_t row_block) const;  // image offset; the image's end for row_block_count
  std::uint64_t row_block_at(std::uint64_t image_offset) const;

  // Coordinates of a chunk in the dataset's own (unfolded) rank, which the index uses.
  void scaled_of(std::uint64_t chunk, std::span<std::uint64_t> scaled) const;
  std::size_t index_rank() const { return grid_.size(); }
  // "chunk (3,0), elements from (300,0)", for errors.
  std::string place_of(std::uint64_t chunk) const;
  std::span<const std::uint64_t> index_grid() const { return grid_; }
  // True if the chunk exceeds the extent.
  bool is_edge(std::uint64_t chunk) const;
  // Bytes of a chunk up to and including the last element within the extent.
  std::uint64_t needed_bytes(std::uint64_t chunk) const;

  std::uint64_t row_block_rows(std::uint64_t row_block) const;
  std::uint64_t row_block_bytes(std::uint64_t row_block) const {
    return row_block_rows(row_block) * row_bytes_;
  }
  std::uint64_t rows_per_chunk() const { return chunk_dims_[row_dim_]; }  // of a whole chunk
  std::uint64_t row_bytes() const { return row_bytes_; }

  struct Rows {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
  };
  // Visits the rows `rows` of a chunk that are in the image, as runs that are contiguous in both: copy(offset
  // in the decoded chunk, offset from the image row `rows.first` of the chunk's row block, bytes).
  template <class CopyRun>
  void for_each_chunk_run(std::uint64_t chunk, Rows rows, CopyRun copy) const;

  // Visits the image bytes [offset, offset + length) as runs within one chunk each, in image order:
  // visit(chunk, offset in the decoded chunk, bytes); false stops.
  template <class Visit>
  void for_each_image_run(std::uint64_t offset, std::uint64_t length, Visit visit) const;

  // How runs of equal length at equal distances in the image, all in one chunk, follow one another.
  struct Steps {
    std::uint64_t count = 0;     // runs behind the first one
    std::uint64_t in_chunk = 0;  // distance in the decoded chunk
  };
  // `offset` and `in_chunk` are the places of the first run, of `bytes` bytes, in the image and in its chunk.
  // A count of 0 may also mean that the runs lie at different distances in the chunk.
  Steps steps_from(std::uint64_t offset, std::uint64_t in_chunk, std::uint64_t bytes,
                   std::uint64_t distance) const;

 private:
  std::vector<std::uint64_t> grid_;  // chunks in each dimension, not folded
  std::vector<std::uint64_t> index_dims_, index_chunk_dims_;
  std::vector<std::uint64_t> dims_, chunk_dims_, folded_grid_;
  std::uint64_t element_size_ = 1;
  std::uint64_t chunk_bytes_ = 0, chunk_count_ = 1, image_bytes_ = 0;
  std::size_t row_dim_ = 0;  // the first dimension in which chunks have more than one row (or the last)
  std::uint64_t row_bytes_ = 0, row_block_rows_ = 1, row_block_count_ = 1, chunks_per_row_block_ = 1;
};

template <class CopyRun>
void ChunkPlan::for_each_chunk_run(std::uint64_t chunk, Rows rows, CopyRun copy) const {
  // Coordinates in the folded rank: `at` of the chunk's first element, `position` of a run in the chunk.
  std::uint64_t at[limits::kMaxRank], extent[limits::kMaxRank], position[limits::kMaxRank];
  row_major_place(chunk, folded_grid_, at);
  for (std::size_t i = 0; i < rank(); ++i) {
    at[i] *= chunk_dims_[i];
    extent[i] = std::min(chunk_dims_[i], dims_[i] - at[i]);
    position[i] = 0;
  }
  if (rows.first >= extent[row_dim_]) return;
  extent[row_dim_] = std::min(extent[row_dim_], rows.first + rows.count);
  const std::size_t last = rank() - 1;
  if (row_dim_ == last) {
    copy(rows.first * element_size_, std::uint64_t{0}, (extent[last] - rows.first) * element_size_);
    return;
  }
  position[row_dim_] = rows.first;
  // Bytes from one index to the next in each dimension, of the chunk and of the image.
  std::uint64_t chunk_stride[limits::kMaxRank], image_stride[limits::kMaxRank];
  chunk_stride[last] = image_stride[last] = element_size_;
  for (std::size_t i = last; i-- > 0;) {
    chunk_stride[i] = chunk_stride[i + 1] * chunk_dims_[i + 1];
    image_stride[i] = image_stride[i + 1] * dims_[i + 1];
  }
  const std::uint64_t run = extent[last] * element_size_;
  const std::span outer(position + row_dim_, last - row_dim_);
  do {
    std::uint64_t from = position[row_dim_] * chunk_stride[row_dim_];
    std::uint64_t to = at[last] * element_size_ + (position[row_dim_] - rows.first) * image_stride[row_dim_];
    for (std::size_t i = row_dim_ + 1; i < last; ++i) {
      from += position[i] * chunk_stride[i];
      to += (at[i] + position[i]) * image_stride[i];
    }
    copy(from, to, run);
  } while (next_row_major(outer, std::span<const std::uint64_t>(extent + row_dim_, outer.size())));
}

template <class Visit>
void ChunkPlan::for_each_image_run(std::uint64_t offset, std::uint64_t length, Visit visit) const {
  const std::size_t last = rank() - 1;
  std::uint64_t element = offset / element_size_;
  std::uint64_t within = offset % element_size_;  // a read need not start at an element
  while (length > 0) {
    std::uint64_t left = element, chunk = 0, in_chunk = 0, chunk_scale = 1, element_scale = 1, run = 0;
    for (std::size_t i = last + 1; i-- > 0;) {
      const std::uint64_t x = left % dims_[i];
      left /= dims_[i];
      const std::uint64_t s = x / chunk_dims_[i], r = x - s * chunk_dims_[i];
      chunk += s * chunk_scale;
      chunk_scale *= folded_grid_[i];
      in_chunk += r * element_scale;
      element_scale *= chunk_dims_[i];
      if (i == last) run = std::min(chunk_dims_[i] - r, dims_[i] - x);
    }
    const std::uint64_t bytes = std::min(length, run * element_size_ - within);
    if (!visit(chunk, in_chunk * element_size_ + within, bytes)) return;
    length -= bytes;
    element += run;
    within = 0;
  }
}

}  // namespace h5mount::dataset
