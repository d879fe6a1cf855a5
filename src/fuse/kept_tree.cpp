#include "kept_tree.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "h5mount/base/log.h"
#include "h5mount/base/long_work.h"

namespace h5mount::fuse {
namespace {

constexpr std::size_t kMaxNames = 65536;  // that lead to a node
constexpr tree::NodeId kNobody = ~tree::NodeId{0};

Error unknown_node() {
  return {ErrorCode::Stale, "a node that is not known"};
}

// References counted by lookups on the way to a node.
struct References {
  explicit References(tree::Tree& from) : owner(from) {}
  ~References() {
    for (const tree::NodeId node : nodes) owner.forget(node, 1);
  }
  References(const References&) = delete;
  References& operator=(const References&) = delete;

  tree::Tree& owner;
  std::vector<tree::NodeId> nodes;
};

std::uint64_t mixed(std::uint64_t sum, std::uint64_t part) {
  sum = (sum ^ part) * 0x9E37'79B9'7F4A'7C15U;
  return sum ^ sum >> 32;
}

// The version of the files at these paths now: different for different bytes. 0 if there are no sources. A
// file system that hangs holds up whoever looks at a file.
std::uint64_t version_of(const std::vector<tree::NodeSource>& sources) {
  if (sources.empty()) return 0;
  note_long_work();
  std::uint64_t out = 1;
  for (const tree::NodeSource& source : sources) {
    struct stat file = {};
    if (source.file.empty() || ::stat(source.file.c_str(), &file) != 0) continue;
    constexpr std::uint64_t kNanoseconds = 1'000'000'000;
    const auto mtime = static_cast<std::uint64_t>(file.st_mtim.tv_sec) * kNanoseconds +
                       static_cast<std::uint64_t>(file.st_mtim.tv_nsec);
    for (const std::uint64_t part : {std::uint64_t{file.st_dev}, std::uint64_t{file.st_ino},
                                     static_cast<std::uint64_t>(file.st_size), mtime})
      out = mixed(out, part);
  }
  return std::max<std::uint64_t>(out, 1);
}

std::shared_ptr<Counters> counters_of(const std::shared_ptr<tree::Tree>& inner) {
  return inner ? inner->counters() : std::make_shared<Counters>();
}

}  // namespace

// The tree invalidates by its own ids; this translates them into the kernel's.
class KeptTree::Kernel final : public tree::KernelPages {
 public:
  Kernel(std::shared_ptr<tree::KernelPages> real, const KeptNodes& nodes)
      : real_(std::move(real)), nodes_(nodes) {}

  void invalidate(tree::NodeId node, const std::vector<dataset::ByteRange>& ranges,
                  std::function<void()> done) override {
    real_->invalidate(nodes_.id_of(node).value_or(kNobody), ranges, std::move(done));
  }
  void invalidate_name(tree::NodeId directory, const std::string& name) override {
    if (const auto id = nodes_.id_of(directory)) real_->invalidate_name(*id, name);
  }
  bool store(tree::NodeId node, std::uint64_t offset, const dataset::Pieces& pieces) override {
    const auto id = nodes_.id_of(node);
    return id && real_->store(*id, offset, pieces);
  }

 private:
  const std::shared_ptr<tree::KernelPages> real_;
  const KeptNodes& nodes_;
};

KeptTree::KeptTree(std::shared_ptr<tree::Tree> inner, KeptNodes& nodes, bool goes_on)
    : Tree(counters_of(inner)), inner_(std::move(inner)), nodes_(nodes), outdated_(goes_on) {
  RequestBudget budget;
  (void)check_root(budget);  // if it fails for a moment, the first request checks again
}

// ---- nodes of an earlier server

Status KeptTree::check_root(RequestBudget& budget) {
  if (!inner_ || checked_) return {};
  const auto now = inner_->stat(tree::kRootNode, tree::StatDepth::Listing, budget);
  const auto sources = inner_->sources_of(tree::kRootNode, budget);
  // A directory has no version of its own: its entries are checked.
  const bool one = sources && sources->size() == 1 && sources->front().own;
  const std::uint64_t version =
      one && now ? mixed(version_of(*sources), static_cast<std::uint64_t>(now->mtime)) : 0;
  if (!now && is_momentary(now.error())) return fail(now.error());
  if (!sources && is_momentary(sources.error())) return fail(sources.error());
  usable_ = now && (nodes_.same_root(*now, version) || inner_->reloads());
  if (now && usable_) nodes_.note_root(*now, version);
  if (!usable_)
    log(LogLevel::Error, "the file has changed since an earlier server opened it: all of it is ESTALE");
  checked_ = true;
  return {};
}

Result<tree::NodeId> KeptTree::inner_id(tree::NodeId id, RequestBudget& budget) {
  H5_TRY(check_root(budget));
  if (!usable_) return fail({ErrorCode::Stale, "the file was replaced or rewritten while no server ran"});
  if (const auto found = nodes_.found(id)) return *found;
  return find_again(id, budget);
}

Result<tree::NodeId> KeptTree::find_again(tree::NodeId id, RequestBudget& budget) {
  std::vector<std::pair<tree::NodeId, KeptNodes::Record>> way;
  auto found = nodes_.found(id);
  for (tree::NodeId at = id; !found; found = nodes_.found(at)) {
    auto record = nodes_.record(at);
    if (!record || way.size() == kMaxNames) return fail(unknown_node());
    way.emplace_back(at, *std::move(record));
    at = way.back().second.parent;
  }
  References on_the_way(*inner_);
  tree::NodeId out = *found;
  for (; !way.empty(); way.pop_back()) {
    H5_ASSIGN(const tree::Entry entry, look_up_again(out, way.back().second, budget));
    out = entry.node;
    if (!nodes_.resolve(way.back().first, out)) on_the_way.nodes.push_back(out);
  }
  return out;
}

Result<tree::Entry> KeptTree::look_up_again(tree::NodeId parent, const KeptNodes::Record& record,
                                            RequestBudget& budget) {
  auto found = inner_->lookup(parent, record.name, budget);
  if (!found && found.error().code() == ErrorCode::NotFound)
    return fail({ErrorCode::Stale, "what was there when an earlier server ran is not there any more"});
  if (!found) return found;
  const tree::NodeStat& now = found->stat;
  const bool rewritten =
      now.type == tree::NodeType::File && now.mtime != record.mtime && inner_->lasts(found->node);
  if (now.ino == record.ino && (!rewritten || record.follows || now.follows)) return found;
  inner_->forget(found->node, 1);
  return fail({ErrorCode::Stale, "it was replaced or rewritten while no server ran"});
}

KeptTree::State KeptTree::look_for_change(tree::NodeId id, std::unordered_map<tree::NodeId, State>& seen) {
  std::vector<tree::NodeId> way;
  for (tree::NodeId at = id; !seen.contains(at);) {
    const auto record = nodes_.record(at);
    if (!record || way.size() == kMaxNames) {
      seen[at] = {Outdated::All, 0};
      break;
    }
    way.push_back(at);
    at = record->parent;
  }
  for (; !way.empty(); way.pop_back()) seen[way.back()] = state_of(way.back(), seen);
  return seen[id];
}

// What a directory contains is outdated if the directory is.
KeptTree::State KeptTree::state_of(tree::NodeId id, const std::unordered_map<tree::NodeId, State>& seen) {
  const auto record = nodes_.record(id);
  const auto above = record ? seen.find(record->parent) : seen.end();
  if (above == seen.end()) return {Outdated::No, 0};  // forgotten meanwhile
  const State parent = above->second;
  State out{parent.outdated, record->mtime};
  if (parent.outdated == Outdated::All) return out;
  if (record->others || record->follows) out.outdated = Outdated::Pages;
  if (out.mtime == parent.mtime) return out;
  RequestBudget budget;
  const auto found = inner_id(id, budget);
  const auto now = found ? inner_->stat(*found, tree::StatDepth::Listing, budget)
                         : Result<tree::NodeStat>(fail(found.error()));
  const bool stale = !now && now.error().code() == ErrorCode::Stale;
  if (stale || (now && now->mtime != record->mtime)) out.outdated = Outdated::All;
  if (now && now->follows) out.outdated = Outdated::Pages;
  return out;
}

void KeptTree::drop_outdated() {
  const std::vector<dataset::ByteRange> everything{{0, format::kUnlimited}};
  std::unordered_map<tree::NodeId, State> seen;
  RequestBudget budget;
  (void)check_root(budget);
  const bool root_follows = usable_ && (nodes_.root_follows() || inner_->follows(tree::kRootNode));
  const Outdated root = !usable_ ? Outdated::All : root_follows ? Outdated::Pages : Outdated::No;
  const auto now = usable_ ? inner_->stat(tree::kRootNode, tree::StatDepth::Listing, budget)
                           : Result<tree::NodeStat>(tree::NodeStat{});
  seen[tree::kRootNode] = {root, now ? now->mtime : 0};
  std::vector<KeptNodes::Record> names;
  for (const tree::NodeId id : nodes_.ids()) {
    if (stopping_) break;
    const State state = look_for_change(id, seen);
    if (state.outdated == Outdated::No) continue;
    kernel_->invalidate(id, everything, nullptr);
    auto record = state.outdated == Outdated::All ? nodes_.record(id) : std::nullopt;
    if (record) names.push_back(*std::move(record));
  }
  // The last order for pages. Names follow it: the kernel may delay those for a lookup that waits for this
  // order.
  kernel_->invalidate(root != Outdated::No ? tree::kRootNode : kNobody, everything,
                      [this] { note_dropped(); });
  for (const KeptNodes::Record& name : names) kernel_->invalidate_name(name.parent, name.name);
}

void KeptTree::note_dropped() {
  const MutexLock lock(mutex_);
  outdated_ = false;
  dropped_.notify_all();
}

// Waits no longer than a client would wait for a slow disk: the kernel may wait for a read that hangs.
void KeptTree::await_dropped(const tree::NodeStat& stat) {
  constexpr std::chrono::seconds kMax{5};
  if (!stat.follows) return;
  MutexLock lock(mutex_);
  if (!outdated_) return;
  lock.unlock();
  note_long_work();
  lock.lock();
  const auto end = std::chrono::steady_clock::now() + kMax;
  while (outdated_ && dropped_.wait_until(lock, end)) {
  }
}

tree::Entry KeptTree::adopted(const tree::Entry& found, tree::NodeId parent, std::string_view name) {
  try {
    return {nodes_.adopt(found, parent, name), found.stat};
  } catch (...) {
    inner_->forget(found.node, 1);
    throw;
  }
}

// ---- the tree

std::shared_ptr<void> KeptTree::pin() {
  return inner_ ? inner_->pin() : nullptr;
}

bool KeptTree::reloads() const {
  return inner_ && inner_->reloads();
}

Result<tree::Entry> KeptTree::lookup(tree::NodeId parent, std::string_view name, RequestBudget& budget) {
  H5_ASSIGN(const tree::NodeId directory, inner_id(parent, budget));
  H5_ASSIGN(const tree::Entry found, inner_->lookup(directory, name, budget));
  await_dropped(found.stat);
  return adopted(found, parent, name);
}

void KeptTree::forget(tree::NodeId node, std::uint64_t count) {
  const KeptNodes::Dropped dropped = nodes_.forget(node, count);
  if (inner_ && dropped.count > 0) inner_->forget(dropped.node, dropped.count);
}

Result<tree::NodeStat> KeptTree::stat(tree::NodeId node, tree::StatDepth depth, RequestBudget& budget) {
  H5_ASSIGN(const tree::NodeId found, inner_id(node, budget));
  H5_ASSIGN(const tree::NodeStat out, inner_->stat(found, depth, budget));
  await_dropped(out);
  return out;
}

Result<std::string> KeptTree::readlink(tree::NodeId node) {
  RequestBudget budget;
  H5_ASSIGN(const tree::NodeId found, inner_id(node, budget));
  return inner_->readlink(found);
}

Result<std::shared_ptr<const tree::DirectoryListing>> KeptTree::open_directory(tree::NodeId node,
                                                                               RequestBudget& budget) {
  H5_ASSIGN(const tree::NodeId found, inner_id(node, budget));
  return inner_->open_directory(found, budget);
}

bool KeptTree::lasts(tree::NodeId node) {
  RequestBudget budget;
  const auto found = inner_id(node, budget);
  return found && inner_->lasts(*found);
}

Result<tree::Entry> KeptTree::lookup_listed(tree::NodeId parent, const tree::DirectoryListing& listing,
                                            std::size_t position, tree::FilesRead& read,
                                            RequestBudget& budget) {
  H5_ASSIGN(const tree::NodeId directory, inner_id(parent, budget));
  H5_ASSIGN(const tree::Entry found, inner_->lookup_listed(directory, listing, position, read, budget));
  await_dropped(found.stat);
  return adopted(found, parent, listing.name_at(position));
}

// If an earlier server opened the node, its bytes must be the same as then.
Status KeptTree::check_opened(tree::NodeId id, tree::NodeId found, RequestBudget& budget) {
  const auto sources = inner_->sources_of(found, budget);
  if (!sources && is_momentary(sources.error())) return fail(sources.error());
  const bool others =
      !sources || sources->size() != 1 || !sources->front().all_in_file || !sources->front().own;
  const bool same = nodes_.note_opened(id, sources ? version_of(*sources) : 0, others);
  if (same || inner_->follows(found)) return {};
  return fail({ErrorCode::Stale, "its file was replaced or rewritten while no server ran"});
}

Result<std::shared_ptr<tree::OpenNode>> KeptTree::open(tree::NodeId node, RequestBudget& budget) {
  H5_ASSIGN(const tree::NodeId found, inner_id(node, budget));
  H5_TRY(check_opened(node, found, budget));
  return inner_->open(found, budget);
}

Result<std::vector<std::string>> KeptTree::list_xattrs(tree::NodeId node, RequestBudget& budget) {
  H5_ASSIGN(const tree::NodeId found, inner_id(node, budget));
  return inner_->list_xattrs(found, budget);
}

Result<std::string> KeptTree::get_xattr(tree::NodeId node, std::string_view name, RequestBudget& budget) {
  H5_ASSIGN(const tree::NodeId found, inner_id(node, budget));
  return inner_->get_xattr(found, name, budget);
}

Result<std::vector<tree::NodeSource>> KeptTree::sources_of(tree::NodeId node, RequestBudget& budget) {
  H5_ASSIGN(const tree::NodeId found, inner_id(node, budget));
  return inner_->sources_of(found, budget);
}

std::string_view KeptTree::media_type(tree::NodeId node) {
  const auto found = inner_ ? nodes_.found(node) : std::nullopt;
  return found ? inner_->media_type(*found) : tree::kPlainBytes;
}

Result<std::optional<tree::FileOfNode>> KeptTree::file_of(tree::NodeId node, RequestBudget& budget) {
  H5_ASSIGN(const tree::NodeId found, inner_id(node, budget));
  return inner_->file_of(found, budget);
}

Result<std::shared_ptr<const tree::FileObject>> KeptTree::root_object(tree::NodeId node,
                                                                      RequestBudget& budget) {
  H5_ASSIGN(const tree::NodeId found, inner_id(node, budget));
  return inner_->root_object(found, budget);
}

void KeptTree::report(tree::NodeId node, const Error& error) {
  if (inner_) inner_->report(nodes_.found(node).value_or(tree::kRootNode), error);
}

bool KeptTree::follows(tree::NodeId node) {
  RequestBudget budget;
  const auto found = inner_id(node, budget);
  return found && inner_->follows(*found);
}

void KeptTree::set_kernel(std::shared_ptr<tree::KernelPages> kernel) {
  stopping_ = kernel == nullptr;
  if (inner_) inner_->set_kernel(kernel ? std::make_shared<Kernel>(kernel, nodes_) : nullptr);
  if (kernel) kernel_ = std::move(kernel);
}

void KeptTree::file_changed() {
  if (!inner_) return;
  inner_->file_changed();
  if (inner_->follows(tree::kRootNode)) nodes_.note_root_follows();
}

std::vector<std::string> KeptTree::watchable() const {
  return inner_ ? inner_->watchable() : std::vector<std::string>{};
}

void KeptTree::when_more_to_watch(std::function<void()> notify) {
  if (inner_) inner_->when_more_to_watch(std::move(notify));
}

tree::Tree::FileStat KeptTree::statfs() const {
  return inner_ ? inner_->statfs() : FileStat{};
}

}  // namespace h5mount::fuse
