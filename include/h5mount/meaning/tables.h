// Groups that a convention says are tables (AnnData, NWB, pandas): which datasets are their columns, and what
// the elements of these mean. Found by attributes and the names of links; no element is read but those that
// are names of columns. Threads: any.
//
// To add a convention: a function like those of meaning/conventions.h in a file of its own, and a line of the
// table in tables.cpp.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "h5mount/dataset/derivation.h"
#include "h5mount/object/object.h"
#include "h5mount/text/value_text.h"

namespace h5mount::meaning {

// A column, or several that are parts of one dataset.
struct TableColumn {
  std::string name;
  std::uint64_t address = 0;  // of a dataset, or of categorical or nullable data, of the same file
  // What stands for the dataset's elements, in one dimension; null: themselves. Where what it describes is
  // several (DatasetDescription::side_by_side), its members are columns by their own names, with their masks.
  dataset::DerivationPtr derivation = {};
  // The dataset with the names of the codes at `address`, and what stands for its elements.
  std::optional<std::uint64_t> names = {};
  dataset::DerivationPtr names_derivation = {};
  std::optional<std::uint64_t> mask = {};  // the dataset that is not 0 where a value is missing
  // The dataset of which each value is a list: its elements up to the one whose number is at `address`, from
  // where the list before ends.
  std::optional<std::uint64_t> lists = {};
};

struct TableDecoding {
  std::string text;  // what was applied: JSON, the value of user.hdf5.decoded
  std::vector<TableColumn> columns = {};
  struct LeftOut {
    std::string name, why;  // why: a short phrase
  };
  std::vector<LeftOut> left_out = {};
};

// `object`: a group.
struct GroupSubject {
  const object::Object& object;
  const text::ValueContext& values;  // of the group's file, whose budget is charged for each member
  dataset::ShownAs form = dataset::ShownAs::TextTable;  // TextTable or ColumnTable
  // Opens the dataset at an address, whose elements are names of columns; null: such columns are numbered.
  std::function<Result<dataset::DatasetReaderPtr>(std::uint64_t address)> reader = nullptr;
};

// Returns nullopt if no convention says that the group is a table. Errors are those of reading the group and
// attributes, and of the budget; a member that cannot be read is left out.
Result<std::optional<TableDecoding>> table_of_group(const GroupSubject& subject);

}  // namespace h5mount::meaning
