// FollowedVariable: the elements of a dataset as a variable of netCDF, which is as long as its unlimited
// dimensions (zarr_variable.h). A state of them is one of the dataset and those lengths, which change as
// other variables grow. Threads: any.
#pragma once

#include "../core/states.h"
#include "../objects/followed_dataset.h"

namespace h5mount::tree {

class FollowedVariable final : public FollowedData {
 public:
  FollowedVariable(const ServedFilePtr& file, std::uint64_t address, const LinkPlace& place)
      : FollowedData(file, address, place), dataset_(file, address, place) {}

  Result<DatasetDescriptionPtr> newest_description(RequestBudget& budget, bool measured) override;
  Result<DataStatePtr> newest(RequestBudget& budget) override;
  std::uint64_t newest_number() const override;
  Result<std::vector<NodeSource>> sources(RequestBudget& budget) override { return dataset_.sources(budget); }
  bool repeats_attempts() const override { return dataset_.repeats_attempts(); }

 private:
  // A state's number is that of the dataset's state and the count of other changes together.
  struct Of {
    DataStatePtr dataset;
    DatasetDescriptionPtr description;  // the longer one
    std::uint64_t changes = 0;          // of the length, up to this state
  };
  struct VariableState : DataState {
    DataStatePtr dataset;
  };
  using States = tree::States<Of, VariableState>;

  // The description that follows from the dataset's own one.
  Result<DatasetDescriptionPtr> lengthened(const DatasetDescriptionPtr& stated, RequestBudget& budget);
  States::ValuePtr make(const States::State& state) const;
  void note_missing() override { dataset_.note_missing_sources(); }

  FollowedDataset dataset_;
  States states_;
  struct Extent {
    std::optional<std::uint64_t> snapshot;  // its number; nullopt: nothing is known
    std::vector<std::uint64_t> own, whole;  // the dataset's, and that of the variable
  };
  Mutex mutex_;
  Extent known_ H5_GUARDED_BY(mutex_);  // what was found last
};

}  // namespace h5mount::tree
