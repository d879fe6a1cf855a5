// The entries of a sparse matrix as one dataset: of each its row, its column and its value, in the order in
// which they are stored. The matrix is compressed along its rows or its columns (CSR, CSC): `pointers` has
// for each of them the place where its entries begin, and one more for the end of the last; `indices` has the
// other coordinate of each entry, `values` its value. Threads: any.
#pragma once

#include <cstdint>
#include <memory>

#include "h5mount/cache/block_cache.h"
#include "h5mount/dataset/dataset_reader.h"

namespace h5mount::dataset {

struct MatrixShape {
  std::uint64_t rows = 0, columns = 0;
  bool by_rows = true;  // compressed along the rows; false: along the columns
  bool operator==(const MatrixShape&) const = default;

  std::uint64_t compressed() const { return by_rows ? rows : columns; }
  std::uint64_t other() const { return by_rows ? columns : rows; }
};

// An element of the dataset of entries: its row and its column, counted from 0, and the value.
struct EntryPlaces {
  static constexpr std::uint64_t kRow = 0, kColumn = 8, kValue = 16;  // bytes
};

// `of`: values, indices and pointers, or pointers alone for a matrix without entries. There are as many
// entries as values and indices; half floats are described as singles. `address`: of the object that is the
// matrix. Fails with InvalidValue if the datasets are not of one dimension, or indices or pointers not
// integers of the usual formats, or if there is not one pointer more than rows or columns; with TooLarge if
// the entries exceed the limit of all datasets.
Result<object::DatasetDescription> describe_entries(
    std::uint64_t address, const MatrixShape& shape,
    std::span<const std::shared_ptr<const object::DatasetDescription>> of);

// The reader of what `describe_entries` described. The first read looks at all pointers; some of them are
// held, charged to the cache. Entries from where pointers fall, or beyond the entries that there are, and
// entries whose index lies outside the shape, fail with InvalidValue and OutOfRange. Fails with
// UnsupportedFeature if the values are half floats in another format than IEEE's.
Result<DatasetReaderPtr> open_entries(object::DatasetDescription described, bool by_rows,
                                      std::shared_ptr<const cache::BlockCache> cache,
                                      std::vector<DatasetReaderPtr> of);

}  // namespace h5mount::dataset
