#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "core/external_files.h"
#include "core/inode_numbers.h"
#include "core/node_table.h"
#include "core/open_nodes.h"
#include "core/served_file.h"
#include "h5mount/base/advice.h"
#include "h5mount/base/momentary.h"
#include "h5mount/base/thread_annotations.h"
#include "h5mount/io/notifies_changes.h"
#include "hidden_root.h"
#include "objects/object_nodes.h"
#include "source_tree.h"
#include "views/group_table.h"

namespace h5mount::tree {

namespace {

// A file that is written in place, or whose members are replaced one by one, counts as complete when it has
// not changed for this time.
constexpr std::chrono::seconds kSettled{1};

// The version of one state of the file: a file that was written has another one.
std::uint64_t version_of(const io::SourceStamp& stamp) {
  return mix_bits({stamp.size, static_cast<std::uint64_t>(stamp.modified), stamp.sum, stamp.changed});
}

class FileTree : public SourceTree {
 public:
  FileTree(MountContextPtr context, ServedFilePtr main, NodePtr root, const SourcePlace& place)
      : SourceTree(context->environment.counters),
        context_(std::move(context)),
        main_(std::move(main)),
        nodes_(std::move(root), place.root, place.below) {}

  Result<Entry> lookup(NodeId parent, std::string_view name, RequestBudget& budget) override {
    H5_ASSIGN(const NodePtr directory, node(parent, budget));
    auto child = found_child([&] { return directory->child(name, budget); });
    FilesRead read;
    // The log is also there to say why the file cannot be read any more.
    const bool is_virtual = child && (*child)->key().kind == NodeKey::Kind::VirtualDirectory;
    if (!is_virtual) read.add(directory->read_from());
    auto found = entry_of(std::move(child), read, budget);
    return confirmed(read, std::move(found));
  }

  void forget(NodeId id, std::uint64_t count) override { nodes_.forget(id, count); }

  Result<NodeStat> stat(NodeId id, StatDepth depth, RequestBudget& budget) override {
    H5_ASSIGN(const NodePtr found, node(id, budget));
    H5_ASSIGN(NodeStat stat, unchanged(*found, stat_of(*found, depth, budget)));
    stat.follows = found->follows();
    return stat;
  }

  Result<std::string> readlink(NodeId id) override {
    H5_ASSIGN(const NodePtr found, known_node(id));
    return unchanged(*found, found->readlink());
  }

  Result<std::shared_ptr<const DirectoryListing>> open_directory(NodeId id, RequestBudget& budget) override {
    H5_ASSIGN(const NodePtr found, node(id, budget));
    // The kernel keeps a listing, so it must not lack anything that could not be read for a moment.
    const MomentaryWatch watch;
    auto listing = unchanged(*found, found->list(budget));
    const bool ends_well = listing && (*listing)->damage() == nullptr;
    if (ends_well && watch.met() && !is_of_range(*watch.met())) return fail(*watch.met());
    return listing;
  }

  bool lasts(NodeId id) override {
    const NodePtr found = nodes_.find(id);
    return !found || found->lasts();
  }

  bool follows(NodeId id) override {
    const NodePtr found = nodes_.find(id);
    return found && found->follows();
  }

  Result<std::vector<NodeSource>> sources_of(NodeId id, RequestBudget& budget) override {
    H5_ASSIGN(const NodePtr found, node(id, budget));
    return unchanged(*found, found->sources(budget));
  }

  std::string_view media_type(NodeId id) override {
    const NodePtr found = nodes_.find(id);
    return found ? found->media_type() : kPlainBytes;
  }

  Result<Entry> lookup_listed(NodeId parent, const DirectoryListing& listing, std::size_t position,
                              FilesRead& read, RequestBudget& budget) override {
    H5_ASSIGN(const NodePtr directory, node(parent, budget));
    read.add(directory->read_from());
    auto child = found_child([&] { return directory->listed_child(listing, position, budget); });
    auto found = entry_of(std::move(child), read, budget);
    if (!found) H5_TRY(read.confirm_unchanged());  // else the failure is not the object's
    return found;
  }

  Result<std::shared_ptr<OpenNode>> open(NodeId id, RequestBudget& budget) override {
    H5_ASSIGN(const NodePtr found, node(id, budget));
    return unchanged(*found, found->open(budget));
  }

  Result<std::vector<std::string>> list_xattrs(NodeId id, RequestBudget& budget) override {
    H5_ASSIGN(const NodePtr found, node(id, budget));
    return unchanged(*found, found->list_xattrs(budget));
  }

  Result<std::string> get_xattr(NodeId id, std::string_view name, RequestBudget& budget) override {
    H5_ASSIGN(const NodePtr found, node(id, budget));
    auto value = unchanged(*found, found->get_xattr(name, budget));
    // If the file is a different one by now, nothing else can be asked about it.
    if (!value && value.error().code() == ErrorCode::Stale && name == "user.hdf5.error")
      return text_with_advice(value.error());
    return value;
  }

  Result<std::optional<FileOfNode>> file_of(NodeId, RequestBudget&) override {
    H5_ASSIGN(const io::SourceStamp stamp, main_->followed().source()->state().stamp());
    return FileOfNode{{}, 0, version_of(stamp), stamp.modified, stamp.replaced};
  }

  Result<std::shared_ptr<const FileObject>> root_object(NodeId, RequestBudget& budget) override {
    budget.allow_for(main_->followed().source()->stored_bytes());
    return open_file_object(main_, main_->root_address(), budget);
  }
  Result<std::shared_ptr<const FileObject>> object_of(NodeId id, RequestBudget& budget) override {
    H5_ASSIGN(const NodePtr found, node(id, budget));
    if (found->key().kind != NodeKey::Kind::Object) return nullptr;
    return unchanged(
        *found, open_file_object(found->file_of_key()->shared_from_this(), found->key().address, budget));
  }

  void report(NodeId id, const Error& error) override {
    const auto code = static_cast<std::size_t>(error.code());
    Counters::add(counters()->failures[code]);
    const NodePtr found = nodes_.find(id);
    const Subject subject = found ? found->subject() : Subject{nullptr, fmt::format("node {}", id)};
    (subject.file != nullptr ? *subject.file : *main_).report(subject.path, error);
    if (error.code() == ErrorCode::Stale) notify();  // what the kernel has is to be dropped
  }

  void set_kernel(std::shared_ptr<KernelPages> kernel) override {
    context_->open_nodes->set_kernel(std::move(kernel));
  }

  void file_changed() override {
    std::vector<Seen> seen;
    for (const object::OpenedFilePtr& file : files().open_files()) {
      const bool sound = file->followed->revalidate_now().has_value();
      seen.push_back({file.get(), sound, sound && file->followed->following()});
    }
    const auto kernel = context_->open_nodes->kernel();
    // The kernel caches attributes and pages of that file without a time limit.
    if (kernel && std::ranges::any_of(seen, [&](const Seen& now) { return became_another(now); })) retire();
    seen_ = std::move(seen);
    if (!files().follows()) return;
    for (const NodePtr& open : context_->open_nodes->claim_all()) catch_up(open);
  }

  State state() override {
    metadata::FollowedFile& main = main_->followed();
    const bool stale = !main.revalidate_now();
    const auto& source = main.source();
    const bool taken = source->state().name_taken();
    if (!stale && !taken) {
      last_.reset();
      return State::Current;
    }
    if (!stale && source->state().watchable().size() == 1)
      return State::Superseded;  // renamed over: complete at once
    const auto now = std::chrono::steady_clock::now();
    const auto stamp = source->state().stamp();
    if (!stamp || !last_ || *last_ != *stamp) {
      last_ = stamp ? std::optional(*stamp) : std::nullopt;
      last_change_ = now;
    }
    return now - last_change_ < kSettled ? State::Changing : State::Superseded;
  }

  bool others_current() override {
    return std::ranges::all_of(files().open_files(), [&](const object::OpenedFilePtr& file) {
      if (file == files().main()) return true;
      return file->followed->revalidate_now() && !file->followed->source()->state().name_taken();
    });
  }

  std::size_t known_nodes() override { return nodes_.size(); }

  void retire() override {
    if (const auto kernel = context_->open_nodes->kernel())
      for (const NodeId id : nodes_.ids()) kernel->invalidate(id, {{0, format::kUnlimited}});
  }

  std::optional<Error> damage(NodeId id, RequestBudget& budget) override {
    const auto found = node(id, budget);
    return found ? (*found)->damage(budget) : std::nullopt;
  }

  std::vector<std::string> watchable() const override {
    std::vector<std::string> out;
    for (const object::OpenedFilePtr& file : files().open_files()) {
      const std::vector<std::string> paths = file->followed->source()->state().watchable();
      out.insert(out.end(), paths.begin(), paths.end());
    }
    return out;
  }

  bool notifies_changes() const override {
    const std::vector<std::string> paths = watchable();
    return !paths.empty() &&
           std::ranges::all_of(paths, [](const std::string& path) { return io::notifies_changes(path); });
  }

  void when_more_to_watch(std::function<void()> notify) override {
    {
      const MutexLock lock(notify_mutex_);
      notify_ = notify;
    }
    files().when_opened(std::move(notify));
  }

  FileStat statfs() const override { return {main_->followed().source()->stored_bytes()}; }

 private:
  // Allows the request the work that a file of that size may cause.
  Result<NodePtr> node(NodeId id, RequestBudget& budget) {
    H5_ASSIGN(NodePtr found, known_node(id));
    const auto* const file = static_cast<const ServedFile*>(found->key().file);
    budget.allow_for((file != nullptr ? *file : *main_).followed().source()->stored_bytes());
    return found;
  }

  Result<NodePtr> known_node(NodeId id) {
    NodePtr found = nodes_.find(id);
    if (!found) return fail({ErrorCode::Stale, "a node that was forgotten"});
    return found;
  }

  // Returns `made`, which was read from the node's file, if that file has not changed meanwhile.
  template <class T>
  static Result<T> unchanged(const Node& node, Result<T> made) {
    FilesRead read;
    read.add(node.read_from());
    H5_TRY(read.confirm_unchanged());
    return made;
  }

  Result<Entry> confirmed(const FilesRead& read, Result<Entry> found) {
    const Status unchanged = read.confirm_unchanged();
    if (unchanged) return found;
    if (found) nodes_.forget(found->node, 1);
    return fail(unchanged.error());
  }

  // Runs in a worker, so that no node waits for a slow one; repeated if the file changed meanwhile.
  void catch_up(const NodePtr& open) {
    const auto job = [open, nodes = context_->open_nodes] {
      do {
        open->catch_up();
      } while (nodes->give_back(open));
    };
    const auto& workers = context_->environment.workers;
    if (!workers || !workers->submit(job)) job();
  }

  // The stat is that of the node in the table, which may have been measured already. If it fails, no
  // reference is counted.
  Result<Entry> entry_of(Result<NodePtr> child, FilesRead& read, RequestBudget& budget) {
    if (!child) return fail(std::move(child).error());
    const auto [id, known] = nodes_.adopt(*std::move(child));
    read.add(known->read_from());
    const Reference reference{nodes_, id};
    auto stat = stat_of(*known, StatDepth::Listing, budget);
    if (stat) {
      stat->follows = known->follows();
      reference.kept = true;
      return Entry{id, *stat};
    }
    return fail(std::move(stat).error());
  }

  // The reference of a node whose entry is being made. Nobody forgets it if that fails.
  struct Reference {
    NodeTable& nodes;
    const NodeId id;
    mutable bool kept = false;
    ~Reference() {
      if (!kept) nodes.forget(id, 1);
    }
  };

  // A name that is not found is missing for the kernel until the directory changes, so what could not be
  // read for a moment must not be the reason.
  template <class Find>
  static Result<NodePtr> found_child(Find find) {
    const MomentaryWatch watch;
    Result<NodePtr> child = find();
    return child ? child : watch.unless_met(std::move(child));
  }

  // The kernel keeps what is told of a node. So if something was met that says nothing of the file, the
  // request fails; what a disk does not give is told of, but not to be kept.
  static Result<NodeStat> stat_of(Node& node, StatDepth depth, RequestBudget& budget) {
    const MomentaryWatch watch;
    Result<NodeStat> stat = node.stat(depth, budget);
    if (!watch.met() || !stat) return stat;
    if (!is_of_range(*watch.met())) return fail(*watch.met());
    stat->complete = false;
    return stat;
  }

  object::FileSet& files() const { return *context_->environment.files; }

  void notify() {
    const MutexLock lock(notify_mutex_);
    if (notify_) notify_();
  }

  MountContextPtr context_;
  ServedFilePtr main_;
  NodeTable nodes_;
  Mutex notify_mutex_;
  std::function<void()> notify_ H5_GUARDED_BY(notify_mutex_);  // to be called if a file may be another one

  // The state at the last call of `file_changed`; one thread calls it.
  struct Seen {
    const object::OpenedFile* file;
    bool sound, follows;
  };
  bool became_another(const Seen& now) const {
    const auto before = std::ranges::find(seen_, now.file, &Seen::file);
    return before != seen_.end() && (before->sound != now.sound || before->follows != now.follows);
  }
  std::vector<Seen> seen_{{main_->file().get(), true, main_->followed().following()}};

  // Used by `state`, which one thread calls: the last stamp of a file that changes, and when it was first
  // seen.
  std::optional<io::SourceStamp> last_;
  std::chrono::steady_clock::time_point last_change_{};
};

MountContextPtr make_context(const dataset::ReadEnvironment& environment, const TreeOptions& options,
                             std::uint64_t ino_seed) {
  return std::make_shared<const MountContext>(MountContext{
      environment, options, ino_seed, std::make_shared<ExternalFiles>(), std::make_shared<OpenNodes>()});
}

// The file that is shown. Errors are those of opening its root.
Result<ServedFilePtr> serve_main(const MountContextPtr& context, RequestBudget& budget) {
  auto main = std::make_shared<ServedFile>(context, context->mounted_file(), 0, context->ino_seed);
  H5_ASSIGN(const OpenedObjectPtr root, main->object(main->root_address(), budget));
  if (root->object.kind != object::ObjectKind::Group)
    return fail(Error(ErrorCode::InvalidValue, "the root of the file is not a group")
                    .with_found(main->root_address()));
  return main;
}

}  // namespace

Result<std::shared_ptr<SourceTree>> make_file_tree(const dataset::ReadEnvironment& environment,
                                                   const TreeOptions& options, const SourcePlace& place) {
  const MountContextPtr context = make_context(environment, options, place.ino_seed);
  RequestBudget budget;
  H5_ASSIGN(const ServedFilePtr main, serve_main(context, budget));
  NodePtr hidden = make_hidden_root({context, main});
  return std::make_shared<FileTree>(context, main, make_root_node(main, std::move(hidden)), place);
}

Status SourceTree::read_rows(const dataset::ReadEnvironment& environment, const TreeOptions& options,
                             const TakeCatalogueRow& take, RequestBudget& budget, PassingFacts& facts) {
  dataset::ReadEnvironment shown = environment;
  if (environment.files->may_be_salvaged()) {  // all of it is wanted
    const auto salvaged = environment.files->salvaged([&] { return budget.check().has_value(); });
    if (!salvaged) facts.failures = true;
    if (salvaged && *salvaged) shown.files = *salvaged;
    H5_TRY(budget.check());
  }
  const MountContextPtr context = make_context(shown, options, 0);
  H5_ASSIGN(const ServedFilePtr main, serve_main(context, budget));
  H5_TRY(read_catalogue_rows(main, absent_views_of_group, take, budget, facts));
  facts.others = facts.others || main->followed().following();
  return main->followed().confirm_unchanged();
}

}  // namespace h5mount::tree
