// FollowedBytes: the bytes of one file of the tree, computed by a view (module view) from the elements of a
// dataset or of several: a dataset's own file is the raw view. A sequence of immutable states, one for each
// state of the elements in which somebody needed the bytes.
//
// One publisher applies their deltas: the kernel drops the pages that became stale, and then the new size may
// be seen (size_publisher.h). Threads: any; no lock is held while reading or waiting.
#pragma once

#include <memory>

#include "followed_data.h"
#include "h5mount/view/derived.h"
#include "size_publisher.h"
#include "states.h"

namespace h5mount::tree {

// The view whose bytes a file shows: of a dataset, or of the part of it that `derivation` makes (null: the
// whole dataset).
struct ViewOf {
  const view::View* view = nullptr;
  view::DerivationPtr derivation = nullptr;
  std::string decoded = {};  // user.hdf5.decoded; empty: no convention was applied
};

class FollowedBytes {
 public:
  // `data` must outlive this object.
  FollowedBytes(FollowedData& data, ViewOf of)
      : data_(data),
        of_(std::move(of)),
        own_file_(of_.derivation == nullptr && of_.view == &view::view_by_suffix("")) {}

  struct State {
    DataStatePtr data;
    DatasetReaderPtr shown;  // of the data, or of a part of them
    view::ComputedFilePtr file = {};
    const dataset::DatasetReader* image = nullptr;  // if it is the whole file: read without the file
    StaleRanges stale = {};                         // bytes of the file, by the numbers of the data

    Status read(std::uint64_t offset, std::uint64_t length, dataset::ReadAccess access,
                dataset::Pieces& out) const {
      return image != nullptr ? image->read(offset, length, access, out)
                              : file->read(offset, length, access, out);
    }
  };
  using StatePtr = std::shared_ptr<const State>;

  Result<StatePtr> newest(RequestBudget& budget);

  // Adds the size to `stat`; if there is none, that of an unreadable file. If the file was opened before, the
  // newest state is published for `node`, its id for the kernel. A listing, however, makes no state and does
  // not wait for a thread that makes one: it adds the size that is known. Returns the description of the data
  // that have this size; null if they cannot be described or shown.
  DatasetDescriptionPtr measure(StatDepth depth, NodeStat& stat, NodeId node, RequestBudget& budget);
  // Publishes the newest state.
  DatasetDescriptionPtr publish(NodeStat& stat, NodeId node, RequestBudget& budget);
  void catch_up(NodeId node) {
    RequestBudget budget(RequestBudget::unbounded());
    NodeStat ignored;
    publish(ignored, node, budget);
  }

  // Whether a later state of the data than this one has begun. What was read from this one may then be stale
  // without being in any delta that was published.
  bool superseded(const State& state) const { return data_.newest_number() > state.data->number; }

  // Records the result of a read for user.hdf5.error.
  void note_read(std::uint64_t offset, std::uint64_t length, const Status& done) {
    if (!done)
      data_.note_failure(offset, done.error());
    else if (own_file_)
      data_.note_success(offset, length);
  }

  FollowedData& data() const { return data_; }
  const ViewOf& of() const { return of_; }
  // Whether it is a dataset's own file.
  bool own_file() const { return own_file_; }

  // What the kernel may believe (SizePublisher); 0: it was told nothing.
  std::uint64_t believed_size() const {
    const auto known = publisher_.load();
    return known ? known->believed_size() : 0;
  }

 private:
  using States = tree::States<DataStatePtr, State>;
  Result<StatePtr> make(const States::State& state, RequestBudget& budget) const;
  SizePublisher& publisher();
  std::optional<std::uint64_t> known_size();
  Result<std::optional<std::uint64_t>> size_by_shape(const object::DatasetDescription& data,
                                                     RequestBudget& budget) const;

  FollowedData& data_;
  const ViewOf of_;
  States states_;
  SharedSlot<SizePublisher> publisher_;  // null until there is a size to publish; then the same
  const bool own_file_;
  std::atomic<bool> measuring_ = false;
};

// An open file whose bytes are followed: reads of one state each, and holes. A read that a later state
// overtook drops its own pages from the kernel's cache. `bytes` belong to `node`. First, the size and pages
// that an earlier opening left are brought up to date. If the bytes cannot be made, that is recorded, and the
// error is returned.
Result<std::shared_ptr<OpenNode>> open_bytes(NodePtr node, FollowedBytes& bytes, RequestBudget& budget);

}  // namespace h5mount::tree
