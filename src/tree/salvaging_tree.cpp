// SalvagingTree: the tree of a file that is salvaged when something first needs it. Until then it is the tree
// of the file as it is; afterwards, if salvage shows more, nodes that are looked up are those of the salvaged
// file. Nodes known before keep their ids: a request that fails for such a node is answered by its twin, the
// node with the same path in the salvaged file's tree.
#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

#include "h5mount/base/thread_annotations.h"
#include "h5mount/tree/forwarding_tree.h"
#include "salvage_job.h"
#include "source_tree.h"

namespace h5mount::tree {
namespace {

constexpr NodeId kSalvagedNodes = NodeId{1} << 43;  // ids of the salvaged file's nodes are so far above
constexpr std::string_view kHiddenName = ".h5";
constexpr std::string_view kRemark = "user.hdf5.salvage";
constexpr std::string_view kLostAndFound = "lost+found";  // its name may have a number behind it

// A node of the file's own tree that the front end knows, with its place.
struct Known {
  std::shared_ptr<Known> parent;  // null: the root
  std::string name;
  std::uint64_t references = 0;
  NodeId twin = 0;  // of the salvaged tree, with one reference; 0: not looked up yet
};

// A listing of the salvaged file for a directory of the file's own tree.
class SalvagedListing final : public DirectoryListing {
 public:
  SalvagedListing(std::shared_ptr<SourceTree> of_tree, NodeId of_node,
                  std::shared_ptr<const DirectoryListing> listing)
      : tree(std::move(of_tree)), node(of_node), inner(std::move(listing)) {}

  std::size_t size() const override { return inner->size(); }
  Item at(std::size_t position, std::string& made) const override { return inner->at(position, made); }
  Item typed_at(std::size_t position, std::string& made) const override {
    return inner->typed_at(position, made);
  }
  const Error* damage() const override { return inner->damage(); }
  std::span<const LeftOut> left_out() const override { return inner->left_out(); }

  const std::shared_ptr<SourceTree> tree;
  const NodeId node;
  const std::shared_ptr<const DirectoryListing> inner;
};

class SalvagingTree final : public ForwardingTree<SourceTree>,
                            public std::enable_shared_from_this<SalvagingTree> {
 public:
  SalvagingTree(std::shared_ptr<SourceTree> own, const SourcePlace& place, SalvageJob::Make make,
                const object::FileSet& files)
      : ForwardingTree(own->counters()),
        own_(std::move(own)),
        place_(place),
        local_(!files.main()->followed->source()->far()),
        fills_(files.salvage_fills()),
        job_(std::move(make), files.main()->followed->source()->name(), own_->statfs().file_bytes) {}

  Result<Entry> lookup(NodeId parent, std::string_view name, RequestBudget& budget) override {
    const Where where = find(parent);
    if (!where.own) return where.tree->lookup(where.node, name, budget);
    if (job_.result() || is_about_all(parent, name) || name.starts_with(kLostAndFound))
      if (auto salvaged = salvaged_child(parent, name, budget)) return *std::move(salvaged);
    auto found = own_->lookup(parent, name, budget);
    if (is_damage(found ? own_->damage(found->node, budget) : why_missing(parent, found.error(), budget)))
      if (auto salvaged = salvaged_child(parent, name, budget)) {
        if (found) own_->forget(found->node, 1);
        return *std::move(salvaged);
      }
    if (found) return remembered(parent, name, *std::move(found));
    return found;
  }

  Result<Entry> lookup_listed(NodeId parent, const DirectoryListing& listing, std::size_t position,
                              FilesRead& read, RequestBudget& budget) override {
    if (const auto* salvaged = dynamic_cast<const SalvagedListing*>(&listing))
      return salvaged->tree->lookup_listed(salvaged->node, *salvaged->inner, position, read, budget);
    const Where where = find(parent);
    auto found = where.tree->lookup_listed(where.node, listing, position, read, budget);
    if (found && where.own) return remembered(parent, listing.name_at(position), *std::move(found));
    return found;
  }

  void forget(NodeId id, std::uint64_t count) override {
    const Where where = find(id);
    where.tree->forget(where.node, count);
    if (!where.own) return;
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
  // A listing of a damaged directory leaves out what cannot be read, so the twin's listing is used if there
  // is one.
  Result<std::shared_ptr<const DirectoryListing>> open_directory(NodeId id, RequestBudget& budget) override {
    const Where where = find(id);
    const auto twin = where.own ? salvaged_twin(id, budget) : std::nullopt;
    if (!twin) {
      H5_TRY(budget.check());
      return where.tree->open_directory(where.node, budget);
    }
    H5_ASSIGN(auto listing, twin->tree->open_directory(twin->node, budget));
    return std::make_shared<SalvagedListing>(twin->tree, twin->node, std::move(listing));
  }
  Result<std::shared_ptr<OpenNode>> open(NodeId id, RequestBudget& budget) override;
  Result<std::vector<std::string>> list_xattrs(NodeId id, RequestBudget& budget) override {
    return answered(id, budget, [&](Tree& tree, NodeId node) { return tree.list_xattrs(node, budget); });
  }
  Result<std::string> get_xattr(NodeId id, std::string_view name, RequestBudget& budget) override {
    const auto get = [&](Tree& tree, NodeId node) { return tree.get_xattr(node, name, budget); };
    return name == kRemark || job_.result() ? answered(id, budget, get) : tried(id, budget, get);
  }
  // Callers that use HDF5's own names get no nodes, and so no twins: everything they are shown is of one
  // file.
  Result<std::shared_ptr<const FileObject>> root_object(NodeId, RequestBudget& budget) override {
    return answered(place_.root, budget,
                    [&](Tree& tree, NodeId node) { return tree.root_object(node, budget); });
  }
  Result<std::shared_ptr<const FileObject>> object_of(NodeId id, RequestBudget& budget) override {
    return answered(id, budget, [&](Tree& tree, NodeId node) { return tree.object_of(node, budget); });
  }
  std::optional<Error> damage(NodeId id, RequestBudget& budget) override {
    const Where where = find(id);
    return where.tree->damage(where.node, budget);
  }
  void report(NodeId id, const Error& error) override {
    const Where where = find(id);
    where.tree->report(where.node, error);
  }
  Result<std::vector<NodeSource>> sources_of(NodeId id, RequestBudget& budget) override {
    return tried(id, budget, [&](Tree& tree, NodeId node) { return tree.sources_of(node, budget); });
  }
  FileStat statfs() const override { return own_->statfs(); }
  State state() override { return own_->state(); }
  bool others_current() override {
    const auto salvaged = job_.result();
    return own_->others_current() && (!salvaged || salvaged->others_current());
  }
  std::size_t known_nodes() override {
    const auto salvaged = job_.result();
    return own_->known_nodes() + (salvaged ? salvaged->known_nodes() : 0);
  }
  void retire() override {
    own_->retire();
    if (const auto salvaged = job_.result()) salvaged->retire();
  }

  // The mounted file is watched once, by its own tree.
  std::vector<std::string> watchable() const override {
    std::vector<std::string> out = own_->watchable();
    if (const auto salvaged = job_.result())
      for (const std::string& path : salvaged->watchable())
        if (std::ranges::find(out, path) == out.end()) out.push_back(path);
    return out;
  }
  void set_kernel(std::shared_ptr<KernelPages> kernel) override {
    own_->set_kernel(kernel);
    const MutexLock lock(mutex_);
    kernel_ = std::move(kernel);
    if (introduced_) introduced_->set_kernel(kernel_);
  }
  void when_more_to_watch(std::function<void()> notify) override {
    own_->when_more_to_watch(notify);
    const MutexLock lock(mutex_);
    notify_ = std::move(notify);
    if (introduced_) introduced_->when_more_to_watch(notify_);
  }
  void file_changed() override {
    own_->file_changed();
    if (const auto salvaged = job_.result()) salvaged->file_changed();
  }

  // Whether the salvaged file may give what failed with this error. It gives what a disk fails to give in the
  // place of a structure, and in the place of data only if it fills.
  bool is_damage(const std::optional<Error>& error) const {
    if (!error || is_about_bytes(error->code())) return error.has_value();
    return local_ && is_of_range(*error) && (fills_ || !error->structure().empty());
  }
  bool fills() const { return fills_; }

  struct Where {
    std::shared_ptr<SourceTree> tree;
    NodeId node = 0;
    bool own = false;  // of the file as it is
  };
  // The same node in the salvaged tree; nullopt if there is none.
  std::optional<Where> salvaged_twin(NodeId id, RequestBudget& budget) {
    const auto unchanged = own_->stat(place_.root, StatDepth::Listing, budget);
    if (!unchanged && unchanged.error().code() == ErrorCode::Stale) return std::nullopt;
    const auto salvaged = job_.wait(budget);
    if (!salvaged || !*salvaged) return std::nullopt;
    introduce(*salvaged);
    const NodeId twin = twin_of(id, **salvaged, budget);
    return twin == 0 ? std::nullopt : std::optional(Where{*salvaged, twin, false});
  }

 private:
  Where find(NodeId id) const {
    if (id > place_.below + kSalvagedNodes)
      if (auto salvaged = job_.result()) return {std::move(salvaged), id, false};
    return {own_, id, true};
  }

  Result<Target> target_of(NodeId id, RequestBudget&) override { return Target{find(id).tree, id}; }

  // Asks the node itself first, if possible.
  template <class Ask>
  auto tried(NodeId id, RequestBudget& budget, Ask ask) -> decltype(ask(std::declval<Tree&>(), id)) {
    const Where where = find(id);
    auto answer = ask(*where.tree, where.node);
    if (answer || !where.own || !is_damage(answer.error())) return answer;
    const auto twin = salvaged_twin(id, budget);
    if (!twin) return answer;
    auto better = ask(*twin->tree, twin->node);
    return better ? better : answer;
  }
  // Asks the node's twin if there is one.
  template <class Ask>
  auto answered(NodeId id, RequestBudget& budget, Ask ask) -> decltype(ask(std::declval<Tree&>(), id)) {
    const Where where = find(id);
    if (!where.own) return ask(*where.tree, where.node);
    if (const auto twin = salvaged_twin(id, budget)) return ask(*twin->tree, twin->node);
    H5_TRY(budget.check());
    return ask(*own_, id);
  }

  // The entry in the salvaged tree; nullopt if it is not there, or cannot be shown.
  std::optional<Result<Entry>> salvaged_child(NodeId parent, std::string_view name, RequestBudget& budget) {
    const auto twin = salvaged_twin(parent, budget);
    if (!twin) return std::nullopt;
    auto found = twin->tree->lookup(twin->node, name, budget);
    if (!found && !is_passing(found.error())) return std::nullopt;
    return found;
  }

  // An entry that is not found may have been lost by damage.
  std::optional<Error> why_missing(NodeId parent, const Error& error, RequestBudget& budget) {
    return error.code() == ErrorCode::NotFound ? own_->damage(parent, budget) : std::optional(error);
  }

  // Whether the entry of /.h5 is about the whole file; the mount's own texts are not.
  bool is_about_all(NodeId parent, std::string_view name) const {
    if (name == "status" || name == "log" || name == "README") return false;
    const MutexLock lock(mutex_);
    const auto known = known_.find(parent);
    return known != known_.end() && known->second->parent == nullptr && known->second->name == kHiddenName;
  }

  Entry remembered(NodeId parent, std::string_view name, Entry entry) {
    const MutexLock lock(mutex_);
    std::shared_ptr<Known>& known = known_[entry.node];
    if (!known) {
      known = std::make_shared<Known>();
      const auto above = known_.find(parent);
      if (parent != place_.root && above != known_.end()) known->parent = above->second;
      known->name = name;
    }
    ++known->references;
    return entry;
  }

  NodeId twin_of(NodeId id, SourceTree& salvaged, RequestBudget& budget) {
    if (id == place_.root) return id;
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
    NodeId at = place_.root;
    for (auto name = path.rbegin(); name != path.rend(); ++name) {
      const auto next = salvaged.lookup(at, *name, budget);
      if (at != place_.root) salvaged.forget(at, 1);
      if (!next) return 0;
      at = next->node;
    }
    if (at == place_.root) return 0;
    NodeId kept = 0;
    {
      const MutexLock lock(mutex_);
      if (known->twin == 0 && known->references > 0) return known->twin = at;
      kept = known->twin;
    }
    salvaged.forget(at, 1);
    return kept;
  }

  void introduce(const std::shared_ptr<SourceTree>& salvaged) {
    const MutexLock lock(mutex_);
    if (introduced_) return;
    introduced_ = salvaged;
    salvaged->set_kernel(kernel_);
    salvaged->when_more_to_watch(notify_);
  }

  const std::shared_ptr<SourceTree> own_;
  const SourcePlace place_;
  const bool local_, fills_;
  mutable Mutex mutex_;
  std::unordered_map<NodeId, std::shared_ptr<Known>> known_ H5_GUARDED_BY(mutex_);
  std::shared_ptr<KernelPages> kernel_ H5_GUARDED_BY(mutex_);
  std::function<void()> notify_ H5_GUARDED_BY(mutex_);
  std::shared_ptr<SourceTree> introduced_ H5_GUARDED_BY(mutex_);  // the salvaged tree, which knows these
  SalvageJob job_;
};

// An open file of the file's own tree. If a part of it cannot be read, that part is read from its twin.
class SalvagingNode final : public OpenNode {
 public:
  // `twin`: null if it is not open yet.
  SalvagingNode(std::shared_ptr<OpenNode> own, std::weak_ptr<SalvagingTree> tree, NodeId node,
                std::shared_ptr<OpenNode> twin)
      : own_(std::move(own)), tree_(std::move(tree)), node_(node), twin_(std::move(twin)) {}

  bool keeps_pages() const override { return own_->keeps_pages(); }
  bool direct() const override { return own_->direct() || lacks_bytes(); }
  bool lacks_bytes() const override {
    const MutexLock lock(mutex_);
    return twin_ && twin_->lacks_bytes();
  }
  Status read(std::uint64_t offset, std::uint64_t length, dataset::Pieces& out,
              RequestBudget& budget) override {
    dataset::Pieces own;
    const auto tree = tree_.lock();
    Status done = own_->read(offset, length, own, budget);
    if (done && tree && tree->fills()) done = hold(own);
    if (done) {
      out.append(std::move(own));
      return done;
    }
    const auto twin = tree && tree->is_damage(done.error()) ? opened_twin(budget) : nullptr;
    return twin ? twin->read(offset, length, out, budget) : done;
  }
  Status revalidate() override { return own_->revalidate(); }
  std::optional<dataset::StoredRun> stored_run(std::uint64_t offset) const override {
    const auto tree = tree_.lock();
    return tree && tree->fills() ? std::nullopt : own_->stored_run(offset);
  }
  std::optional<FixedImage> fixed_image() const override { return own_->fixed_image(); }
  Result<std::uint64_t> seek_data(std::uint64_t offset, RequestBudget& budget) override {
    return own_->seek_data(offset, budget);
  }
  Result<std::uint64_t> seek_hole(std::uint64_t offset, RequestBudget& budget) override {
    return own_->seek_hole(offset, budget);
  }

 private:
  // Copies what the kernel would read only when it sends it, so that a failure is met here.
  static Status hold(dataset::Pieces& pieces) {
    if (!pieces.kernel_only()) return {};
    const auto copy = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(pieces.total()));
    H5_TRY(dataset::copy_pieces(pieces.list(), *copy));
    pieces = {};
    pieces.add(*copy, copy);
    return {};
  }

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
  mutable Mutex mutex_;
  std::shared_ptr<OpenNode> twin_ H5_GUARDED_BY(mutex_);
};

Result<std::shared_ptr<OpenNode>> SalvagingTree::open(NodeId id, RequestBudget& budget) {
  const Where where = find(id);
  if (!where.own) return where.tree->open(where.node, budget);
  auto opened = own_->open(id, budget);
  if (opened) {
    // Once the file is salvaged, the twin tells whether bytes are lost.
    const auto twin = job_.result() ? salvaged_twin(id, budget) : std::nullopt;
    std::shared_ptr<OpenNode> beside;
    if (twin)
      if (auto salvaged = twin->tree->open(twin->node, budget)) beside = *std::move(salvaged);
    return std::make_shared<SalvagingNode>(*std::move(opened), weak_from_this(), id, std::move(beside));
  }
  if (!is_damage(opened.error())) return opened;
  const auto twin = salvaged_twin(id, budget);
  return twin ? twin->tree->open(twin->node, budget) : opened;
}

}  // namespace

Result<std::shared_ptr<SourceTree>> make_salvaging_tree(const dataset::ReadEnvironment& environment,
                                                        const TreeOptions& options,
                                                        const SourcePlace& place) {
  H5_ASSIGN(auto own, make_file_tree(environment, options, place));
  SourcePlace beside = place;
  beside.below += kSalvagedNodes;
  const auto make = [environment, options,
                     beside](const std::function<bool()>& go_on) -> Result<std::shared_ptr<SourceTree>> {
    dataset::ReadEnvironment salvaged = environment;
    H5_ASSIGN(salvaged.files, environment.files->salvaged(go_on));
    if (!salvaged.files) return nullptr;
    return make_file_tree(salvaged, options, beside);
  };
  return std::make_shared<SalvagingTree>(std::move(own), place, make, *environment.files);
}

}  // namespace h5mount::tree
