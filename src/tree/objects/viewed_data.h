// ViewedData: the data of a view file: the elements of a dataset, or of the datasets of a group side by side.
// Threads: any.
#pragma once

#include "object_facts.h"

namespace h5mount::tree {

class ViewedData {
 public:
  virtual ~ViewedData() = default;

  // The description in the newest snapshot, independent of any reader. `measured`: whether sources may be
  // opened for it (see description_of).
  virtual Result<DatasetDescriptionPtr> newest_description(RequestBudget& budget, bool measured) = 0;
  // A reader of the newest snapshot: the same one until the elements change.
  virtual Result<std::shared_ptr<const dataset::DatasetReader>> newest_reader(RequestBudget& budget) = 0;

  // Whether its file is followed, or a source's file may be.
  virtual bool grows() const = 0;
  // Whether a source's file may change without this file changing: the kernel is then not notified.
  virtual bool is_virtual() const = 0;
  // Whose elements they are.
  virtual Result<std::vector<NodeSource>> sources(RequestBudget& budget) = 0;
  // Whether they may change at any moment: their file is followed, or they lie in one that may be.
  bool follows() const {
    return followed().following() || (is_virtual() && context().environment.files->follows());
  }
  // Whether a reader repeats attempts at torn structures itself.
  virtual bool repeats_attempts() const = 0;

  // Records a failure for user.hdf5.error and the log.
  virtual void note_failure(std::uint64_t offset, const Error& error) = 0;
  // Records sources of a virtual dataset that were missing when they were needed.
  virtual void note_missing_sources(const std::shared_ptr<const dataset::DatasetReader>& reader) = 0;

  virtual metadata::FollowedFile& followed() const = 0;
  virtual const ViewContext& context() const = 0;
  Status revalidate() const { return followed().revalidate(); }
  Status confirm_unchanged() const { return followed().confirm_unchanged(); }
};

}  // namespace h5mount::tree
