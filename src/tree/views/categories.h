// Columns of two datasets, as AnnData stores them. Categorical data: codes, integers that count the names in
// another dataset. In older files a dataset of codes has the attribute `categories`, a reference to its
// names; in newer ones a group with the attribute `encoding-type` "categorical" holds both, `codes` and
// `categories`. Nullable data: a group with an `encoding-type` that begins with "nullable-" holds `values`
// and `mask`, which is true where a value is missing. Threads: any.
#pragma once

#include <optional>

#include "../objects/object_facts.h"

namespace h5mount::tree {

// Bounds for the names of one column. Beyond them a table shows the codes.
inline constexpr std::uint64_t kMaxNames = 1U << 20;
inline constexpr std::size_t kMaxNameBytes = 16U << 20;

// The addresses of the two datasets.
struct CategoricalPlace {
  std::uint64_t codes = 0, names = 0;
};

// Returns nullopt if the object is not categorical: its codes are not integers in one dimension, or its names
// are neither strings nor numbers in one dimension, or there are more than a table can have. An attribute
// that cannot be read counts as missing. Fails if the datasets cannot be described.
Result<std::optional<CategoricalPlace>> find_categorical(ServedFile& file, const OpenedObject& object,
                                                         RequestBudget& budget);

struct NullablePlace {
  std::uint64_t values = 0, mask = 0;
};

// Returns nullopt if the object is not nullable data: its values are neither numbers, enumerations nor
// strings in one dimension, or its mask is not one byte for each. Fails if the datasets cannot be described.
Result<std::optional<NullablePlace>> find_nullable(ServedFile& file, const OpenedObject& object,
                                                   RequestBudget& budget);

// The attribute `encoding-type`; empty if there is none that can be read.
std::string encoding_of(const OpenedObject& object);

// All names, charged to the cache's budget. `as_values`: numbers and times as such, and not as their texts.
// Null if their text is longer than a table can have.
Result<object::CategoriesPtr> read_categories(ServedFile& file, const dataset::DatasetReader& names,
                                              bool as_values, RequestBudget& budget);

// What lists of a dataset's elements are as JSON (Categories::list).
object::CategoriesPtr lists_of(ServedFile& file, dataset::DatasetReaderPtr elements);

}  // namespace h5mount::tree
