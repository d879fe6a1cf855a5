// FollowedData: the elements that files of the tree show, of a dataset or of the datasets of a group side by
// side, as a sequence of immutable states. A state has its reader and the ranges that became stale up to it;
// any number of files read these, each since the state that it knows (followed_bytes.h). Whether the file is
// followed may change at any time. A file that begins to be followed may have changed anywhere, so its first
// state makes everything stale. Threads: any.
#pragma once

#include <atomic>
#include <memory>

#include "h5mount/view/view.h"
#include "node.h"
#include "served_file.h"
#include "stale_ranges.h"

namespace h5mount::tree {

using view::DatasetReaderPtr;

struct DataState {
  std::uint64_t number = 0;  // from 1 on; a later state has a higher one
  DatasetReaderPtr reader;   // the elements as they are stored
  StaleRanges stale;         // bytes of the image
  bool followed = false;     // whether the file was followed when it was read
};
using DataStatePtr = std::shared_ptr<const DataState>;

class FollowedData {
 public:
  // `address`: of the object that stands for the elements; `place` names it in messages.
  FollowedData(ServedFilePtr file, std::uint64_t address, LinkPlace place)
      : file_(std::move(file)), address_(address), place_(std::move(place)) {}
  virtual ~FollowedData() = default;

  // The description in the newest snapshot, independent of any reader. `measured`: whether sources may be
  // opened for it (see description_of).
  virtual Result<DatasetDescriptionPtr> newest_description(RequestBudget& budget, bool measured) = 0;
  // The newest state: the same one until the elements may have changed.
  virtual Result<DataStatePtr> newest(RequestBudget& budget) = 0;
  // The number of the newest state that has begun to be made. If none has begun since the state that somebody
  // has read from, the delta of the next state contains what was read, should it become stale.
  virtual std::uint64_t newest_number() const = 0;
  // The files and objects that the elements come from.
  virtual Result<std::vector<NodeSource>> sources(RequestBudget& budget) = 0;
  // The parts that the elements leave out of the object that stands for them, in words; empty if nothing.
  virtual Result<std::string> left_out(RequestBudget&) { return std::string(); }
  // The value of user.hdf5.decoded, if the elements are more than the dataset at the address; else empty.
  virtual Result<std::string> decoded(RequestBudget&) { return std::string(); }
  // Whether readers repeat attempts at torn structures themselves.
  virtual bool repeats_attempts() const = 0;

  // Whether a source's file may change without this file changing: the kernel is then not notified. Known
  // once a description was made.
  bool is_virtual() const { return is_virtual_.load(std::memory_order_relaxed); }
  // Whether there may be a later state.
  bool grows() const { return followed().following() || is_virtual(); }
  // Whether the elements may change at any moment: their file is followed, or they lie in another one that
  // may be.
  bool follows() const {
    return followed().following() || (is_virtual() && context().environment.files->follows());
  }

  // Record a failed read for user.hdf5.error and the log, and a successful read of bytes of the image.
  void note_failure(std::uint64_t offset, const Error& error) {
    file_->failures().note(address_, file_->metadata()->number(), offset, error);
    if (file_->context().options.logs_failed_reads) file_->report(file_->path_of(place_), error);
  }
  void note_success(std::uint64_t offset, std::uint64_t length) {
    if (file_->failures().any()) file_->failures().note_success(address_, offset, offset + length);
  }
  // Records sources of virtual datasets that were missing when they were needed.
  void note_missing_sources() {
    if (is_virtual()) note_missing();
  }

  const ServedFilePtr& file() const { return file_; }
  std::uint64_t address() const { return address_; }
  const LinkPlace& place() const { return place_; }
  metadata::FollowedFile& followed() const { return file_->followed(); }
  const MountContext& context() const { return file_->context(); }

 protected:
  void set_virtual() { is_virtual_.store(true, std::memory_order_relaxed); }

 private:
  virtual void note_missing() = 0;

  const ServedFilePtr file_;
  const std::uint64_t address_;
  const LinkPlace place_;
  std::atomic<bool> is_virtual_ = false;
};

}  // namespace h5mount::tree
