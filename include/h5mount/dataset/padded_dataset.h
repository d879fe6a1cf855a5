// PaddedDataset: a dataset as if its extent were larger: behind its own extent every element is the same one.
// Its own elements are read from its reader.
#pragma once

#include <vector>

#include "h5mount/dataset/dataset_reader.h"

namespace h5mount::dataset {

class PaddedDataset final : public DatasetReader {
 public:
  // The dataset with the extent `dims`, none of which is less than its own. Fails with TooLarge.
  static Result<object::DatasetDescription> describe(const object::DatasetDescription& dataset,
                                                     std::vector<std::uint64_t> dims);

  // `padded`: from `describe`. `element`: has the size of an element.
  PaddedDataset(DatasetReaderPtr dataset, object::DatasetDescription padded, std::vector<std::byte> element);

  const DatasetReaderPtr& dataset() const { return dataset_; }

  Status read(std::uint64_t offset, std::uint64_t length, ReadAccess access, Pieces& out) const override;
  Status read_into(std::uint64_t offset, MutableByteSpan out, RequestBudget& budget) const override;

  bool sources_changed() const override { return dataset_->sources_changed(); }
  std::optional<Error> problem() const override { return dataset_->problem(); }
  MissingSources missing_sources() const override { return dataset_->missing_sources(); }

 private:
  void pad(std::uint64_t offset, MutableByteSpan out) const;

  // A row is a run of the image: the last dimension and those behind it that padding does not change.
  DatasetReaderPtr dataset_;
  std::vector<std::byte> element_;
  std::vector<std::uint64_t> own_, dims_;  // the dataset's extent and the larger one, folded
};

}  // namespace h5mount::dataset
