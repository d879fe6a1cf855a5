#include "h5mount/object/grid_rows.h"

#include <algorithm>

#include "h5mount/base/checked.h"

namespace h5mount::object {

namespace {

std::uint64_t product(std::span<const std::uint64_t> of) {
  std::uint64_t out = 1;
  for (const std::uint64_t one : of) out *= one;
  return out;
}

}  // namespace

GridRows::GridRows(std::vector<std::uint64_t> dims, std::vector<std::uint64_t> box)
    : dims_(std::move(dims)), box_(std::move(box)), rows_(product(dims_)), most_rows_(product(box_)) {
  for (std::size_t i = 0; i < dims_.size(); ++i) boxes_ *= divide_up(dims_[i], box_[i]);
}

GridRowsPtr GridRows::in_order(std::vector<std::uint64_t> dims) {
  std::vector<std::uint64_t> box(dims);
  for (std::uint64_t& one : box) one = std::max<std::uint64_t>(one, 1);
  return GridRowsPtr(new GridRows(std::move(dims), std::move(box)));
}

GridRowsPtr GridRows::in_boxes(std::vector<std::uint64_t> dims, std::span<const std::uint64_t> chunk,
                               std::uint64_t row_bytes) {
  constexpr std::uint64_t kRows = 1U << 17, kFewRows = 1U << 13, kBytes = 4U << 20, kFewBoxes = 64;
  constexpr std::uint64_t kBytesOfBoxes = 1U << 19;  // the boxes of narrow rows may be more
  row_bytes = std::max<std::uint64_t>(row_bytes, 1);
  const std::uint64_t rows = product(dims);
  const std::uint64_t most = std::max<std::uint64_t>(kBytesOfBoxes / row_bytes, kFewBoxes);
  // A small dataset is cut into fewer rows, as it is to be cut all the same.
  const std::uint64_t wanted =
      std::max(std::min(std::clamp(rows / kFewBoxes, kFewRows, kRows), divide_up(kBytes, row_bytes)),
               divide_up(rows, most));
  std::vector<std::uint64_t> box(dims.size(), 1);
  const auto parts = [&](std::size_t i) { return divide_up(dims[i], box[i]); };
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (chunk.size() == dims.size()) box[i] = std::min(std::max<std::uint64_t>(chunk[i], 1), dims[i]);
    box[i] = std::max<std::uint64_t>(box[i], 1);
  }
  std::vector<std::size_t> axes(dims.size());
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = i;
  // The dimension that is cut most often is cut half as often, as long as the boxes are small; of several the
  // last one, whose elements are nearest.
  for (std::uint64_t now = product(box); now < wanted; now = product(box)) {
    const std::size_t axis = *std::ranges::max_element(axes, [&](std::size_t a, std::size_t b) {
      return parts(a) != parts(b) ? parts(a) < parts(b) : a < b;
    });
    if (parts(axis) == 1) break;
    box[axis] = std::min(dims[axis], 2 * box[axis]);
  }
  // Large chunks are cut.
  while (product(box) > 4 * wanted) {
    const std::size_t axis = *std::ranges::min_element(axes, [&](std::size_t a, std::size_t b) {
      return (box[a] > 1) != (box[b] > 1) ? box[a] > 1 : parts(a) < parts(b);
    });
    if (box[axis] == 1) break;
    box[axis] = divide_up(box[axis], 2);
  }
  return GridRowsPtr(new GridRows(std::move(dims), std::move(box)));
}

GridRows::Box GridRows::box(std::uint64_t number) const {
  Box out{0, 0, std::vector<std::uint64_t>(dims_.size()), std::vector<std::uint64_t>(dims_.size())};
  if (rows_ == 0) return out;
  std::uint64_t before = 1;  // rows of one place of the dimension, in this row of boxes
  std::uint64_t after = rows_;
  for (std::size_t i = dims_.size(); i-- > 0;) {
    const std::uint64_t parts = divide_up(dims_[i], box_[i]);
    out.start[i] = number % parts * box_[i];
    out.count[i] = std::min(box_[i], dims_[i] - out.start[i]);
    number /= parts;
  }
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    after /= dims_[i];
    out.first_row += before * after * out.start[i];
    before *= out.count[i];
  }
  out.rows = before;
  return out;
}

GridRows::Box GridRows::box_of_row(std::uint64_t row) const {
  Box out{0, 1, std::vector<std::uint64_t>(dims_.size()), std::vector<std::uint64_t>(dims_.size())};
  std::uint64_t after = rows_;
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    after /= dims_[i];
    const std::uint64_t each = out.rows * after;  // rows of one place of the dimension
    out.start[i] = row / each / box_[i] * box_[i];
    out.count[i] = std::min(box_[i], dims_[i] - out.start[i]);
    row -= out.start[i] * each;
    out.first_row += out.start[i] * each;
    out.rows *= out.count[i];
  }
  return out;
}

Status GridRows::for_each_run(std::uint64_t first, std::uint64_t count,
                              const std::function<Status(const Run&)>& visit) const {
  std::vector<std::uint64_t> position(dims_.size());
  while (count > 0) {
    const Box in = box_of_row(first);
    std::uint64_t left = std::min(count, in.first_row + in.rows - first);
    std::uint64_t rest = first - in.first_row;
    for (std::size_t i = dims_.size(); i-- > 0; rest /= in.count[i])
      position[i] = in.start[i] + rest % in.count[i];
    count -= left;
    while (left > 0) {
      std::uint64_t element = 0;
      for (std::size_t i = 0; i < dims_.size(); ++i) element = element * dims_[i] + position[i];
      const std::uint64_t end = in.start.back() + in.count.back();
      const std::uint64_t rows = std::min(left, end - position.back());
      H5_TRY(visit({first, rows, element, position}));
      first += rows, left -= rows;
      position.back() += rows;
      for (std::size_t i = dims_.size(); i-- > 1 && position[i] == in.start[i] + in.count[i];
           ++position[i - 1])
        position[i] = in.start[i];
    }
  }
  return {};
}

}  // namespace h5mount::object
