#include "node.h"

#include "h5mount/tree/names.h"
#include "served_file.h"

namespace h5mount::tree {

namespace {

// The finaliser of splitmix64: every bit of the input affects every bit of the output.
std::uint64_t mix(std::uint64_t value) {
  value += 0x9E37'79B9'7F4A'7C15U;
  value = (value ^ (value >> 30)) * 0xBF58'476D'1CE4'E5B9U;
  value = (value ^ (value >> 27)) * 0x94D0'49BB'1331'11EBU;
  return value ^ (value >> 31);
}

Error not_found() {
  return {ErrorCode::NotFound, "no such name"};
}

}  // namespace

std::size_t hash_of(const NodeKey& key) {
  const auto file = reinterpret_cast<std::uintptr_t>(key.file);
  std::uint64_t hash = mix(file ^ (static_cast<std::uint64_t>(key.kind) << 56));
  hash = mix(hash ^ key.address);
  return key.name.empty() ? hash : mix(hash ^ fnv1a(key.name));
}

std::uint64_t make_ino(std::uint64_t parent, std::uint64_t what) {
  const std::uint64_t ino = mix(mix(parent) ^ what);
  return ino > kRootNode ? ino : ino + 2;
}

std::uint64_t make_ino(std::uint64_t parent, std::string_view what) {
  return make_ino(parent, fnv1a(what));
}

// A node of its own under /.h5, or a link, whose key contains group and name.
const FollowedFilePtr& Node::read_from() const {
  static const FollowedFilePtr none;
  return none;
}

Subject Node::subject() const {
  auto* const file = static_cast<ServedFile*>(const_cast<void*>(key_.file));
  if (key_.kind == NodeKey::Kind::VirtualDirectory || file == nullptr) return {nullptr, "/.h5/" + key_.name};
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
