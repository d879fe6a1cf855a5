// FollowedDataset: the elements of one dataset. A state of them is its reader in one snapshot of the file
// and, if the dataset is virtual, in one state of its sources. Threads: any.
#pragma once

#include "../core/followed_data.h"
#include "../core/states.h"
#include "object_facts.h"

namespace h5mount::tree {

Result<DatasetReaderPtr> open_reader(const ServedFile& file, const object::DatasetDescription& description,
                                     RequestBudget& budget);

class FollowedDataset final : public FollowedData {
 public:
  using FollowedData::FollowedData;

  Result<DatasetDescriptionPtr> newest_description(RequestBudget& budget, bool measured) override;
  Result<DataStatePtr> newest(RequestBudget& budget) override;
  std::uint64_t newest_number() const override { return states_.newest_number(); }
  Result<std::vector<NodeSource>> sources(RequestBudget& budget) override {
    H5_ASSIGN(NodeSource source, dataset_source(*file(), address(), place(), budget));
    return std::vector{std::move(source)};
  }
  bool repeats_attempts() const override { return is_virtual(); }

  // Adds the blocks of the dataset's own file: those of its storage. `stat` already has the file's size.
  void measure_blocks(StatDepth depth, const object::DatasetDescription& description, NodeStat& stat,
                      RequestBudget& budget);

 private:
  using States = tree::States<OpenedObjectPtr, DataState>;
  bool is_later(const States::State& newest, const OpenedObjectPtr& object) const;
  Result<DataStatePtr> make(const States::State& state, RequestBudget& budget);
  // Notes whether the dataset is virtual.
  Result<DatasetDescriptionPtr> noted(Result<DatasetDescriptionPtr> description);
  void note_missing() override;

  // A file that is not followed has only one state. It is kept only once elements are needed, so that a node
  // that was merely listed holds nothing.
  States states_;
};

}  // namespace h5mount::tree
