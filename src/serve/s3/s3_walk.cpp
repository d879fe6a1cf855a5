#include "s3_walk.h"

#include <algorithm>
#include <utility>

#include "../http/message.h"

namespace h5mount::serve {
namespace {

constexpr std::uint64_t kKeySteps = 1000;

// Keys are compared as unsigned bytes.
bool is_before_slash(char c) {
  return static_cast<unsigned char>(c) < '/';
}

// Whether `name` stands before all entries of a directory named `directory`, and behind that name itself.
bool comes_between(std::string_view directory, std::string_view name) {
  return name.size() > directory.size() && name.starts_with(directory) &&
         is_before_slash(name[directory.size()]);
}

// Whether the error is about the request, not about the node that it looks at.
bool ends_request(const Error& error) {
  return (is_passing(error) && !is_held_by_writer(error)) || error.code() == ErrorCode::Stale;
}

// Whether no entry has the name, although a lookup would find something by it.
bool is_no_name(std::string_view name) {
  return name.empty() || name == "." || name == "..";
}

}  // namespace

std::string behind(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xFF') prefix.pop_back();
  if (!prefix.empty()) prefix.back() = static_cast<char>(prefix.back() + 1);
  return prefix;
}

KeyWalk::KeyWalk(std::shared_ptr<const Snapshot> snapshot, OrderCache& orders, std::string prefix, bool deep)
    : snapshot_(std::move(snapshot)), orders_(orders), prefix_(std::move(prefix)), deep_(deep) {}

Result<tree::Entry> KeyWalk::find_entry(const Level& level, std::size_t rank, RequestBudget& budget) {
  H5_TRY(budget.spend(kKeySteps + level.path.size()));
  const OrderedNames& names = *level.names;
  return snapshot_->tree->lookup_listed(names.directory(), names.listing(), names.position(rank), read_,
                                        budget);
}

Result<bool> KeyWalk::is_directory(const Level& level, std::size_t rank, RequestBudget& budget) {
  std::string made;
  const auto item = level.names->listing().typed_at(level.names->position(rank), made);
  if (item.type_known) return item.type == tree::NodeType::Directory;
  const auto entry = find_entry(level, rank, budget);
  if (!entry) return ends_request(entry.error()) ? Result<bool>(fail(entry.error())) : Result<bool>(false);
  const front::NodeReference node(snapshot_->tree, entry->node);
  return entry->stat.type == tree::NodeType::Directory;
}

Status KeyWalk::begin_level(std::string path, front::NodeReference directory, std::string_view prefix,
                            std::string_view bound, RequestBudget& budget) {
  H5_ASSIGN(OrderedNamesPtr names, orders_.open(snapshot_, std::move(directory), budget));
  Level level{std::move(path), std::move(names)};
  level.next = level.names->lower_bound(std::max(bound, prefix));
  level.end = level.names->size();
  if (const std::string last = behind(std::string(prefix)); !last.empty())
    level.end = std::max(level.next, level.names->lower_bound(last));
  // Directories are deferred whose own name is before the bound, if not all their entries are.
  for (std::size_t length = std::max<std::size_t>(prefix.size(), 1); length < bound.size(); ++length) {
    if (!is_before_slash(bound[length]) && bound[length] != '/') continue;
    const std::string_view name = bound.substr(0, length);
    const std::size_t rank = level.names->lower_bound(name);
    if (rank < level.names->size() && level.names->name(rank) == name && name.starts_with(prefix)) {
      H5_ASSIGN(const bool is, is_directory(level, rank, budget));
      if (is) level.deferred.push_back(rank);
    }
    if (bound[length] == '/') break;
  }
  levels_.push_back(std::move(level));
  return {};
}

Status KeyWalk::seek(std::string_view from, RequestWork& work) {
  RequestBudget& budget = work.budget();
  levels_.clear();
  shows_base_ = false;
  from_ = std::max(from, std::string_view(prefix_));
  const std::size_t base = prefix_.rfind('/') + 1;  // 0 if there is none
  const std::string path = prefix_.substr(0, base);
  if (base > kMaxKey || !from_.starts_with(path)) return {};
  front::NodeReference directory;
  for (std::size_t begin = 0; begin < base;) {
    const std::size_t end = path.find('/', begin);
    const std::string name = path.substr(begin, end - begin);
    if (is_no_name(name)) return {};
    const auto entry = snapshot_->tree->lookup(directory.id(), name, budget);
    if (!entry) return entry.error().code() == ErrorCode::NotFound ? Status() : Status(fail(entry.error()));
    directory = front::NodeReference(snapshot_->tree, entry->node);
    if (entry->stat.type != tree::NodeType::Directory) return {};
    base_.stat = entry->stat;
    if (snapshot_->shown && !snapshot_->shown(entry->stat))
      return fail(Error(ErrorCode::AccessDenied, "/" + path.substr(0, end) + ": not all may read it"));
    begin = end + 1;
  }
  H5_TRY(begin_level(path, std::move(directory), std::string_view(prefix_).substr(base),
                     std::string_view(from_).substr(base), budget));
  base_.key = path;
  shows_base_ = base > 0 && prefix_ == path && from_ <= path && levels_.back().names->size() == 0;
  return {};
}

std::optional<Error> KeyWalk::trouble_with(const OrderedNames& names, RequestBudget& budget) const {
  return trouble_of(*snapshot_->tree, names.directory(), names.listing(), budget);
}

// The next entry of a level in the order of keys; nullopt at the level's end.
Result<std::optional<std::size_t>> KeyWalk::next_rank(Level& level, RequestBudget& budget) {
  for (;;) {
    const bool more = level.next < level.end;
    const std::string name = more ? level.names->name(level.next) : std::string();
    if (!level.deferred.empty()) {
      const std::size_t rank = level.deferred.back();
      if (!more || !comes_between(level.names->name(rank), name)) {
        level.deferred.pop_back();
        return rank;
      }
    }
    if (!more) return std::nullopt;
    const std::size_t rank = level.next++;
    if (level.next == level.end || !comes_between(name, level.names->name(level.next))) return rank;
    H5_ASSIGN(const bool is, is_directory(level, rank, budget));
    if (!is) return rank;
    level.deferred.push_back(rank);
  }
}

// Follows the symlink at `key`; returns nullopt if it does not lead to a file.
Result<std::optional<WalkedKey>> KeyWalk::follow(std::string key, RequestBudget& budget) {
  auto found = front::find_path(snapshot_->tree, key, front::LastLink::Follow, budget);
  if (!found && found.error().code() == ErrorCode::NotFound) return std::nullopt;
  if (!found && ends_request(found.error())) return fail(found.error());
  if (!found) return WalkedKey{.key = std::move(key), .trouble = found.error()};
  if (found->stat.type != tree::NodeType::File) return std::nullopt;
  return WalkedKey{.key = std::move(key), .node = std::move(found->node), .stat = found->stat};
}

// Continues with the entries of a directory. The directory itself is a key if it is empty or has trouble.
Result<std::optional<WalkedKey>> KeyWalk::enter(WalkedKey directory, RequestBudget& budget) {
  if (directory.key.size() > kMaxKey) return std::nullopt;
  std::string_view bound(from_);
  bound = bound.starts_with(directory.key) ? bound.substr(directory.key.size()) : std::string_view();
  const Status begun = snapshot_->shown && !snapshot_->shown(directory.stat)
                           ? Status(fail(Error(ErrorCode::AccessDenied, "not all may read it")))
                           : begin_level(directory.key, std::move(directory.node), {}, bound, budget);
  if (!begun && ends_request(begun.error())) return fail(begun.error());
  directory.trouble = begun ? trouble_with(*levels_.back().names, budget) : std::optional(begun.error());
  const bool empty = begun && levels_.back().names->size() == 0;
  if ((!directory.trouble && !empty) || directory.key < from_) return std::nullopt;
  return directory;
}

Result<std::optional<WalkedKey>> KeyWalk::visit(const Level& level, std::size_t rank, RequestBudget& budget) {
  std::string key = level.path + level.names->name(rank);
  const auto entry = find_entry(level, rank, budget);
  if (!entry && ends_request(entry.error())) return fail(entry.error());
  if (!entry && entry.error().code() == ErrorCode::NotFound) return std::nullopt;  // the entry is gone
  if (key.size() > kMaxKey) return std::nullopt;
  if (!entry) return WalkedKey{.key = std::move(key), .trouble = entry.error()};
  front::NodeReference node(snapshot_->tree, entry->node);
  switch (entry->stat.type) {
    case tree::NodeType::Symlink:
      return follow(std::move(key), budget);
    case tree::NodeType::File:
      return WalkedKey{.key = std::move(key), .node = std::move(node), .stat = entry->stat};
    case tree::NodeType::Directory:
      break;
  }
  WalkedKey directory{.key = key + '/', .directory = true, .node = std::move(node), .stat = entry->stat};
  if (deep_) return enter(std::move(directory), budget);
  return directory;
}

Result<std::optional<WalkedKey>> KeyWalk::next(RequestWork& work) {
  while (!levels_.empty()) {
    H5_ASSIGN(const std::optional<std::size_t> rank, next_rank(levels_.back(), work.budget()));
    if (rank) {
      H5_ASSIGN(std::optional<WalkedKey> out, visit(levels_.back(), *rank, work.budget()));
      if (out) return out;
      continue;
    }
    const OrderedNamesPtr names = levels_.back().names;
    levels_.pop_back();
    // The damage of the directory that was asked for is shown only here.
    if (auto trouble = levels_.empty() ? trouble_with(*names, work.budget()) : std::nullopt)
      return fail(*trouble);
  }
  if (std::exchange(shows_base_, false)) return WalkedKey{.key = base_.key, .stat = base_.stat};
  return std::nullopt;
}

}  // namespace h5mount::serve
