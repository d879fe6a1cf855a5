// Joined datasets: datasets of one dimension side by side, as one dataset of a compound type with a member
// for each; it is as long as the shortest of them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "h5mount/dataset/dataset_reader.h"

namespace h5mount::dataset {

struct JoinedMember {
  std::string name;  // no two have the same
  std::shared_ptr<const object::DatasetDescription> dataset;
};

// Shape, type and size. Chunks are as long as the longest that all chunked members' are made of. `address`:
// of the object that stands for them. TooLarge where an element or the image would be larger than any can be.
Result<object::DatasetDescription> describe_joined(std::uint64_t address,
                                                   std::span<const JoinedMember> members);

// A reader of them, from those of the members in their order. `previous`: the reader that this gave of their
// state before, or null.
std::shared_ptr<const DatasetReader> open_joined(object::DatasetDescription joined,
                                                 std::vector<std::shared_ptr<const DatasetReader>> members,
                                                 const std::shared_ptr<const DatasetReader>& previous);

}  // namespace h5mount::dataset
