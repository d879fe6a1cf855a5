// ViewImage: the bytes of one view file (module view) of a dataset or a group, made anew when its data grow.
// Pages of the kernel that growth makes stale are invalidated before the new size is published
// (size_publisher.h). Threads: any; no lock is held while reading or waiting.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "dataset_image.h"
#include "h5mount/view/derived.h"
#include "h5mount/view/view.h"

namespace h5mount::tree {

// What a view file shows: a view of a dataset, or of what `derivation` makes of it (null: the dataset
// itself).
struct ViewOf {
  const view::View* view = nullptr;
  view::DerivationPtr derivation = nullptr;
};

class ViewImage {
 public:
  // `data` may be shared with other views of it where the file is not followed. In one that is followed each
  // view needs to learn what became stale, which a reader gives once.
  ViewImage(ServedFilePtr file, std::shared_ptr<ViewedData> data, ViewOf of)
      : file_(std::move(file)), data_(std::move(data)), of_(std::move(of)) {}

  // Adds the size to `stat`; it is 0 where the dataset cannot be described. `node`: as the kernel knows it.
  void measure(StatDepth depth, NodeStat& stat, NodeId node);

  // The file of the newest state.
  Result<view::ComputedFilePtr> newest(NodeId node, metadata::RetryBudget& budget);
  Result<view::ComputedFilePtr> newest(NodeId node) {
    metadata::RetryBudget budget;
    return newest(node, budget);
  }

  ViewedData& data() const { return *data_; }
  DatasetReaderPtr last_reader() const;  // null before the first `newest`

 private:
  // The file of one state of the dataset.
  struct Made {
    DatasetReaderPtr reader;  // of the dataset, or of what was derived from it
    view::ComputedFilePtr file;
  };
  using MadePtr = std::shared_ptr<const Made>;
  struct State {
    DatasetReaderPtr base;
    std::uint64_t number = 1;             // a later state has a higher one
    MadePtr before;                       // of the last state of which a file was made
    std::atomic<bool> all_stale = false;  // what became stale since then is not known
    OnceValue<MadePtr> made;
  };
  std::shared_ptr<State> state_of(const DatasetReaderPtr& base);
  Result<std::shared_ptr<State>> newest_state(NodeId node, metadata::RetryBudget& budget);
  Result<MadePtr> make(State& state, NodeId node);
  void note_stale(const State& state, const Made& made, std::span<const dataset::ByteRange> stale,
                  NodeId node);
  SizePublisher::Ranges take_stale();
  Result<std::uint64_t> size_by_shape(NodeStat& stat) const;
  void publish(NodeStat& stat, NodeId node);

  const ServedFilePtr file_;
  const std::shared_ptr<ViewedData> data_;
  const ViewOf of_;
  const std::shared_ptr<SizePublisher> publisher_ = std::make_shared<SizePublisher>();
  mutable std::mutex mutex_;  // guards what follows
  std::shared_ptr<State> state_;
  SizePublisher::Ranges stale_;  // of the kernel's pages, since a size was published
};

}  // namespace h5mount::tree
