// Groups as tables: the datasets of one dimension of a group that are equally long, side by side. Links to
// datasets in the same file count as the datasets; what else the group has is left out. Categorical data
// (categories.h) are columns of names: in a group, and alone as a table of one column. Threads: any.
#pragma once

#include "../objects/dataset_image.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/dataset/joined_datasets.h"

namespace h5mount::tree {

struct GroupColumn {
  std::string name;  // of the link; of categorical data alone `value`
  std::uint64_t address = 0;
  std::optional<std::uint64_t> names = {};  // of the codes at `address`
};

// The datasets that are the columns of a group, in the order of its links; none where it is no table: it is
// the root, has fewer than two such datasets, more than limits::kMaxTableLinks links or names in the paths of
// its soft links, or datasets of different lengths. In a file that is followed datasets that can still grow
// may differ, as a writer appends to one after the other. Of categorical data, their one column. Errors:
// links or datasets that cannot be read. `measured`: whether sources may be opened (see description_of).
Result<std::vector<GroupColumn>> group_columns(ServedFile& file, const OpenedObject& object,
                                               RequestBudget& budget, bool measured);

// They as one dataset; null where the object is no table. The names of categories are not known.
Result<DatasetDescriptionPtr> describe_group_table(ServedFile& file, const OpenedObject& object,
                                                   RequestBudget& budget, bool measured);

class GroupTable final : public ViewedData {
 public:
  // `place`: of the object at `address`, a group or categorical data, for messages.
  GroupTable(ServedFilePtr file, std::uint64_t address, LinkPlace place)
      : file_(std::move(file)), address_(address), place_(std::move(place)) {}

  Result<DatasetDescriptionPtr> newest_description(RequestBudget& budget, bool measured) override;
  Result<DatasetReaderPtr> newest_reader(RequestBudget& budget) override;
  bool grows() const override { return followed().following() || is_virtual(); }
  bool is_virtual() const override { return is_virtual_.load(std::memory_order_relaxed); }
  Result<std::vector<NodeSource>> sources(RequestBudget& budget) override;
  bool repeats_attempts() const override { return false; }
  void note_failure(std::uint64_t offset, const Error& error) override;
  void note_missing_sources(const DatasetReaderPtr& reader) override;
  metadata::FollowedFile& followed() const override { return file_->followed(); }
  const ViewContext& context() const override { return file_->context(); }

 private:
  struct Member {
    std::string name;
    std::shared_ptr<DatasetImage> image;
    std::shared_ptr<DatasetImage> names;  // of its codes; null where it holds values
  };
  using Members = std::shared_ptr<const std::vector<Member>>;
  // The links of a group do not change while its file is followed.
  Result<Members> members(RequestBudget& budget);
  // The names of the members' codes in the newest snapshot: the same ones until they change, where they are
  // to be kept for a reader.
  enum class Keep : std::uint8_t { No, Yes };
  Result<std::vector<object::CategoriesPtr>> categories(const Members& all, Keep keep, RequestBudget& budget);

  const ServedFilePtr file_;
  const std::uint64_t address_;
  const LinkPlace place_;
  OnceValue<Members> members_;
  std::atomic<bool> is_virtual_ = false;  // known once the members were described
  Mutex mutex_;
  // The members' readers under `joined_`.
  std::vector<DatasetImage::NumberedReader> readers_ H5_GUARDED_BY(mutex_);
  DatasetReaderPtr joined_ H5_GUARDED_BY(mutex_);
  struct Names {
    std::uint64_t number = 0;  // of the reader that they were read from
    object::CategoriesPtr categories;
  };
  std::vector<Names> names_ H5_GUARDED_BY(mutex_);  // one for each member; none before the first reader
};

}  // namespace h5mount::tree
