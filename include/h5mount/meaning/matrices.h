// Groups that are sparse matrices, as AnnData, 10x Genomics and MATLAB store them, or without a convention:
// which datasets hold their entries, and which the names of their rows and columns. Found by attributes, the
// names of links and the datasets' shapes; the only elements that are read are those of a dataset `shape`.
// Threads: any.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "h5mount/dataset/matrix_entries.h"
#include "h5mount/object/object.h"
#include "h5mount/text/value_text.h"

namespace h5mount::meaning {

// A dataset; `member`: of its compound elements, empty: the elements.
struct DatasetPlace {
  std::uint64_t address = 0;
  std::string member = {};
};

struct MatrixDecoding {
  std::string text;            // what was found: JSON, the value of user.hdf5.decoded
  dataset::MatrixShape shape;  // as it is shown: that of AnnData's X and layers is transposed
  // Datasets of the same file: values and indices, unless the matrix has no entries, and pointers
  // (dataset/matrix_entries.h).
  std::vector<DatasetPlace> parts;
  std::optional<DatasetPlace> barcodes = {};  // as many as columns
  std::vector<DatasetPlace> features = {};    // as many as rows: identifier, name and maybe type; or none
};

// `object`: a group.
struct MatrixSubject {
  const object::Object& object;
  const text::ValueContext& values;  // of the group's file
  // The elements of the dataset at an address; fails or has another number than two if it is no pair of
  // integers.
  std::function<Result<std::vector<std::uint64_t>>(std::uint64_t address)> pair;
};

// Returns nullopt if the group is no sparse matrix, or its shape or orientation is not certain. Errors are
// those of the request (is_passing); what cannot be read counts as absent.
Result<std::optional<MatrixDecoding>> matrix_of_group(const MatrixSubject& subject);

}  // namespace h5mount::meaning
