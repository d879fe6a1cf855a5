// ChunkPlan: where the bytes of a chunked dataset's row-major image lie in its chunks. Pure arithmetic.
//
// Trailing dimensions that one chunk covers exactly are folded into the one before: they are contiguous in chunk and
// image alike, and with one chunk across them the row-major chunk number stays what it is.
//
//   image (dims)      +--------+--------+-----+      band k = the rows that one row of chunks covers,
//   chunk rows -->    | chunk  | chunk  | edge|      contiguous in the image
//                     +--------+--------+-----+
//                     | chunk  | ...                 a slab = consecutive bands, cached as one block
//
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "h5mount/chunk/chunk_index.h"

namespace h5mount {

class ChunkPlan {
 public:
  // All extents are at least 1 (an empty dataset has no plan).
  explicit ChunkPlan(const ChunkGeometry& geometry);

  std::size_t rank() const { return dims_.size(); }
  std::span<const std::uint64_t> dims() const { return dims_; }
  std::span<const std::uint64_t> chunk_dims() const { return chunk_dims_; }
  std::uint64_t element_size() const { return element_size_; }
  std::uint64_t chunk_bytes() const { return chunk_bytes_; }
  std::uint64_t chunk_count() const { return chunk_count_; }
  std::uint64_t image_bytes() const { return image_bytes_; }
  // The longest stretch that is contiguous in chunk and image.
  std::uint64_t run_bytes() const { return chunk_dims_.back() * element_size_; }

  // A chunk is one stretch of the image (chunks follow one another in it).
  bool linear() const { return band_dim_ + 1 == dims_.size(); }

  std::uint64_t band_count() const { return band_count_; }
  std::uint64_t chunks_per_band() const { return chunks_per_band_; }
  std::uint64_t full_band_bytes() const { return band_rows_ * row_bytes_; }
  std::uint64_t band_offset(std::uint64_t band) const;  // image offset; the image's end for band_count
  std::uint64_t band_at(std::uint64_t image_offset) const;

  // Coordinates of a chunk in the dataset's own (unfolded) rank, as the index wants them.
  void scaled_of(std::uint64_t chunk, std::span<std::uint64_t> scaled) const;
  std::size_t index_rank() const { return grid_.size(); }
  // "chunk (3,0), elements from (300,0)", for errors.
  std::string place_of(std::uint64_t chunk) const;
  std::span<const std::uint64_t> index_grid() const { return grid_; }
  // True where the chunk reaches over the extent.
  bool is_edge(std::uint64_t chunk) const;
  // Bytes of a chunk up to and with the last element that lies in the extent.
  std::uint64_t needed_bytes(std::uint64_t chunk) const;

  // Copies the part of a decoded chunk that lies in the image to `band`, which begins at the chunk's own band; or,
  // where `rows` limits it, only the chunk's rows [first_row, first_row + row_count) to a buffer that begins at the
  // first of them.
  struct Rows {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
  };
  template <class CopyRun>  // copy(chunk_offset, band_offset, bytes)
  void for_each_run(std::uint64_t chunk, Rows rows, CopyRun copy) const;
  std::uint64_t band_rows(std::uint64_t band) const;  // rows of band_dim in this band
  std::uint64_t band_bytes(std::uint64_t band) const { return band_rows(band) * row_bytes_; }
  std::uint64_t band_chunk_rows() const { return chunk_dims_[band_dim_]; }  // rows of a whole chunk
  std::uint64_t row_bytes() const { return row_bytes_; }

  // Walks image bytes [offset, offset + length) as stretches within one chunk each:
  // visit(chunk, offset_in_chunk, bytes), in image order; visit returns false to stop.
  template <class Visit>
  void for_each_stretch(std::uint64_t offset, std::uint64_t length, Visit visit) const;

 private:
  std::vector<std::uint64_t> grid_;  // unfolded
  std::vector<std::uint64_t> index_dims_, index_chunk_dims_;
  std::vector<std::uint64_t> dims_, chunk_dims_, folded_grid_;
  std::uint64_t element_size_ = 1;
  std::uint64_t chunk_bytes_ = 0, chunk_count_ = 1, image_bytes_ = 0;
  std::size_t band_dim_ = 0;  // first dimension whose chunks are more than one thick (or the last)
  std::uint64_t row_bytes_ = 0, band_rows_ = 1, band_count_ = 1, chunks_per_band_ = 1;
};

template <class CopyRun>
void ChunkPlan::for_each_run(std::uint64_t chunk, Rows rows, CopyRun copy) const {
  // Coordinates of the chunk in the folded rank, fastest last.
  std::uint64_t at[32], extent[32], position[32];
  std::uint64_t left = chunk;
  for (std::size_t i = rank(); i-- > 0;) {
    at[i] = left % folded_grid_[i] * chunk_dims_[i];
    left /= folded_grid_[i];
    extent[i] = std::min(chunk_dims_[i], dims_[i] - at[i]);
    position[i] = 0;
  }
  const std::size_t last = rank() - 1;
  if (band_dim_ <= last) {
    if (rows.first >= extent[band_dim_]) return;
    extent[band_dim_] = std::min(extent[band_dim_], rows.first + rows.count);
    position[band_dim_] = rows.first;
  }
  // Strides in bytes, of the chunk and of the band.
  std::uint64_t chunk_stride[32], band_stride[32];
  chunk_stride[last] = band_stride[last] = element_size_;
  for (std::size_t i = last; i-- > 0;) {
    chunk_stride[i] = chunk_stride[i + 1] * chunk_dims_[i + 1];
    band_stride[i] = band_stride[i + 1] * dims_[i + 1];
  }
  const bool one_dimension = band_dim_ == last;
  const std::uint64_t skip = one_dimension ? rows.first : 0;
  const std::uint64_t run = (extent[last] - skip) * element_size_;
  for (;;) {
    std::uint64_t from = skip * element_size_;
    std::uint64_t to = one_dimension ? 0 : at[last] * element_size_;
    for (std::size_t i = band_dim_; i < last; ++i) {
      from += position[i] * chunk_stride[i];
      to += (i == band_dim_ ? position[i] - rows.first : at[i] + position[i]) * band_stride[i];
    }
    copy(from, to, run);
    std::size_t i = last;
    for (;;) {
      if (i <= band_dim_) return;
      --i;
      if (++position[i] < extent[i]) break;
      if (i == band_dim_) return;
      position[i] = 0;
    }
  }
}

template <class Visit>
void ChunkPlan::for_each_stretch(std::uint64_t offset, std::uint64_t length, Visit visit) const {
  const std::size_t last = rank() - 1;
  std::uint64_t element = offset / element_size_;
  std::uint64_t within = offset % element_size_;  // reads need not begin at an element
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

}  // namespace h5mount
