// Records: rows of which columns are bytes at fixed places, as a compound type or the rows of a matrix have
// them. Immutable; threads: any.
#pragma once

#include <string>
#include <vector>

#include "h5mount/meaning/elements.h"

namespace h5mount::meaning {

struct RecordColumn {
  std::string name;
  std::uint64_t offset = 0, stored_bytes = 0;  // in the record
  ElementsPtr elements = nullptr;              // null: its bytes as they are
  format::DatatypePtr type = nullptr;          // of what each means
  bool may_miss = false;
};

// Of datasets of one dimension, or two, whose rows have `row_bytes`. `no_rows`: the dataset stands for one
// that has none.
//
// Datasets side by side (DatasetDescription::side_by_side) of the columns, which have different names.
dataset::DerivationPtr derive_records(std::vector<RecordColumn> columns, std::uint64_t row_bytes,
                                      bool no_rows = false);
// One column as a dataset of one dimension.
dataset::DerivationPtr derive_column(RecordColumn column, std::uint64_t row_bytes, bool no_rows = false);

}  // namespace h5mount::meaning
