#include "node.h"

#include <fmt/format.h>

#include "h5mount/base/checked.h"
#include "h5mount/tree/names.h"
#include "inode_numbers.h"
#include "served_file.h"

namespace h5mount::tree {

namespace {

Error not_found() {
  return {ErrorCode::NotFound, "no such name"};
}

}  // namespace

void set_size(NodeStat& stat, std::uint64_t bytes) {
  constexpr std::uint64_t kBlockBytes = 512;
  stat.size = bytes;
  stat.blocks = divide_up(bytes, kBlockBytes);
}

void set_unreadable_size(NodeStat& stat) {
  if (stat.size == 0) set_size(stat, 1);
}

std::size_t hash_of(const NodeKey& key) {
  const auto file = reinterpret_cast<std::uintptr_t>(key.file);
  std::uint64_t hash = mix_bits(file ^ (static_cast<std::uint64_t>(key.kind) << 56));
  hash = mix_bits(hash ^ key.address);
  return key.name.empty() ? hash : mix_bits(hash ^ fnv1a(key.name));
}

const FollowedFilePtr& Node::read_from() const {
  static const FollowedFilePtr none;
  using enum NodeKey::Kind;
  const bool of_file = key_.kind == Object || key_.kind == ViewFile || key_.kind == ViewDirectory;
  return of_file ? file_of_key()->file()->followed : none;
}

ServedFile* Node::file_of_key() const {
  return static_cast<ServedFile*>(const_cast<void*>(key_.file));
}

bool Node::follows() const {
  const ServedFile* const file = file_of_key();
  return file != nullptr && file->followed().following();
}

Result<std::vector<NodeSource>> Node::sources(RequestBudget&) {
  std::vector<NodeSource> out;
  if (const ServedFile* const file = file_of_key()) out.push_back(file->as_source());
  return out;
}

Subject Node::subject() const {
  ServedFile* const file = file_of_key();
  if (key_.kind == NodeKey::Kind::VirtualDirectory || file == nullptr)
    return {nullptr, fmt::format("/{}/{}", kHiddenName, key_.name)};
  if (!key_.name.starts_with('/')) return {file, file->path_of_object(key_.address)};
  return {file, file->path_of({key_.address, key_.name.substr(1)})};
}

Result<NodePtr> Node::child(std::string_view, RequestBudget&) {
  return fail(not_found());
}

Result<std::shared_ptr<const DirectoryListing>> Node::list(RequestBudget&) {
  return fail({ErrorCode::Internal, "not a directory"});
}

Result<NodePtr> Node::listed_child(const DirectoryListing& listing, std::size_t position,
                                   RequestBudget& budget) {
  return child(listing.name_at(position), budget);
}

Result<std::string> Node::readlink() {
  return fail({ErrorCode::Internal, "not a symbolic link"});
}

Result<std::shared_ptr<OpenNode>> Node::open(RequestBudget&) {
  return fail({ErrorCode::Internal, "not a file"});
}

Result<std::vector<std::string>> Node::list_xattrs(RequestBudget&) {
  return std::vector<std::string>{};
}

Result<std::string> Node::get_xattr(std::string_view, RequestBudget&) {
  return fail(not_found());
}

}  // namespace h5mount::tree
