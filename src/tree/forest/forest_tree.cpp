// The tree of a forest: its own nodes for everything between the files, and the nodes of the files' trees.
#include <fmt/format.h>

#include <utility>

#include "../core/name_list.h"
#include "directory_watch.h"
#include "forest_files.h"
#include "h5mount/base/log.h"
#include "h5mount/tree/names.h"
#include "hidden_files.h"
#include "joined_sources.h"
#include "plain_file.h"

namespace h5mount::tree {
namespace {

using EntryKind = ForestEntry::Kind;
constexpr std::string_view kErrorAttribute = "user.hdf5.error";

class ForestTree final : public Forest, public std::enable_shared_from_this<ForestTree> {
 public:
  ForestTree(ForestDirectoryPtr top, ForestOptions options)
      : Forest(options.counters),
        options_(std::move(options)),
        root_(std::make_shared<Folder>(std::move(top), std::string(), kRootNode)),
        places_(root_),
        files_(options_, places_),
        catalogue_(options_, root_->source),
        joined_(make_joined_file(root_->source, options_)),
        hidden_(options_.tree.status, catalogue_, joined_) {
    if (joined_)
      hidden_folder_ = std::make_shared<Folder>(make_joined_directory(root_->source, options_, joined_),
                                                std::string(kHiddenName), HiddenFiles::kDirectory);
  }

  Result<Entry> lookup(NodeId parent, std::string_view name, RequestBudget& budget) override {
    H5_ASSIGN(OpenTreePtr open, tree_of(parent));
    if (open) return open->tree->lookup(parent, name, budget);
    if (parent == HiddenFiles::kDirectory) {
      const auto found = hidden_.find(name);
      if (!found && hidden_folder_) return look_up(hidden_folder_, std::string(name), budget);
      if (!found) return fail(found.error());
      return hidden_entry(*found, budget);
    }
    H5_ASSIGN(const Place place, place_of(parent));
    if (place.kind == EntryKind::Directory)
      return look_up(folder_of(parent, place), std::string(name), budget);
    if (place.kind != EntryKind::Hdf5) return fail({ErrorCode::NotFound, "not a directory"});
    H5_TRY(check_readable(place));
    H5_ASSIGN(open, files_.open(parent, place, budget));
    return open->tree->lookup(parent, name, budget);
  }

  Result<Entry> lookup_listed(NodeId parent, const DirectoryListing& listing, std::size_t position,
                              FilesRead& read, RequestBudget& budget) override {
    const auto place = OpenTrees::number_of(parent) == 0 ? places_.find(parent) : std::nullopt;
    if (OpenTrees::number_of(parent) == 0 && (!place || place->kind != EntryKind::Hdf5))
      return lookup(parent, listing.name_at(position), budget);
    const OpenTreePtr open = place ? files_.opened(*place) : files_.trees().of_node(parent);
    if (!open) return fail(forgotten());
    return open->tree->lookup_listed(parent, listing, position, read, budget);
  }

  void forget(NodeId id, std::uint64_t count) override {
    if (OpenTrees::number_of(id) == 0) {
      if (id != kRootNode && !hidden_.has(id)) places_.forget(id, count);
    } else if (OpenTreePtr open = files_.trees().of_node(id, false)) {
      open->tree->forget(id, count);
      files_.drop_unused(std::move(open));
    }
  }

  Result<NodeStat> stat(NodeId id, StatDepth depth, RequestBudget& budget) override {
    H5_ASSIGN(const OpenTreePtr open, tree_of(id));
    if (open) return open->tree->stat(id, depth, budget);
    if (hidden_.has(id)) return hidden_stat(id, depth, budget);
    H5_ASSIGN(const Place place, place_of(id));
    if (place.in) watch_.check(place.in);
    if (place.kind == EntryKind::Directory) watch_.check(folder_of(id, place));
    H5_ASSIGN(const ForestEntry now, look_again(id, place));
    return stat_of(place, now);
  }

  Result<std::string> readlink(NodeId id) override {
    H5_ASSIGN(const OpenTreePtr open, tree_of(id));
    if (open) return open->tree->readlink(id);
    H5_ASSIGN(const Place place, place_of(id));
    H5_ASSIGN(const ForestEntry now, look_again(id, place));
    return now.target;
  }

  Result<std::shared_ptr<const DirectoryListing>> open_directory(NodeId id, RequestBudget& budget) override {
    if (id == HiddenFiles::kDirectory) return hidden_.list();
    H5_ASSIGN(OpenTreePtr open, tree_of(id));
    if (open) return listing_of(open, id, budget);
    H5_ASSIGN(const Place place, place_of(id));
    if (place.kind == EntryKind::Directory) return list(folder_of(id, place));
    H5_TRY(check_readable(place));
    H5_ASSIGN(open, files_.open(id, place, budget));
    return listing_of(open, id, budget);
  }

  bool lasts(NodeId id) override {
    if (OpenTrees::number_of(id) != 0) {
      const OpenTreePtr open = files_.trees().of_node(id);
      return !open || open->tree->lasts(id);
    }
    if (hidden_.has(id)) return false;
    const auto place = places_.find(id);
    if (!place) return true;
    if (place->kind == EntryKind::Directory) {
      const auto folder = std::static_pointer_cast<Folder>(place->content);
      return folder && folder->watched;
    }
    const OpenTreePtr open = place->kind == EntryKind::Hdf5 ? files_.opened(*place) : nullptr;
    return open ? open->tree->lasts(id) : place->kind != EntryKind::Plain && !files_.error_of(*place);
  }

  bool follows(NodeId id) override {
    if (hidden_.has(id)) return id != HiddenFiles::kDirectory;  // each opening may be of another state
    const OpenTreePtr open = open_tree(id);
    return open && open->tree->follows(id);
  }

  Result<std::shared_ptr<OpenNode>> open(NodeId id, RequestBudget& budget) override {
    if (hidden_.is_joined(id) && options_.checks_others) {
      H5_ASSIGN(const ForestEntry joined, hidden_folder_->source->find_entry("joined"));
      if ((joined.source.attributes.mode & kOthersRead) == 0)
        return fail({ErrorCode::AccessDenied, "not all users may read all files that are joined"});
    }
    if (hidden_.has(id)) return hidden_.open(id, budget);
    H5_ASSIGN(const OpenTreePtr open, tree_of(id));
    if (open) {
      H5_ASSIGN(auto file, open->tree->open(id, budget));
      return kept_with(open, std::move(file));
    }
    H5_ASSIGN(const Place place, place_of(id));
    H5_TRY(check_readable(place));
    if (place.kind == EntryKind::Refused) {
      H5_ASSIGN(const ForestEntry now, look_again(id, place));
      return fail(now.error.value_or(forgotten()));
    }
    if (place.kind != EntryKind::Plain) return fail({ErrorCode::Internal, "not a file"});
    H5_ASSIGN(auto source, place.in->source->open_plain(place.name));
    return PlainFile::make(std::move(source));
  }

  // ---- attributes

  Result<std::vector<std::string>> list_xattrs(NodeId id, RequestBudget& budget) override {
    H5_ASSIGN(const Answering by, answering(id, budget));
    if (by.open) return by.open->tree->list_xattrs(id, budget);
    return by.error ? std::vector<std::string>{std::string(kErrorAttribute)} : std::vector<std::string>{};
  }

  Result<std::string> get_xattr(NodeId id, std::string_view name, RequestBudget& budget) override {
    H5_ASSIGN(const Answering by, answering(id, budget));
    if (by.open) return by.open->tree->get_xattr(id, name, budget);
    if (by.error && name == kErrorAttribute) return text_with_advice(*by.error);
    return fail({ErrorCode::NotFound, "no such attribute"});
  }

  Result<std::vector<NodeSource>> sources_of(NodeId id, RequestBudget& budget) override {
    H5_ASSIGN(const Answering by, answering(id, budget));
    if (!by.open) return std::vector<NodeSource>{{.file = path_of(id), .object = {}, .own = false}};
    return by.open->tree->sources_of(id, budget);
  }

  Result<std::optional<FileOfNode>> file_of(NodeId id, RequestBudget& budget) override {
    H5_ASSIGN(const Answering by, answering(id, budget));
    if (by.error) return fail(*by.error);
    if (!by.open) return plain_file_of(id);
    H5_ASSIGN(auto file, by.open->tree->file_of(id, budget));
    if (!file) return file;
    file->path = by.open->in->path_of(by.open->name);
    file->number = by.open->root;
    return file;
  }

  Result<std::shared_ptr<const FileObject>> root_object(NodeId id, RequestBudget& budget) override {
    H5_ASSIGN(const Answering by, answering(id, budget));
    if (by.open) return by.open->tree->root_object(id, budget);
    return fail(by.error.value_or(Error(ErrorCode::NotFound, "not an HDF5 file")));
  }
  Result<std::shared_ptr<const FileObject>> object_of(NodeId id, RequestBudget& budget) override {
    H5_ASSIGN(const Answering by, answering(id, budget));
    if (by.open) return by.open->tree->object_of(id, budget);
    if (by.error) return fail(*by.error);
    return nullptr;
  }

  std::string_view media_type(NodeId id) override {
    if (hidden_.has(id)) return hidden_.media_type(id);
    const OpenTreePtr open = open_tree(id);
    return open ? open->tree->media_type(id) : kPlainBytes;
  }

  void report(NodeId id, const Error& error) override {
    const bool own = OpenTrees::number_of(id) == 0 && error.code() == ErrorCode::Stale;
    if (const OpenTreePtr open = own ? nullptr : open_tree(id)) return open->tree->report(id, error);
    Counters::add(counters()->failures[static_cast<std::size_t>(error.code())]);
    const auto place = places_.find(id);
    const auto told = place ? files_.error_of(*place) : std::nullopt;
    if (told && told->text() == error.text()) return;  // it was logged when the file was opened
    const bool expected = error.code() == ErrorCode::AccessDenied || error.code() == ErrorCode::Stale;
    log_once(expected ? LogLevel::Info : LogLevel::Warning, path_of(id) + ": " + text_with_advice(error));
  }

  // ---- changes

  void set_kernel(std::shared_ptr<KernelPages> kernel) override {
    if (kernel) watch_.start();
    files_.set_kernel(kernel);
    if (!kernel) watch_.stop();
  }

  // The watch reports changes to the files themselves; this looks for changes to other files that they name.
  void file_changed() override {
    for (const OpenTreePtr& open : files_.trees().all()) {
      const bool others = !open->in->watched || open->tree->watchable().size() > 1;
      if (const SoleTurn turn(open->checking); others && turn.mine()) {
        open->tree->file_changed();
        if (!open->tree->others_current()) take_name(open->root);
      }
    }
  }

  std::vector<std::string> watchable() const override {
    std::vector<std::string> out;
    for (const OpenTreePtr& open : const_cast<ForestFiles&>(files_).trees().all()) {
      const auto paths = open->tree->watchable();
      out.insert(out.end(), paths.begin() + (open->in->watched && !paths.empty() ? 1 : 0), paths.end());
    }
    return out;
  }

  // In a directory that is not watched nothing is cached for long, so a watched root is enough.
  bool notifies_changes() const override { return root_->source->watchable().has_value(); }

  void when_more_to_watch(std::function<void()> notify) override { files_.when_more_to_watch(notify); }

  FileStat statfs() const override { return {}; }

  ForestCounts counts() const override {
    ForestCounts out{places_.size(), const_cast<ForestFiles&>(files_).trees().size(), watch_.count()};
    catalogue_.add_counts(out);
    if (joined_) out.joined = joined_->counts();
    return out;
  }

 private:
  static Error forgotten() { return {ErrorCode::Stale, "a node that was forgotten"}; }

  Result<Place> place_of(NodeId id) const {
    auto place = places_.find(id);
    if (!place) return fail(forgotten());
    return *std::move(place);
  }

  std::string path_of(NodeId id) const {
    const auto place = places_.find(id);
    return place ? "/" + place->path() : fmt::format("node {}", id);
  }

  // The open tree that a node belongs to; null if the node is the forest's own.
  Result<OpenTreePtr> tree_of(NodeId id) {
    if (OpenTrees::number_of(id) == 0) return nullptr;
    OpenTreePtr open = files_.trees().of_node(id);
    if (!open) return fail(forgotten());
    return open;
  }
  bool is_gone(NodeId id) const {
    const auto place = places_.find(id);
    return !place || place->detached;
  }

  // The open tree that a node belongs to, or that of the file at the node; null if there is none.
  OpenTreePtr open_tree(NodeId id) {
    if (OpenTrees::number_of(id) != 0) return files_.trees().of_node(id);
    const auto place = places_.find(id);
    return place && place->kind == EntryKind::Hdf5 ? files_.opened(*place) : nullptr;
  }

  FolderPtr folder_of(NodeId id, const Place& place) {
    if (place.content) return std::static_pointer_cast<Folder>(place.content);
    const auto entered = place.in->source->enter(place.name);
    if (!entered) return nullptr;
    return places_.content<Folder>(id, [&](const FolderPtr& in, const char* name) {
      return std::make_shared<Folder>(*entered, in->path_of(name), id);
    });
  }

  // Both refuse what others may not do, if no kernel checks that.
  static constexpr std::uint32_t kOthersRead = 0004, kOthersSearch = 0001;
  Status check_readable(const Place& place) {
    if (!options_.checks_others || !place.in) return {};
    H5_ASSIGN(const ForestEntry now, place.in->source->find_entry(place.name));
    if (now.kind == EntryKind::Symlink || (now.source.attributes.mode & kOthersRead) != 0) return {};
    return fail({ErrorCode::AccessDenied, "not all users may read it"});
  }
  Status check_folder(const Folder& folder, std::uint32_t right, const char* missing) {
    if (!options_.checks_others) return {};
    H5_ASSIGN(const ForestEntry now, folder.source->find_entry({}));
    return (now.source.attributes.mode & right) != 0 ? Status() : fail({ErrorCode::AccessDenied, missing});
  }

  Result<Entry> look_up(const FolderPtr& folder, const std::string& name, RequestBudget& budget) {
    if (!folder) return fail(forgotten());
    H5_TRY(check_folder(*folder, kOthersSearch, "not all users may search the directory"));
    watch_.check(folder);
    const auto now = folder->source->find_entry(name);
    if (!now && folder == root_ && name == kHiddenName) return hidden_entry(HiddenFiles::kDirectory, budget);
    if (!now) {
      if (const NodeId gone = places_.find_name(*folder, name); gone != 0) take_name(gone);
      return fail(now.error());
    }
    const PlaceTable::Adopted adopted = places_.adopt(folder, name, now->kind, now->source.identity);
    if (adopted.detached != 0) take_name(adopted.detached);
    auto place = places_.find(adopted.id);
    if (!place) return fail(forgotten());
    files_.compare(adopted.id, *place, *now);
    if (const auto after = places_.find(adopted.id); !after || after->detached) {
      places_.forget(adopted.id, 1);
      const PlaceTable::Adopted again = places_.adopt(folder, name, now->kind, now->source.identity);
      place = places_.find(again.id);
      if (!place) return fail(forgotten());
      return Entry{again.id, stat_of(*place, *now)};
    }
    return Entry{adopted.id, stat_of(*place, *now)};
  }

  void take_name(NodeId id) {
    if (const auto place = places_.find(id)) files_.take_name(id, *place);
  }

  // The present state of a place. Fails with Stale if its name belongs to another file.
  Result<ForestEntry> look_again(NodeId id, const Place& place) {
    if (place.detached) return fail({ErrorCode::Stale, "it was replaced or removed"});
    H5_ASSIGN(ForestEntry now,
              place.in ? place.in->source->find_entry(place.name) : root_->source->find_entry({}));
    if (place.in && (now.kind != place.kind || now.source.identity != place.identity)) {
      files_.take_name(id, place);
      return fail({ErrorCode::Stale, "it was replaced"});
    }
    return now;
  }

  NodeStat stat_of(const Place& place, const ForestEntry& entry) const {
    NodeStat out = files_.stat_of(place, entry);
    out.unreported = place.in ? !place.in->watched : !root_->watched;
    return out;
  }

  Result<Entry> hidden_entry(NodeId id, RequestBudget& budget) const {
    H5_ASSIGN(const NodeStat stat, hidden_stat(id, StatDepth::Listing, budget));
    return Entry{id, stat};
  }

  Result<NodeStat> hidden_stat(NodeId id, StatDepth depth, RequestBudget& budget) const {
    H5_ASSIGN(NodeStat out, hidden_.stat(id, depth, budget));
    if (const auto top = root_->source->find_entry({})) {
      const NodeStat root = stat_of(Place{}, *top);
      out.uid = root.uid;
      out.gid = root.gid;
      out.mtime = root.mtime, out.mtime_nanoseconds = root.mtime_nanoseconds;
      out.mode = out.type == NodeType::Directory ? root.mode : root.mode & 0444 & ~options_.tree.file_umask;
      if (hidden_.is_joined(id)) {
        H5_ASSIGN(const ForestEntry joined, hidden_folder_->source->find_entry("joined"));
        out.mode &= joined.source.attributes.mode;
      }
    }
    return out;
  }

  Result<std::shared_ptr<const DirectoryListing>> list(const FolderPtr& folder) {
    if (!folder) return fail(forgotten());
    H5_TRY(check_folder(*folder, kOthersRead, "not all users may read the directory"));
    watch_.check(folder);
    H5_ASSIGN(auto listed, folder->source->list());
    const bool empty_mount = folder == root_ && listed.items.empty();
    tell_of_left_out(folder->source->name(), listed.left_out,
                     empty_mount ? ShowsSomething::No : ShowsSomething::Yes);
    auto out = std::make_shared<NameList>();
    for (ForestDirectory::Item& item : listed.items) out->add(std::move(item.name), item.type);
    return out;
  }

  // An object that an open tree gave, together with that tree, which it keeps open.
  template <class Given>
  struct Kept {
    Kept(std::weak_ptr<ForestTree> of, OpenTreePtr from, std::shared_ptr<Given> what)
        : forest(std::move(of)), open(std::move(from)), given(std::move(what)) {}
    ~Kept() {
      given.reset();
      if (const auto left = forest.lock()) left->files_.give_back(std::move(open));
    }
    Kept(const Kept&) = delete;
    Kept& operator=(const Kept&) = delete;
    const std::weak_ptr<ForestTree> forest;
    OpenTreePtr open;
    std::shared_ptr<Given> given;
  };
  template <class Given>
  std::shared_ptr<Given> kept_with(const OpenTreePtr& open, std::shared_ptr<Given> given) {
    const auto both = std::make_shared<Kept<Given>>(weak_from_this(), open, std::move(given));
    return {both, both->given.get()};
  }
  Result<std::shared_ptr<const DirectoryListing>> listing_of(const OpenTreePtr& open, NodeId id,
                                                             RequestBudget& budget) {
    H5_ASSIGN(auto listing, open->tree->open_directory(id, budget));
    return kept_with(open, std::move(listing));
  }

  // A request about a node goes to the tree `open`, or fails with `error`; neither: to the forest itself.
  struct Answering {
    OpenTreePtr open;
    std::optional<Error> error;
  };
  Result<Answering> answering(NodeId id, RequestBudget& budget) {
    H5_ASSIGN(OpenTreePtr own, tree_of(id));
    if (own || hidden_.has(id)) return Answering{std::move(own), std::nullopt};
    H5_ASSIGN(const Place place, place_of(id));
    if (place.kind == EntryKind::Refused) {
      H5_ASSIGN(const ForestEntry now, look_again(id, place));
      return Answering{nullptr, now.error};
    }
    if (place.kind != EntryKind::Hdf5) return Answering{};
    H5_TRY(check_readable(place));
    auto open = files_.open(id, place, budget);
    if (open) return Answering{*std::move(open), std::nullopt};
    if (concerns_one_request(open.error()) || is_gone(id)) return fail(open.error());
    return Answering{nullptr, open.error()};
  }

  Result<std::optional<FileOfNode>> plain_file_of(NodeId id) {
    const auto place = places_.find(id);
    if (hidden_.has(id) || !place || place->kind != EntryKind::Plain) return std::nullopt;
    H5_ASSIGN(const ForestEntry now, look_again(id, *place));
    return FileOfNode{place->path(), id, now.source.stamp, now.source.modified, false, true};
  }

  // ---- what the watch tells

  void changed(const FolderPtr& folder, const std::string& name, bool structure) {
    const auto kernel = files_.kernel();
    if (name.empty()) {
      for (const std::string& known : places_.names_in(*folder)) changed(folder, known, structure);
    } else if (const NodeId id = places_.find_name(*folder, name); id != 0) {
      const auto place = places_.find(id);
      const auto now = folder->source->find_entry(name);
      if (place && now && now->kind == place->kind && now->source.identity == place->identity) {
        files_.compare(id, *place, *now);
        if (kernel) kernel->invalidate(id, kAll, nullptr);
      } else {
        take_name(id);
      }
    } else if (kernel && structure) {
      kernel->invalidate_name(folder->id, name);  // that it is missing
    }
    if (kernel && (structure || name.empty())) kernel->invalidate(folder->id, kAll, nullptr);
  }

  void given_up(const FolderPtr& folder) {
    const auto kernel = files_.kernel();
    if (!kernel) return;
    for (const std::string& name : places_.names_in(*folder)) kernel->invalidate_name(folder->id, name);
    kernel->invalidate(folder->id, kAll, nullptr);
  }

  inline static const std::vector<dataset::ByteRange> kAll{{0, format::kUnlimited}};

  const ForestOptions options_;
  const FolderPtr root_;
  PlaceTable places_;
  ForestFiles files_;
  Catalogue catalogue_;
  const join::JoinedFilePtr joined_;  // null: files are not joined
  const HiddenFiles hidden_;
  FolderPtr hidden_folder_;  // what is a file of its own in the hidden directory; null: nothing is
  DirectoryWatch watch_{{[this](const FolderPtr& folder, const std::string& name, bool structure) {
                           changed(folder, name, structure);
                         },
                         [this](const FolderPtr& folder) { given_up(folder); }}};
};

}  // namespace

std::shared_ptr<Forest> Forest::make(ForestDirectoryPtr top, ForestOptions options) {
  return std::make_shared<ForestTree>(std::move(top), std::move(options));
}

}  // namespace h5mount::tree
