// OpenParts: the parts of a concatenated dataset that are open. A bounded number is kept; of the others only
// what their plan knows. Two requests for one part open it once. Threads: any; no lock is held while a part
// is opened or read.
#pragma once

#include <list>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "h5mount/base/once_value.h"
#include "h5mount/dataset/concatenated_dataset.h"
#include "h5mount/metadata/torn_retry.h"

namespace h5mount::dataset {

struct OpenPart {
  OpenedPart opened;
  DatasetReaderPtr reader;     // with elements of the type of the whole; null: a gap
  std::uint64_t extent = 0;    // its own, along the dimension: at least what the whole shows of it
  std::uint64_t snapshot = 0;  // number of its file's newest snapshot before it was opened

  bool as_stored() const { return reader != nullptr && reader == opened.reader; }
};
using OpenPartPtr = std::shared_ptr<const OpenPart>;

class OpenParts {
 public:
  static constexpr std::size_t kMost = 32, kMostWithManyOpen = 8;

  // `before`: those of the previous state, or null; what is open there of parts with the same identity is
  // open here. `most`: how many are kept.
  OpenParts(const ReadEnvironment& environment, std::shared_ptr<const ConcatenatedDataset> whole,
            const OpenParts* before, std::size_t most);

  // Calls use(part), and again with a new reader if the part's file is growing and was torn. What it has read
  // when this function succeeds is of the file that was planned with.
  template <class Use>
  Status use(std::size_t part, RequestBudget& budget, Use&& use) const {
    Status done = use_once(part, budget, use);
    if (done) return done;
    const std::string name = whole_->parts->name(part);
    return name.empty() ? done : fail(done.error().within(name));
  }
  // Whether the file of the part is still the one that was planned with, and as it was opened.
  Status confirm_unchanged(std::size_t part, const OpenPart& open) const;

  // Keeps the part open no longer than it is used now.
  void drop(std::size_t part) const;

  // Whether an open part has another state now.
  bool changed() const;
  // The numbers of the open parts whose sources have changed, though they are the same parts.
  std::vector<std::size_t> parts_with_other_sources() const;
  std::size_t memory_bytes() const;

 private:
  using Slot = std::shared_ptr<OnceValue<OpenPartPtr>>;
  using Entry = std::pair<std::size_t, Slot>;

  template <class Use>
  Status use_once(std::size_t part, RequestBudget& budget, Use&& use) const {
    H5_ASSIGN(const OpenPartPtr first, get(part, budget));
    if (first->opened.file == nullptr) {
      H5_TRY(use(first));
      return whole_->parts->check(part);
    }
    metadata::FollowedFile& followed = *first->opened.file->followed;
    H5_TRY(followed.revalidate());
    return metadata::retry_torn(followed, "part", budget, [&](const auto&) -> Status {
      H5_ASSIGN(const OpenPartPtr open, get(part, budget));
      Status done = use(open);
      if (done) done = confirm_unchanged(part, *open);
      if (!done && followed.following()) drop(part);
      return done;
    });
  }

  Result<OpenPartPtr> get(std::size_t part, RequestBudget& budget) const;
  Result<OpenPartPtr> open(std::size_t part, RequestBudget& budget) const;
  Result<OpenPartPtr> as_part_of_whole(std::size_t part, OpenedPart opened, std::uint64_t snapshot) const;
  Status check_shape(std::size_t part, OpenPart& open) const;
  Result<DatasetReaderPtr> converted(std::size_t part, const OpenedPart& opened) const;
  void take_over(const OpenParts& before);
  std::vector<std::pair<std::size_t, OpenPartPtr>> all() const;

  const std::shared_ptr<const ConcatenatedDataset> whole_;
  const std::size_t most_;
  mutable Mutex mutex_;
  mutable std::list<Entry> kept_ H5_GUARDED_BY(mutex_);  // most recently used first
  mutable std::unordered_map<std::size_t, std::list<Entry>::iterator> index_ H5_GUARDED_BY(mutex_);
};

}  // namespace h5mount::dataset
