// OpenTrees: the trees of those files of a forest that are in use, or were a moment ago. Each has a number,
// from which its node ids are made. Beyond a bound the trees used least recently are dropped as soon as
// nobody knows a node of them: the kernel is asked to forget those that it still knows. Threads: any.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "../source_tree.h"
#include "h5mount/base/once_value.h"
#include "h5mount/base/sole_turn.h"
#include "place_table.h"

namespace h5mount::tree {

struct OpenTree {
  std::shared_ptr<SourceTree> tree;
  std::uint64_t number = 0;
  NodeId root = 0;  // the place of the file
  FolderPtr in;
  std::string name;
  std::atomic<std::uint64_t> used = 0;
  // A tree that is not `Stays` is dropped as soon as nobody knows a node of it. One that is `Aged` becomes
  // `Stays` again when it is used.
  enum class Retention : std::uint8_t { Stays, Aged, Replaced };
  std::atomic<Retention> retention = Retention::Stays;
  std::atomic<bool> checking = false;  // a thread compares it with its file
};
using OpenTreePtr = std::shared_ptr<OpenTree>;

// A file of a forest. Below one that cannot be opened every request fails with the error of opening it;
// NotFound becomes Stale, as the name is there. An error about bytes, and a verdict, is kept until the file
// changes, or for a minute; any other may be over without a change, and opening is tried again after a
// second.
struct OpenableFile final : PlaceContent {
  using Once = OnceValue<OpenTreePtr>;
  using Clock = std::chrono::steady_clock;

  bool in_use() const override {
    const MutexLock lock(mutex);
    return !tree.expired();
  }

  mutable Mutex mutex;
  std::weak_ptr<OpenTree> tree H5_GUARDED_BY(mutex);
  std::shared_ptr<Once> opening H5_GUARDED_BY(mutex);
  std::uint64_t stamp H5_GUARDED_BY(mutex) = 0;   // of the file when it was opened, or could not be
  std::uint64_t rights H5_GUARDED_BY(mutex) = 0;  // its owner, group and mode
  std::optional<Error> error H5_GUARDED_BY(mutex);
  Clock::time_point retry H5_GUARDED_BY(mutex);  // after an error
};
using OpenableFilePtr = std::shared_ptr<OpenableFile>;

class OpenTrees {
 public:
  explicit OpenTrees(std::size_t most) : most_(most) {}

  // Each tree has 2^44 ids; those of tree number 0 are the forest's own.
  static std::uint64_t number_of(NodeId node) { return node >> kNodeBits; }
  static NodeId below(std::uint64_t number) { return number << kNodeBits; }

  std::uint64_t take_number();
  void give_back(std::uint64_t number);  // of a tree that was never added
  void add(const OpenTreePtr& tree, OpenableFile& openable);

  // Returns null if the tree was dropped. `uses`: false if a node of it is being forgotten.
  OpenTreePtr of_node(NodeId node, bool uses = true);
  OpenTreePtr of_file(const OpenableFile& openable);
  std::vector<OpenTreePtr> all() const;
  std::size_t size() const;

  // If there are too many trees, those used least recently: the kernel must be asked to forget them.
  std::vector<OpenTreePtr> too_many();
  // Drops the tree if it need not stay and nobody uses it any more. `tree` must be the caller's only
  // reference.
  bool drop(OpenTreePtr tree);

 private:
  static constexpr unsigned kNodeBits = 44;

  void touch(OpenTree& tree);

  const std::size_t most_;
  std::atomic<std::uint64_t> now_ = 1;
  mutable Mutex mutex_;
  std::unordered_map<std::uint64_t, OpenTreePtr> trees_ H5_GUARDED_BY(mutex_);
  // The numbers of trees that were dropped when no reference to one of their nodes was left. They are used
  // again, the oldest first, once all other numbers have been used: by then, everything that was still to be
  // done for one of those nodes has long been done.
  std::deque<std::uint64_t> free_ H5_GUARDED_BY(mutex_);
  std::uint64_t next_ H5_GUARDED_BY(mutex_) = 1;
};

}  // namespace h5mount::tree
