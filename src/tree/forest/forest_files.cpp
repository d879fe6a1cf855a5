#include "forest_files.h"

#include <fmt/format.h>

#include "../core/inode_numbers.h"
#include "h5mount/base/advice.h"
#include "h5mount/base/log.h"
#include "h5mount/tree/names.h"

namespace h5mount::tree {

namespace {

constexpr std::chrono::seconds kRetry{60};
// Errors that may be over without a change of the file: a lock, rights of a directory above it, a server's
// answer.
constexpr std::chrono::seconds kRetrySoon{1};

// The name is there, so "no such file" would be taken for an entry that was removed meanwhile.
Error of_shown_file(const Error& why) {
  return why.code() == ErrorCode::NotFound ? Error(ErrorCode::Stale, why.text()) : why;
}

// A file's permissions, as far as its readers see them, in one number.
std::uint64_t rights_of(const object::FileAttributes& file) {
  return mix_bits({file.uid, file.gid, file.mode});
}

// Returns null if the place is not a file, or is a file that nobody has used.
OpenableFilePtr openable_at(const Place& place) {
  return place.kind == ForestEntry::Kind::Hdf5 ? std::static_pointer_cast<OpenableFile>(place.content)
                                               : nullptr;
}

}  // namespace

NodeStat ForestFiles::stat_of(const Place& place, const ForestEntry& entry) const {
  const TreeOptions& options = options_.tree;
  using Kind = ForestEntry::Kind;
  constexpr std::uint32_t kRead = 0444, kReadAndSearch = 0555;
  const object::FileAttributes& source = entry.source.attributes;
  NodeStat out;
  out.ino = ino_of(place, entry);
  out.uid = options.uid.value_or(source.uid);
  out.gid = options.gid.value_or(source.gid);
  out.mtime = source.mtime, out.mtime_nanoseconds = source.mtime_nanoseconds;
  out.type = NodeType::File;
  switch (entry.kind) {
    case Kind::Directory:
      out.type = NodeType::Directory;
      out.mode = source.mode & kReadAndSearch & ~options.directory_umask;
      break;
    case Kind::Hdf5:
      out.type = NodeType::Directory;
      out.mode = ((source.mode & kRead) | (source.mode & kRead) >> 2) & ~options.directory_umask;
      break;
    case Kind::Plain:
      out.mode = source.mode & kReadAndSearch & ~options.file_umask;
      out.size = entry.source.size;
      out.blocks = entry.source.blocks;
      break;
    case Kind::Symlink:
      out.type = NodeType::Symlink;
      out.mode = 0777;
      out.size = entry.target.size();
      break;
    case Kind::Refused:
      out.unreadable = true;
      break;
  }
  return out;
}

std::uint64_t ForestFiles::ino_of(const Place& place, const ForestEntry& entry) {
  if (!place.in) return kRootNode;
  if (entry.source.hard_link != 0) return make_ino(fnv1a("hard link"), entry.source.hard_link);
  return make_ino(fnv1a("forest"), place.path());
}

void ForestFiles::set_kernel(const std::shared_ptr<KernelPages>& kernel) {
  kernel_.store(kernel);
  for (const OpenTreePtr& open : trees_.all()) open->tree->set_kernel(kernel);
}

void ForestFiles::when_more_to_watch(const std::function<void()>& notify) {
  notify_.store(notify ? std::make_shared<const std::function<void()>>(notify) : nullptr);
  for (const OpenTreePtr& open : trees_.all()) open->tree->when_more_to_watch(notify);
}

OpenableFilePtr ForestFiles::openable_of(NodeId id) {
  return places_.content<OpenableFile>(
      id, [](const FolderPtr&, const char*) { return std::make_shared<OpenableFile>(); });
}

OpenTreePtr ForestFiles::opened(const Place& place) {
  const OpenableFilePtr openable = openable_at(place);
  return openable ? trees_.of_file(*openable) : nullptr;
}

std::optional<Error> ForestFiles::error_of(const Place& place) const {
  const OpenableFilePtr openable = openable_at(place);
  if (!openable) return std::nullopt;
  const MutexLock lock(openable->mutex);
  return openable->error;
}

Result<OpenTreePtr> ForestFiles::open(NodeId id, const Place& place, RequestBudget& budget) {
  if (place.detached) return fail({ErrorCode::Stale, "the file was replaced or removed"});
  const OpenableFilePtr openable = openable_of(id);
  if (!openable) return fail({ErrorCode::Stale, "a node that was forgotten"});
  if (OpenTreePtr tree = trees_.of_file(*openable)) return tree;
  std::shared_ptr<OpenableFile::Once> opening;
  {
    const MutexLock lock(openable->mutex);
    if (openable->error && OpenableFile::Clock::now() < openable->retry) return fail(*openable->error);
    if (!openable->opening) openable->opening = std::make_shared<OpenableFile::Once>();
    opening = openable->opening;
  }
  auto made = opening->get([&] { return make(id, place, *openable); }, budget);
  {
    const MutexLock lock(openable->mutex);
    if (openable->opening == opening) openable->opening = nullptr;
  }
  opening.reset();
  drop_oldest();
  return made;
}

// The stamp is taken before the file is opened, so that a write meanwhile counts as a change.
Result<OpenTreePtr> ForestFiles::make(NodeId id, const Place& place, OpenableFile& openable) {
  const auto looked = place.in->source->find_entry(place.name);
  if (!looked && looked.error().code() != ErrorCode::NotFound) return fail(looked.error());
  const ForestEntry entry = looked.value_or(ForestEntry{});
  if (!looked || entry.source.identity != place.identity) {
    take_name(id, place);
    return fail({ErrorCode::Stale, "the file was replaced"});
  }
  const std::uint64_t number = trees_.take_number();
  auto tree = make_tree(id, place, number, entry);
  if (!tree) tree = fail(of_shown_file(tree.error()));
  if (tree) {  // what was opened is what was looked at
    const auto after = place.in->source->find_entry(place.name);
    if (!after || after->source.identity != place.identity)
      tree = fail({ErrorCode::Stale, "the file was replaced while it was opened"});
  }
  {
    const MutexLock lock(openable.mutex);
    openable.stamp = entry.source.stamp;
    openable.rights = rights_of(entry.source.attributes);
    const bool keeps = !tree && !is_momentary(tree.error());
    openable.error = keeps ? std::optional(tree.error()) : std::nullopt;
    const bool stays = tree || is_about_bytes(tree.error().code()) || tree.error().verdict() != 0;
    openable.retry = OpenableFile::Clock::now() + (stays ? kRetry : kRetrySoon);
  }
  if (!tree) {
    trees_.give_back(number);
    if (options_.tree.logs_failed_reads)
      log_once(LogLevel::Warning, fmt::format("{}: {}", place.path(), text_with_advice(tree.error())),
               entry.source.stamp);
    return fail(std::move(tree).error());
  }
  auto open = std::make_shared<OpenTree>();
  open->tree = *std::move(tree);
  open->number = number;
  open->root = id;
  open->in = place.in;
  open->name = place.name;
  open->tree->set_kernel(kernel());
  trees_.add(open, openable);
  if (const auto notify = notify_.load()) {
    open->tree->when_more_to_watch(*notify);
    if (place.in->source->joined()) (*notify)();  // the directories of its files
  }
  return open;
}

Result<std::shared_ptr<SourceTree>> ForestFiles::make_tree(NodeId id, const Place& place,
                                                           std::uint64_t number,
                                                           const ForestEntry& entry) const {
  const ForestDirectoryPtr& in = place.in->source;
  H5_ASSIGN(auto opened, in->open(place.name));
  TreeOptions options = options_.tree;
  options.joined = in->joined();
  auto files = options.joined ? std::move(opened) : siblings_->join(in, place.name, entry, std::move(opened));
  dataset::ReadEnvironment environment = options_.environment(files);
  environment.made = options.joined;
  options.sibling = [in,
                     from = files->main()->directory](std::string_view name) -> std::optional<std::string> {
    const auto shown = in->shown_at(from, name);
    return shown ? std::optional("../" + shown->relative) : std::nullopt;
  };
  H5_ASSIGN(auto tree,
            SourceTree::make(environment, options, {id, OpenTrees::below(number), ino_of(place, entry)}));
  H5_TRY(tree->stat(id, StatDepth::Listing));
  return tree;
}

void ForestFiles::compare(NodeId id, const Place& place, const ForestEntry& now) {
  if (place.detached) return;
  if (now.source.identity != place.identity || now.kind != place.kind) return take_name(id, place);
  const OpenableFilePtr openable = openable_at(place);
  if (!openable) return;
  const std::uint64_t rights = rights_of(now.source.attributes);
  bool other_rights = false;
  {
    const MutexLock lock(openable->mutex);
    if (openable->stamp == now.source.stamp) return;
    other_rights = openable->rights != rights;
    openable->error = std::nullopt;
  }
  const auto note = [&] {
    const MutexLock lock(openable->mutex);
    openable->stamp = now.source.stamp;
    openable->rights = rights;
  };
  const OpenTreePtr open = trees_.of_file(*openable);
  if (!open) return note();
  bool current = false;
  {
    const SoleTurn turn(open->checking);
    if (!turn.mine()) return;  // another thread compares it
    open->tree->file_changed();
    current = open->tree->state() == SourceTree::State::Current;
  }
  // Nodes show the rights that the file had when it was opened.
  if (!current || other_rights) return take_name(id, place);
  note();
}

void ForestFiles::take_name(NodeId id, const Place& place) {
  places_.detach(id);
  if (OpenTreePtr open = opened(place)) {
    open->retention = OpenTree::Retention::Replaced;
    drop_unused(std::move(open));
  }
  if (const auto kernel = this->kernel()) kernel->invalidate_name(place.in->id, place.name);
}

void ForestFiles::drop_unused(OpenTreePtr tree) {
  if (tree->retention == OpenTree::Retention::Stays) return;
  const NodeId root = tree->root;
  if (trees_.drop(std::move(tree))) places_.release(root);
}

void ForestFiles::drop_oldest() {
  const auto kernel = this->kernel();
  for (OpenTreePtr& tree : trees_.too_many()) {
    auto stays = OpenTree::Retention::Stays;
    tree->retention.compare_exchange_strong(stays, OpenTree::Retention::Aged);
    if (kernel && tree->tree->known_nodes() > 0) kernel->invalidate_name(tree->in->id, tree->name);
    drop_unused(std::move(tree));
  }
}

}  // namespace h5mount::tree
