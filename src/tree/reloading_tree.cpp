// ReloadingTree: the tree of a file that may be replaced. It is the tree of the file that the name led to
// when nothing in the tree was last in use.
#include <unordered_set>
#include <utility>

#include "h5mount/base/advice.h"
#include "h5mount/base/log.h"
#include "h5mount/base/thread.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/tree/forwarding_tree.h"
#include "source_tree.h"

namespace h5mount::tree {
namespace {

// The node ids of two trees are disjoint: each tree has 2^44 ids of its own.
constexpr unsigned kNodeBits = 44;

class ReloadingTree final : public ForwardingTree<Tree, SourceTree>,
                            public std::enable_shared_from_this<ReloadingTree> {
 public:
  ReloadingTree(std::shared_ptr<SourceTree> first, PartsOpener again)
      : ForwardingTree(first->counters()), again_(std::move(again)), current_(std::move(first)) {}

  Result<Entry> lookup(NodeId parent, std::string_view name, RequestBudget& budget) override {
    H5_ASSIGN(const Target to, target_of(parent, budget));
    auto found = to.tree->lookup(parent, name, budget);
    if (found && parent == kRootNode) remember(to.tree, name);
    return found;
  }
  Result<Entry> lookup_listed(NodeId parent, const DirectoryListing& listing, std::size_t position,
                              FilesRead& read, RequestBudget& budget) override {
    H5_ASSIGN(const Target to, target_of(parent, budget));
    auto found = to.tree->lookup_listed(parent, listing, position, read, budget);
    if (found && parent == kRootNode) remember(to.tree, listing.name_at(position));
    return found;
  }
  void forget(NodeId id, std::uint64_t count) override { current()->forget(id, count); }
  Result<std::string> get_xattr(NodeId id, std::string_view name, RequestBudget& budget) override {
    const auto to = target_of(id, budget);
    if (!to && name == "user.hdf5.error") return text_with_advice(to.error());
    return ForwardingTree::get_xattr(id, name, budget);
  }
  void report(NodeId id, const Error& error) override { current()->report(id, error); }
  std::vector<std::string> watchable() const override { return current()->watchable(); }
  FileStat statfs() const override { return current()->statfs(); }
  bool reloads() const override { return true; }

  void set_kernel(std::shared_ptr<KernelPages> kernel) override {
    const MutexLock lock(mutex_);
    kernel_ = std::move(kernel);
    current_->set_kernel(kernel_);
  }

  void when_more_to_watch(std::function<void()> notify) override {
    std::shared_ptr<SourceTree> tree;
    {
      const MutexLock lock(mutex_);
      notify_ = notify;
      tree = current_;
    }
    tree->when_more_to_watch(std::move(notify));
  }

  std::shared_ptr<void> pin() override {
    const auto self = shared_from_this();
    {
      const MutexLock lock(mutex_);
      ++pins_;
    }
    return {this, [self](void*) { self->unpin(); }};
  }
  void file_changed() override {
    const auto tree = current();
    tree->file_changed();
    if (const auto next = prepared(); !next || next->state() != SourceTree::State::Current) {
      set_prepared(nullptr);
      const SourceTree::State state = tree->state();
      if (state == SourceTree::State::Current) set_usable();
      if (state != SourceTree::State::Superseded) return;
      set_prepared(open_again());
    }
    take_up();
  }

 private:
  void unpin() {
    {
      const MutexLock lock(mutex_);
      if (--pins_ > 0 || !prepared_) return;
    }
    run_guarded("taking up the new file", [this] { take_up(); });  // the next change tries again
  }

  void set_usable() {
    const MutexLock lock(mutex_);
    why_unusable_.clear();
  }

  // Records a name that the kernel received below the root, if `tree` is still the current one.
  void remember(const std::shared_ptr<SourceTree>& tree, std::string_view name) {
    const MutexLock lock(mutex_);
    if (tree == current_) names_.emplace(name);
  }

  // A failure is logged once, and the next call tries again: a writer may be about to finish. Meanwhile only
  // open files are served: the name no longer means the old file.
  std::shared_ptr<SourceTree> open_again() {
    auto made = make_next();
    const std::string why = made ? std::string() : text_with_advice(made.error());
    bool begins = false;
    {
      const MutexLock lock(mutex_);
      begins = why_unusable_.empty() && !why.empty();
      if (why == why_unusable_) return made ? *std::move(made) : nullptr;
      why_unusable_ = why;
    }
    if (!why.empty()) log(LogLevel::Warning, "the new file cannot be opened: {}", why);
    if (begins) current()->retire();
    return made ? *std::move(made) : nullptr;
  }

  Result<Target> target_of(NodeId id, RequestBudget&) override {
    const MutexLock lock(mutex_);
    if (why_unusable_.empty()) return Target{current_, id};
    return fail(
        Error(ErrorCode::Stale, "the file was replaced, and the new one cannot be used: " + why_unusable_));
  }

  Result<std::shared_ptr<SourceTree>> make_next() {
    H5_ASSIGN(const Parts source, again_());
    H5_ASSIGN(auto tree,
              SourceTree::make(source.environment, source.options, {.below = ++generation_ << kNodeBits}));
    H5_TRY(tree->stat(kRootNode, StatDepth::Listing));
    return tree;
  }

  // Called at a moment when nothing of the old file is in use, so that no reply of the old tree can follow
  // these invalidations.
  void take_up() {
    std::shared_ptr<SourceTree> old;
    std::unordered_set<std::string> names;
    std::shared_ptr<KernelPages> kernel;
    std::shared_ptr<SourceTree> next;
    std::function<void()> notify;
    {
      const MutexLock lock(mutex_);
      if (pins_ > 0 || !prepared_) return;
      old = std::exchange(current_, std::exchange(prepared_, nullptr));
      next = current_;
      names.swap(names_);
      kernel = kernel_;
      notify = notify_;
      next->set_kernel(kernel);
    }
    log(LogLevel::Info, "the new file replaces the old one");
    next->when_more_to_watch(notify);
    if (kernel)
      for (const std::string& name : names) kernel->invalidate_name(kRootNode, name);
    old->retire();
    if (notify) notify();
  }

  std::shared_ptr<SourceTree> current() const {
    const MutexLock lock(mutex_);
    return current_;
  }
  std::shared_ptr<SourceTree> prepared() const {
    const MutexLock lock(mutex_);
    return prepared_;
  }
  void set_prepared(std::shared_ptr<SourceTree> next) {
    const MutexLock lock(mutex_);
    prepared_.swap(next);
  }

  const PartsOpener again_;
  std::uint64_t generation_ = 0;  // used only by the thread that calls file_changed
  mutable Mutex mutex_;
  std::shared_ptr<SourceTree> current_ H5_GUARDED_BY(mutex_);
  // The tree of the new file, kept here until nothing of the old file is in use.
  std::shared_ptr<SourceTree> prepared_ H5_GUARDED_BY(mutex_);
  std::string why_unusable_ H5_GUARDED_BY(mutex_);  // of the new file; empty: it is usable, or there is none
  std::size_t pins_ H5_GUARDED_BY(mutex_) = 0;
  std::unordered_set<std::string> names_ H5_GUARDED_BY(mutex_);
  std::shared_ptr<KernelPages> kernel_ H5_GUARDED_BY(mutex_);
  std::function<void()> notify_ H5_GUARDED_BY(mutex_);
};

}  // namespace

Result<std::shared_ptr<Tree>> Tree::make_reloading(const Parts& first, PartsOpener again) {
  H5_ASSIGN(auto tree, SourceTree::make(first.environment, first.options, {}));
  return std::make_shared<ReloadingTree>(std::move(tree), std::move(again));
}

}  // namespace h5mount::tree
