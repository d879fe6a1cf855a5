// A dataset as a variable of netCDF: which scales represent its dimensions, how long these are, and by which
// names a store shows them. Threads: any.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../objects/group_contents.h"
#include "../objects/object_facts.h"
#include "h5mount/view/netcdf.h"
#include "zarr_dimensions.h"

namespace h5mount::tree {

// A group of a store, and those that contain it.
struct StoreGroup {
  StoreGroup(GroupContents of, std::shared_ptr<const StoreGroup> in)
      : contents(std::move(of)), above(std::move(in)) {}
  ~StoreGroup();
  StoreGroup(const StoreGroup&) = delete;
  StoreGroup& operator=(const StoreGroup&) = delete;

  const GroupContents contents;
  mutable std::shared_ptr<const StoreGroup> above;  // null: this is the root
};
using StoreGroupPtr = std::shared_ptr<const StoreGroup>;

// The link by which a store shows an array.
struct ArrayPlace {
  StoreGroupPtr group;
  std::string name;
};

struct Variable {
  // As long as its unlimited dimensions, some of which others may have made longer.
  DatasetDescriptionPtr description;
  view::DimensionRole role;
  std::vector<std::uint64_t> scales;  // by dimension; 0: it has no scale of that length
};
// `stated`: the dataset's own description.
Result<Variable> variable_of(ServedFile& file, const OpenedObject& dataset, DatasetDescriptionPtr stated,
                             RequestBudget& budget);

// The same, of the dataset's present description.
Result<Variable> variable_of(ServedFile& file, const OpenedObject& dataset, RequestBudget& budget);

// The names of a variable's dimensions as netCDF-C shows them: of a scale the name that it has in the nearest
// group, as it may have several; of a coordinate variable that of the link. A dimension without a scale of
// its length has a name of its own, which it shares with equally long dimensions of other datasets in the
// same group. Fails with LimitExceeded if the file has more dimensions than can be numbered.
Result<std::vector<std::string>> dimension_names(ServedFile& file, const OpenedObject& dataset,
                                                 const Variable& variable, const ArrayPlace& place,
                                                 RequestBudget& budget);

}  // namespace h5mount::tree
