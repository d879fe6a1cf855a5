#include "surviving_tree.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "h5mount/base/log.h"
#include "h5mount/base/long_work.h"
#include "h5mount/base/thread.h"

namespace h5mount::survive {
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
class SurvivingTree::Kernel final : public tree::KernelPages {
 public:
  Kernel(std::shared_ptr<tree::KernelPages> real, const SurvivingNodes& nodes)
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
  const SurvivingNodes& nodes_;
};

SurvivingTree::SurvivingTree(std::shared_ptr<tree::Tree> inner, SurvivingNodes& nodes, bool goes_on)
    : ForwardingTree(counters_of(inner)),
      inner_(std::move(inner)),
      nodes_(nodes),
      outdated_(goes_on),
      goes_on_(goes_on) {
  RequestBudget budget;
  (void)check_root(budget);  // if it fails for a moment, the first request checks again
}

// ---- nodes of an earlier server

Status SurvivingTree::check_root(RequestBudget& budget) {
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

Result<SurvivingTree::Target> SurvivingTree::target_of(tree::NodeId id, RequestBudget& budget) {
  H5_TRY(check_root(budget));
  if (!usable_) return fail({ErrorCode::Stale, "the file was replaced or rewritten while no server ran"});
  if (const auto found = nodes_.found(id)) return Target{inner_, *found};
  return find_again(id, budget);
}

Result<SurvivingTree::Target> SurvivingTree::find_again(tree::NodeId id, RequestBudget& budget) {
  std::vector<std::pair<tree::NodeId, SurvivingNodes::Record>> way;
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
  return Target{inner_, out};
}

Result<tree::Entry> SurvivingTree::look_up_again(tree::NodeId parent, const SurvivingNodes::Record& record,
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

SurvivingTree::State SurvivingTree::look_for_change(tree::NodeId id,
                                                    std::unordered_map<tree::NodeId, State>& seen) {
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

// The entries of a directory are outdated if the directory is.
SurvivingTree::State SurvivingTree::state_of(tree::NodeId id,
                                             const std::unordered_map<tree::NodeId, State>& seen) {
  const auto record = nodes_.record(id);
  const auto above = record ? seen.find(record->parent) : seen.end();
  if (above == seen.end()) return {Outdated::No, 0};  // forgotten meanwhile
  const State parent = above->second;
  State out{parent.outdated, record->mtime};
  if (parent.outdated == Outdated::All) return out;
  if (record->others || record->follows) out.outdated = Outdated::Pages;
  if (out.mtime == parent.mtime) return out;
  RequestBudget budget;
  const auto now = ForwardingTree::stat(id, tree::StatDepth::Listing, budget);
  const bool stale = !now && now.error().code() == ErrorCode::Stale;
  if (stale || (now && now->mtime != record->mtime)) out.outdated = Outdated::All;
  if (now && now->follows) out.outdated = Outdated::Pages;
  return out;
}

void SurvivingTree::drop_outdated() {
  const std::vector<dataset::ByteRange> everything{{0, format::kUnlimited}};
  std::unordered_map<tree::NodeId, State> seen;
  RequestBudget budget;
  (void)check_root(budget);
  const bool root_follows = usable_ && (nodes_.root_follows() || inner_->follows(tree::kRootNode));
  const Outdated root = !usable_ ? Outdated::All : root_follows ? Outdated::Pages : Outdated::No;
  const auto now = usable_ ? inner_->stat(tree::kRootNode, tree::StatDepth::Listing, budget)
                           : Result<tree::NodeStat>(tree::NodeStat{});
  seen[tree::kRootNode] = {root, now ? now->mtime : 0};
  std::vector<SurvivingNodes::Record> names;
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
  for (const SurvivingNodes::Record& name : names) kernel_->invalidate_name(name.parent, name.name);
}

void SurvivingTree::note_dropped() {
  const MutexLock lock(mutex_);
  outdated_ = false;
  dropped_.notify_all();
}

// Waits no longer than a client would wait for a slow disk: the kernel may wait for a read that hangs.
void SurvivingTree::await_dropped(const tree::NodeStat& stat) {
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

tree::Entry SurvivingTree::adopted(const tree::Entry& found, tree::NodeId parent, std::string_view name) {
  try {
    return {nodes_.adopt(found, parent, name), found.stat};
  } catch (...) {
    inner_->forget(found.node, 1);
    throw;
  }
}

// ---- the tree

Result<tree::Entry> SurvivingTree::lookup(tree::NodeId parent, std::string_view name, RequestBudget& budget) {
  H5_ASSIGN(const tree::Entry found, ForwardingTree::lookup(parent, name, budget));
  await_dropped(found.stat);
  return adopted(found, parent, name);
}

void SurvivingTree::forget(tree::NodeId node, std::uint64_t count) {
  const SurvivingNodes::Dropped dropped = nodes_.forget(node, count);
  if (inner_ && dropped.count > 0) inner_->forget(dropped.node, dropped.count);
}

Result<tree::NodeStat> SurvivingTree::stat(tree::NodeId node, tree::StatDepth depth, RequestBudget& budget) {
  H5_ASSIGN(const tree::NodeStat out, ForwardingTree::stat(node, depth, budget));
  await_dropped(out);
  return out;
}

Result<tree::Entry> SurvivingTree::lookup_listed(tree::NodeId parent, const tree::DirectoryListing& listing,
                                                 std::size_t position, tree::FilesRead& read,
                                                 RequestBudget& budget) {
  H5_ASSIGN(const tree::Entry found, ForwardingTree::lookup_listed(parent, listing, position, read, budget));
  await_dropped(found.stat);
  return adopted(found, parent, listing.name_at(position));
}

// If an earlier server opened the node, its bytes must be the same as then.
Status SurvivingTree::check_opened(tree::NodeId id, tree::NodeId found, RequestBudget& budget) {
  const auto sources = inner_->sources_of(found, budget);
  if (!sources && is_momentary(sources.error())) return fail(sources.error());
  const bool others =
      !sources || sources->size() != 1 || !sources->front().all_in_file || !sources->front().own;
  const bool same = nodes_.note_opened(id, sources ? version_of(*sources) : 0, others);
  if (same || inner_->follows(found)) return {};
  return fail({ErrorCode::Stale, "its file was replaced or rewritten while no server ran"});
}

Result<std::shared_ptr<tree::OpenNode>> SurvivingTree::open(tree::NodeId node, RequestBudget& budget) {
  H5_ASSIGN(const Target found, target_of(node, budget));
  H5_TRY(check_opened(node, found.node, budget));
  return inner_->open(found.node, budget);
}

void SurvivingTree::report(tree::NodeId node, const Error& error) {
  if (inner_) inner_->report(nodes_.found(node).value_or(tree::kRootNode), error);
}

void SurvivingTree::set_kernel(std::shared_ptr<tree::KernelPages> kernel) {
  stopping_ = kernel == nullptr;
  if (inner_) inner_->set_kernel(kernel ? std::make_shared<Kernel>(kernel, nodes_) : nullptr);
  if (!kernel && dropping_.joinable()) dropping_.join();
  if (!kernel) return;
  kernel_ = std::move(kernel);
  if (goes_on_) dropping_ = start_thread("h5-outdated", [this] { drop_outdated(); });
}

void SurvivingTree::file_changed() {
  if (!inner_) return;
  inner_->file_changed();
  if (inner_->follows(tree::kRootNode)) nodes_.note_root_follows();
}

}  // namespace h5mount::survive
