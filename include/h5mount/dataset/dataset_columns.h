// Columns: datasets of one dimension side by side, as one dataset of a compound type with a member
// for each. The whole is as long as the shortest of them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "h5mount/dataset/dataset_reader.h"

namespace h5mount::dataset {

struct DatasetColumn {
  std::string
      name;  // unique; the columns of one that is side by side itself have their own, if they are several
  std::shared_ptr<const object::DatasetDescription> dataset;
  object::CategoriesPtr categories = nullptr;  // what its codes stand for; null: it holds values
  bool is_mask = false;                        // of the member before it: not 0 where a value is missing
};

// Shape, type and size of the whole, with the categories and masks of its members. Its chunks are as
// long as the longest that all chunked members have in common. `address`: of the object that the whole
// stands for. Fails with TooLarge if an element or the image exceeds the limit of all datasets.
Result<object::DatasetDescription> describe_columns(std::uint64_t address,
                                                    std::span<const DatasetColumn> members);

// The reader of the whole, from the readers of its members in their order.
std::shared_ptr<const DatasetReader> open_columns(object::DatasetDescription whole,
                                                  std::vector<std::shared_ptr<const DatasetReader>> members);

// The ranges of the whole's image that have become stale since `before`, its description in an
// earlier state.
struct StaleMember {
  std::uint64_t element_size = 0;
  std::vector<ByteRange> ranges;  // of its image
};
std::vector<ByteRange> stale_in_columns(const object::DatasetDescription& whole,
                                        const object::DatasetDescription& before,
                                        std::span<const StaleMember> stale);

}  // namespace h5mount::dataset
