// GridRows: the elements of a dataset as the rows of a table, box after box: the grid is cut into boxes,
// these follow each other in row-major order, and so do the elements of each. With one box that is the
// dataset's own order. Immutable; threads: any.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "h5mount/base/error.h"

namespace h5mount::object {

class GridRows;
using GridRowsPtr = std::shared_ptr<const GridRows>;

class GridRows {
 public:
  // `dims`: at least one; their product fits 63 bits.
  static GridRowsPtr in_order(std::vector<std::uint64_t> dims);
  // Boxes of some 4 MiB and at most 2^17 rows, of whole chunks where these are smaller: each dimension is cut
  // about as often as the others, so that a part of the grid is in few boxes whatever it is bounded by.
  // `chunk`: its shape; empty: there are none.
  static GridRowsPtr in_boxes(std::vector<std::uint64_t> dims, std::span<const std::uint64_t> chunk,
                              std::uint64_t row_bytes);

  const std::vector<std::uint64_t>& dims() const { return dims_; }
  std::uint64_t rows() const { return rows_; }
  std::uint64_t boxes() const { return boxes_; }
  std::uint64_t most_rows() const { return most_rows_; }  // of a box

  struct Box {
    std::uint64_t first_row = 0, rows = 0;
    std::vector<std::uint64_t> start, count;  // by dimension
  };
  Box box(std::uint64_t number) const;
  Box box_of_row(std::uint64_t row) const;

  // Adjacent rows that are adjacent elements.
  struct Run {
    std::uint64_t row = 0, rows = 0;
    std::uint64_t element = 0;                     // its number in row-major order of the dataset
    std::span<const std::uint64_t> position = {};  // of the first one
  };
  // Visits rows in order: each run lies in one row of the last dimension, and in one box.
  Status for_each_run(std::uint64_t first, std::uint64_t count,
                      const std::function<Status(const Run&)>& visit) const;

 private:
  GridRows(std::vector<std::uint64_t> dims, std::vector<std::uint64_t> box);

  std::vector<std::uint64_t> dims_, box_;
  std::uint64_t rows_ = 1, boxes_ = 1, most_rows_ = 1;
};

}  // namespace h5mount::object
