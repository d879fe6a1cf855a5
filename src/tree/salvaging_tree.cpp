// SalvagingTree: the tree of a file that is salvaged when something first needs it. Until then it is the tree
// of the file as it is; afterwards, where salvage shows more, nodes that are looked up are those of the
// salvaged file. Nodes known before keep their ids: what fails for one of them is answered by the node that
// has the same path in the other tree, its twin.
#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <thread>
#include <unordered_map>
#include <utility>

#include "h5mount/base/log.h"
#include "h5mount/base/long_work.h"
#include "h5mount/base/thread.h"
#include "h5mount/base/thread_annotations.h"
#include "source_tree.h"

namespace h5mount::tree {
namespace {

constexpr NodeId kSalvagedNodes = NodeId{1} << 44;  // ids of the salvaged file's nodes are above
constexpr std::chrono::milliseconds kAskEvery{50};  // whether a request still waits
constexpr std::string_view kHiddenName = ".h5";
constexpr std::string_view kRemark = "user.hdf5.salvage";

// Whether salvage may give what could not be read.
bool may_be_damage(const Error& error) {
  switch (error.code()) {
    case ErrorCode::Interrupted:
    case ErrorCode::TimedOut:
    case ErrorCode::BudgetExceeded:
    case ErrorCode::NotFound:
    case ErrorCode::AccessDenied:
    case ErrorCode::Stale:
    case ErrorCode::Io:
      return false;
    default:
      return true;
  }
}

// Whether salvaging that failed like that may succeed later.
bool may_pass(const Error& error) {
  const ErrorCode code = error.code();
  return code == ErrorCode::Interrupted || code == ErrorCode::Io || code == ErrorCode::AccessDenied ||
         code == ErrorCode::Stale;
}

// The salvaging itself, in a thread of its own while requests wait for it.
class SalvageJob {
 public:
  SalvageJob(Tree::Salvage salvage, std::uint64_t file_bytes)
      : salvage_(std::move(salvage)), file_bytes_(file_bytes) {}
  ~SalvageJob() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  SalvageJob(const SalvageJob&) = delete;
  SalvageJob& operator=(const SalvageJob&) = delete;

  // The salvaged file's tree; null where it shows no more than the file itself, or cannot be made. An error
  // is the request's, or one of salvaging that may pass: then the next request tries again.
  Result<std::shared_ptr<SourceTree>> wait(RequestBudget& budget) {
    budget.allow_more(file_bytes_);
    MutexLock lock(mutex_);
    if (!done_) {
      lock.unlock();
      note_long_work();
      lock.lock();
    }
    ++waiting_;
    Status still = {};
    while (!done_ && still) {
      if (!running_) begin();
      changed_.wait_for(lock, kAskEvery);
      lock.unlock();
      still = budget.check();
      lock.lock();
      if (error_) still = fail(*error_);
    }
    // It ends with the last request that waits for it, but not because that has waited long.
    const bool gone = !still && still.error().code() == ErrorCode::Interrupted;
    if (--waiting_ == 0) {
      if (!done_ && gone) stop_ = true;
      error_.reset();
    }
    if (!done_) return fail(still.error());
    return tree_;
  }
  // The salvaged file's tree where there is one already.
  std::shared_ptr<SourceTree> result() const {
    const MutexLock lock(mutex_);
    return tree_;
  }

 private:
  void begin() H5_REQUIRES(mutex_) {
    if (thread_.joinable()) thread_.join();  // it has ended but for its last instruction
    stop_ = false;
    thread_ = start_thread("h5-salvage", [this] { work(); });
    running_ = true;
  }

  void work() {
    Result<std::shared_ptr<SourceTree>> made = fail(Error(ErrorCode::Internal, "salvage ended"));
    try {
      made = make();
    } catch (const std::exception& error) {
      made = fail(Error(ErrorCode::Internal, error.what()));
    }
    const bool again = !made && may_pass(made.error());
    if (!made && !again) log(LogLevel::Warning, "the file cannot be salvaged: {}", made.error().text());
    const MutexLock lock(mutex_);
    running_ = false;
    done_ = !again;
    if (made) tree_ = *std::move(made);
    if (again && !stop_) error_ = made.error();
    changed_.notify_all();
  }

  Result<std::shared_ptr<SourceTree>> make() {
    H5_ASSIGN(const auto source, salvage_([this] { return !stop_; }));
    if (!source) return nullptr;
    return SourceTree::make(source->environment, source->options, {.below = kSalvagedNodes});
  }

  const Tree::Salvage salvage_;
  const std::uint64_t file_bytes_;
  std::atomic<bool> stop_ = false;
  mutable Mutex mutex_;
  Condition changed_;
  bool running_ H5_GUARDED_BY(mutex_) = false;
  bool done_ H5_GUARDED_BY(mutex_) = false;
  std::size_t waiting_ H5_GUARDED_BY(mutex_) = 0;
  std::optional<Error> error_ H5_GUARDED_BY(mutex_);
  std::shared_ptr<SourceTree> tree_ H5_GUARDED_BY(mutex_);
  std::thread thread_;
};

// A node of the file's own tree that the front end knows, with its place.
struct Known {
  std::shared_ptr<Known> parent;  // null: the root
  std::string name;
  std::uint64_t references = 0;
  NodeId twin = 0;  // of the salvaged tree, with one reference; 0: not looked up yet
};

class SalvagingTree final : public Tree, public std::enable_shared_from_this<SalvagingTree> {
 public:
  SalvagingTree(std::shared_ptr<SourceTree> own, Salvage salvage)
      : Tree(own->counters()), own_(std::move(own)), job_(std::move(salvage), own_->statfs().file_bytes) {}

  Result<Entry> lookup(NodeId parent, std::string_view name, RequestBudget& budget) override {
    const Where where = find(parent);
    if (!where.own) return where.tree->lookup(where.node, name, budget);
    if (is_about_all(parent, name))
      if (const auto twin = salvaged_twin(parent, budget))
        return twin->tree->lookup(twin->node, name, budget);
    auto found = own_->lookup(parent, name, budget);
    if (found) return remembered(parent, name, *std::move(found));
    if (!may_be_damage(found.error()) && !is_lost_and_found(parent, name)) return found;
    const auto twin = salvaged_twin(parent, budget);
    if (!twin) return found;
    auto salvaged = twin->tree->lookup(twin->node, name, budget);
    return salvaged ? salvaged : found;
  }

  Result<Entry> lookup_listed(NodeId parent, const DirectoryListing& listing, std::size_t position,
                              FilesRead& read, RequestBudget& budget) override {
    const Where where = find(parent);
    if (where.own && !job_.result()) {
      auto found = own_->lookup_listed(parent, listing, position, read, budget);
      if (found) return remembered(parent, listing.name_at(position), *std::move(found));
      return found;
    }
    return answered(parent, budget, [&](Tree& tree, NodeId node) {
      return tree.lookup_listed(node, listing, position, read, budget);
    });
  }

  void forget(NodeId id, std::uint64_t count) override {
    if (const auto salvaged = job_.result(); id > kSalvagedNodes) {
      if (salvaged) salvaged->forget(id, count);
      return;
    }
    own_->forget(id, count);
    NodeId twin = 0;
    {
      const MutexLock lock(mutex_);
      const auto known = known_.find(id);
      if (known == known_.end()) return;
      known->second->references -= std::min(known->second->references, count);
      if (known->second->references > 0) return;
      twin = std::exchange(known->second->twin, 0);
      known_.erase(known);
    }
    if (twin != 0)
      if (const auto salvaged = job_.result()) salvaged->forget(twin, 1);
  }

  Result<NodeStat> stat(NodeId id, StatDepth depth, RequestBudget& budget) override {
    return tried(id, budget, [&](Tree& tree, NodeId node) { return tree.stat(node, depth, budget); });
  }
  Result<std::string> readlink(NodeId id) override {
    const Where where = find(id);
    return where.tree->readlink(where.node);
  }
  // A listing leaves out what cannot be read.
  Result<std::shared_ptr<const DirectoryListing>> open_directory(NodeId id, RequestBudget& budget) override {
    return answered(id, budget, [&](Tree& tree, NodeId node) { return tree.open_directory(node, budget); });
  }
  Result<std::shared_ptr<OpenNode>> open(NodeId id, RequestBudget& budget) override;
  Result<std::vector<std::string>> list_xattrs(NodeId id, RequestBudget& budget) override {
    return answered(id, budget, [&](Tree& tree, NodeId node) { return tree.list_xattrs(node, budget); });
  }
  Result<std::string> get_xattr(NodeId id, std::string_view name, RequestBudget& budget) override {
    const auto get = [&](Tree& tree, NodeId node) { return tree.get_xattr(node, name, budget); };
    return name == kRemark || job_.result() ? answered(id, budget, get) : tried(id, budget, get);
  }
  void report(NodeId id, const Error& error) override {
    const Where where = find(id);
    where.tree->report(where.node, error);
  }
  bool follows(NodeId id) override {
    const Where where = find(id);
    return where.tree->follows(where.node);
  }
  bool lasts(NodeId id) override {
    const Where where = find(id);
    return where.tree->lasts(where.node);
  }
  Result<std::vector<NodeSource>> sources_of(NodeId id, RequestBudget& budget) override {
    return tried(id, budget, [&](Tree& tree, NodeId node) { return tree.sources_of(node, budget); });
  }
  std::string_view media_type(NodeId id) override {
    const Where where = find(id);
    return where.tree->media_type(where.node);
  }
  std::vector<std::string> watchable() const override { return own_->watchable(); }
  FileStat statfs() const override { return own_->statfs(); }
  std::shared_ptr<void> pin() override { return own_->pin(); }

  void set_kernel(std::shared_ptr<KernelPages> kernel) override {
    own_->set_kernel(kernel);
    const MutexLock lock(mutex_);
    kernel_ = std::move(kernel);
  }
  void when_more_to_watch(std::function<void()> notify) override {
    own_->when_more_to_watch(std::move(notify));
  }
  void file_changed() override {
    own_->file_changed();
    if (const auto salvaged = job_.result()) salvaged->file_changed();
  }

  struct Where {
    std::shared_ptr<SourceTree> tree;
    NodeId node = 0;
    bool own = false;  // of the file as it is
  };
  // The same node in the salvaged tree; nothing where there is none.
  std::optional<Where> salvaged_twin(NodeId id, RequestBudget& budget) {
    const auto salvaged = job_.wait(budget);
    if (!salvaged || !*salvaged) return std::nullopt;
    give_kernel(*salvaged);
    const NodeId twin = twin_of(id, **salvaged, budget);
    return twin == 0 ? std::nullopt : std::optional(Where{*salvaged, twin, false});
  }

 private:
  Where find(NodeId id) const {
    if (id > kSalvagedNodes)
      if (auto salvaged = job_.result()) return {std::move(salvaged), id, false};
    return {own_, id, true};
  }

  // By the node itself where it can be.
  template <class Ask>
  auto tried(NodeId id, RequestBudget& budget, Ask ask) -> decltype(ask(std::declval<Tree&>(), id)) {
    const Where where = find(id);
    auto answer = ask(*where.tree, where.node);
    if (answer || !where.own || !may_be_damage(answer.error())) return answer;
    const auto twin = salvaged_twin(id, budget);
    if (!twin) return answer;
    auto better = ask(*twin->tree, twin->node);
    return better ? better : answer;
  }
  // By its twin where there is one.
  template <class Ask>
  auto answered(NodeId id, RequestBudget& budget, Ask ask) -> decltype(ask(std::declval<Tree&>(), id)) {
    const Where where = find(id);
    if (!where.own) return ask(*where.tree, where.node);
    if (const auto twin = salvaged_twin(id, budget)) return ask(*twin->tree, twin->node);
    H5_TRY(budget.check());
    return ask(*own_, id);
  }

  // What /.h5 has of the whole file, but for the mount's own texts.
  bool is_about_all(NodeId parent, std::string_view name) const {
    if (name == "status" || name == "log" || name == "README") return false;
    const MutexLock lock(mutex_);
    const auto known = known_.find(parent);
    return known != known_.end() && known->second->parent == nullptr && known->second->name == kHiddenName;
  }
  static bool is_lost_and_found(NodeId parent, std::string_view name) {
    return parent == kRootNode && name.starts_with("lost+found");
  }

  Entry remembered(NodeId parent, std::string_view name, Entry entry) {
    const MutexLock lock(mutex_);
    std::shared_ptr<Known>& known = known_[entry.node];
    if (!known) {
      known = std::make_shared<Known>();
      const auto above = known_.find(parent);
      if (parent != kRootNode && above != known_.end()) known->parent = above->second;
      known->name = name;
    }
    ++known->references;
    return entry;
  }

  NodeId twin_of(NodeId id, SourceTree& salvaged, RequestBudget& budget) {
    if (id == kRootNode) return kRootNode;
    std::vector<std::string> path;
    std::shared_ptr<Known> known;
    {
      const MutexLock lock(mutex_);
      const auto found = known_.find(id);
      if (found == known_.end()) return 0;
      known = found->second;
      if (known->twin != 0) return known->twin;
      for (const Known* one = known.get(); one != nullptr; one = one->parent.get()) path.push_back(one->name);
    }
    NodeId at = kRootNode;
    for (auto name = path.rbegin(); name != path.rend(); ++name) {
      const auto next = salvaged.lookup(at, *name, budget);
      if (at != kRootNode) salvaged.forget(at, 1);
      if (!next) return 0;
      at = next->node;
    }
    const MutexLock lock(mutex_);
    if (known->twin == 0 && known->references > 0) {
      known->twin = at;
      return at;
    }
    salvaged.forget(at, 1);
    return known->twin;
  }

  void give_kernel(const std::shared_ptr<SourceTree>& salvaged) {
    const MutexLock lock(mutex_);
    if (kernel_) salvaged->set_kernel(std::exchange(kernel_, nullptr));
  }

  const std::shared_ptr<SourceTree> own_;
  mutable Mutex mutex_;
  std::unordered_map<NodeId, std::shared_ptr<Known>> known_ H5_GUARDED_BY(mutex_);
  std::shared_ptr<KernelPages> kernel_ H5_GUARDED_BY(mutex_);  // until the salvaged tree has it
  SalvageJob job_;
};

// An open file of the file's own tree. What cannot be read of it is read from its twin.
class SalvagingNode final : public OpenNode {
 public:
  SalvagingNode(std::shared_ptr<OpenNode> own, std::weak_ptr<SalvagingTree> tree, NodeId node)
      : own_(std::move(own)), tree_(std::move(tree)), node_(node) {}

  bool keeps_pages() const override { return own_->keeps_pages(); }
  bool direct() const override { return own_->direct(); }
  Status read(std::uint64_t offset, std::uint64_t length, dataset::Pieces& out,
              RequestBudget& budget) override {
    dataset::Pieces own;
    Status done = own_->read(offset, length, own, budget);
    if (done) {
      out.append(std::move(own));
      return done;
    }
    const auto twin = may_be_damage(done.error()) ? opened_twin(budget) : nullptr;
    return twin ? twin->read(offset, length, out, budget) : done;
  }
  Status revalidate() override { return own_->revalidate(); }
  std::optional<FixedImage> fixed_image() const override { return own_->fixed_image(); }
  Result<std::uint64_t> seek_data(std::uint64_t offset, RequestBudget& budget) override {
    return own_->seek_data(offset, budget);
  }
  Result<std::uint64_t> seek_hole(std::uint64_t offset, RequestBudget& budget) override {
    return own_->seek_hole(offset, budget);
  }

 private:
  std::shared_ptr<OpenNode> opened_twin(RequestBudget& budget) {
    {
      const MutexLock lock(mutex_);
      if (twin_) return twin_;
    }
    const auto tree = tree_.lock();
    const auto place = tree ? tree->salvaged_twin(node_, budget) : std::nullopt;
    if (!place) return nullptr;
    auto opened = place->tree->open(place->node, budget);
    if (!opened) return nullptr;
    const MutexLock lock(mutex_);
    if (!twin_) twin_ = *std::move(opened);
    return twin_;
  }

  const std::shared_ptr<OpenNode> own_;
  const std::weak_ptr<SalvagingTree> tree_;
  const NodeId node_;
  Mutex mutex_;
  std::shared_ptr<OpenNode> twin_ H5_GUARDED_BY(mutex_);
};

Result<std::shared_ptr<OpenNode>> SalvagingTree::open(NodeId id, RequestBudget& budget) {
  const Where where = find(id);
  if (!where.own) return where.tree->open(where.node, budget);
  auto opened = own_->open(id, budget);
  if (opened) return std::make_shared<SalvagingNode>(*std::move(opened), weak_from_this(), id);
  if (!may_be_damage(opened.error())) return opened;
  const auto twin = salvaged_twin(id, budget);
  return twin ? twin->tree->open(twin->node, budget) : opened;
}

}  // namespace

Result<std::shared_ptr<Tree>> Tree::make_salvaging(const Source& own, Salvage salvage) {
  H5_ASSIGN(auto tree, SourceTree::make(own.environment, own.options, {}));
  return std::make_shared<SalvagingTree>(std::move(tree), std::move(salvage));
}

}  // namespace h5mount::tree
