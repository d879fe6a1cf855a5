// ViewImage: the bytes of one view file (module view) of a dataset or a group, made again when its data grow.
// Pages of the kernel that growth makes stale are invalidated before the new size is published
// (size_publisher.h). Threads: any; no lock is held while reading or waiting.
#pragma once

#include <atomic>
#include <memory>

#include "../objects/dataset_image.h"
#include "h5mount/base/shared_slot.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/view/derived.h"
#include "h5mount/view/view.h"

namespace h5mount::tree {

// The content of a view file: a view of a dataset, or of the part that `derivation` makes of it (null: the
// whole dataset).
struct ViewOf {
  const view::View* view = nullptr;
  view::DerivationPtr derivation = nullptr;
};

// A dataset that several views show.
struct SharedDataset {
  std::shared_ptr<DatasetImage> image;
};

class ViewImage {
 public:
  // `own`: data that no other view has.
  ViewImage(ServedFilePtr file, std::shared_ptr<ViewedData> own, ViewOf of)
      : file_(std::move(file)), own_(std::move(own)), of_(std::move(of)) {}
  // Several views may share `shared`. Once it grows, each makes its own of it, because a reader returns stale
  // ranges only once.
  ViewImage(ServedFilePtr file, SharedDataset shared, ViewOf of)
      : file_(std::move(file)), shared_(std::move(shared.image)), of_(std::move(of)) {}

  // Adds the size to `stat`; that of an unreadable file where it cannot be made. `node`: its id for the
  // kernel.
  void measure(StatDepth depth, NodeStat& stat, NodeId node, RequestBudget& budget);

  // The file of the newest state.
  Result<view::ComputedFilePtr> newest(NodeId node, RequestBudget& budget);

  // What the view shows at present; it remains valid as long as the image.
  ViewedData& data() const;
  const ViewOf& of() const { return of_; }
  DatasetReaderPtr last_reader() const;  // null before the first `newest`

 private:
  // The file of one state of the dataset.
  struct Made {
    DatasetReaderPtr reader;  // of the dataset, or of what was derived from it
    view::ComputedFilePtr file;
  };
  using MadePtr = std::shared_ptr<const Made>;
  struct State {
    const ViewedData* data = nullptr;  // whose reader `base` is
    bool followed = false;             // whether the file was followed then
    DatasetReaderPtr base;
    std::uint64_t number = 1;             // a later state has a higher one
    MadePtr before;                       // the file made from the last earlier state
    std::atomic<bool> all_stale = false;  // the stale ranges since `before` are unknown
    OnceValue<MadePtr> made;
  };
  std::shared_ptr<State> state_of(const ViewedData& data, bool followed, const DatasetReaderPtr& base);
  Result<std::shared_ptr<State>> newest_state(NodeId node, RequestBudget& budget);
  Result<MadePtr> make(State& state, NodeId node, RequestBudget& budget);
  void note_stale(const State& state, const Made& made, std::span<const dataset::ByteRange> stale,
                  NodeId node);
  SizePublisher::Ranges take_stale();
  Result<std::uint64_t> size_by_shape(StatDepth depth, NodeStat& stat, RequestBudget& budget) const;
  void publish(NodeStat& stat, NodeId node, RequestBudget& budget);

  const ServedFilePtr file_;
  const std::shared_ptr<DatasetImage> shared_;  // null: there is `own_` from the beginning
  mutable SharedSlot<ViewedData> own_;          // set once
  const ViewOf of_;
  const std::shared_ptr<SizePublisher> publisher_ = std::make_shared<SizePublisher>();
  mutable Mutex mutex_;
  std::shared_ptr<State> state_ H5_GUARDED_BY(mutex_);
  // Ranges of the kernel's pages since a size was published.
  SizePublisher::Ranges stale_ H5_GUARDED_BY(mutex_);
};

}  // namespace h5mount::tree
