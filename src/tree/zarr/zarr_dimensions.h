// FileDimensions: facts about a file's dimensions that only a walk of the whole file can find: how long
// unlimited ones are, and the names that netCDF-C gives to dimensions without a scale. Made once for each
// snapshot of a file that needs it. Immutable; threads: any.
//
// netCDF-C numbers dimensions: those of scales as the library that wrote them did, or in the order in which
// it reads them, and then "phony" ones: in each group, after the groups below it, dimensions of one length
// share the first that is as long, except within one dataset. Datasets that netCDF-C does not show come after
// all that it does.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "../core/served_file.h"

namespace h5mount::tree {

class FileDimensions {
 public:
  // The dimensions of the file's newest snapshot. Fails with LimitExceeded if the file has more objects or
  // dimensions than can be numbered, and with OutOfMemory if others take the memory for it.
  static Result<std::shared_ptr<const FileDimensions>> of(const ServedFilePtr& file, RequestBudget& budget);

  // A dimension of a dataset: the scale that represents it or, if `scale` is 0, a number.
  struct Dimension {
    std::uint64_t scale = 0, number = 0;
  };
  // The dimensions of a dataset that has a dimension without a scale of its length, or dimensions that only
  // netCDF's numbers lead to; empty for other datasets.
  std::vector<Dimension> dimensions_of(std::uint64_t dataset) const;

  // The length of the dimension that an unlimited scale represents: the greatest length of the scale itself
  // and of all that refers to it.
  std::uint64_t length_of(std::uint64_t scale) const;

 private:
  friend class DimensionWalk;
  struct Named {
    std::uint64_t dataset;
    std::size_t first;  // in dimensions_
    std::size_t rank;
  };
  std::vector<Named> named_;  // by dataset
  std::vector<Dimension> dimensions_;
  std::unordered_map<std::uint64_t, std::uint64_t> lengths_;  // of unlimited scales
  cache::BlockCache::Charge charge_;                          // for all of it, and for the walk that makes it
};

bool is_unlimited(const format::Dataspace& space, std::size_t axis);

}  // namespace h5mount::tree
