#include "surviving_mount.h"

#include <algorithm>
#include <new>

#include "h5mount/base/hash.h"
#include "h5mount/base/log.h"
#include "surviving_tree.h"

namespace h5mount::survive {
namespace {

// Never 0, as a generation is never 0.
std::uint64_t number_at(std::uint32_t index, std::uint32_t generation) {
  return std::uint64_t{generation} << 32 | index;
}

std::uint64_t digest_of(const tree::DirectoryListing& listing) {
  std::uint64_t out = fnv1a("names");
  std::string made;
  for (std::size_t i = 0; i < listing.size(); ++i)
    out = out * 0x9E37'79B9'7F4A'7C15U + fnv1a(listing.at(i, made).name);
  return std::max<std::uint64_t>(out, 1);
}

}  // namespace

std::shared_ptr<tree::Tree> SurvivingMount::adopt(std::shared_ptr<tree::Tree> tree) {
  return std::make_shared<SurvivingTree>(std::move(tree), nodes, goes_on_);
}

Status SurvivingMount::begin(int device, const std::function<bool(std::span<std::byte> request)>& process) {
  if (!goes_on_ && !keep_device_(device))
    return fail(Error(ErrorCode::Io, "the process that is to keep the mount has ended: mount again"));
  if (goes_on_)
    log(LogLevel::Warning,
        "this server goes on in place of another server, with {} requests that it had read",
        requests.inherited());
  return requests.begin(device, process);
}

// ---- handles

void SurvivingMount::take_over_handles() {
  const MutexLock lock(mutex_);
  SharedHeader& header = memory.header();
  header.handles = std::min<std::uint64_t>(header.handles, SurvivingMemory::kHandles);
  for (std::uint32_t index = 0; index < header.handles; ++index) {
    SharedHandle& handle = memory.handles()[index];
    const bool sound = handle.kind == HandleKind::File || handle.kind == HandleKind::Directory;
    if (sound && handle.generation != 0) continue;
    handle.kind = HandleKind::None;
    free_handles_.push_back(index);
  }
}

SharedHandle* SurvivingMount::find_handle(std::uint64_t number) const {
  const auto index = static_cast<std::uint32_t>(number);
  if (index >= memory.header().handles) return nullptr;
  SharedHandle& out = memory.handles()[index];
  return out.kind != HandleKind::None && number == number_at(index, out.generation) ? &out : nullptr;
}

std::uint64_t SurvivingMount::add_handle(HandleKind kind, tree::NodeId node) {
  const MutexLock lock(mutex_);
  SharedHeader& header = memory.header();
  if (free_handles_.empty()) {
    if (header.handles == SurvivingMemory::kHandles) throw std::bad_alloc();
    free_handles_.push_back(static_cast<std::uint32_t>(header.handles++));
  }
  const std::uint32_t index = free_handles_.back();
  free_handles_.pop_back();
  SharedHandle& handle = memory.handles()[index];
  handle.generation = std::max(handle.generation + 1, 1U);
  handle.node = node;
  handle.listing = 0;
  SurvivingMemory::publish(handle.kind, kind);
  return number_at(index, handle.generation);
}

void SurvivingMount::remove_handle(std::uint64_t number) {
  const MutexLock lock(mutex_);
  SharedHandle* const handle = find_handle(number);
  if (handle == nullptr) return;
  SurvivingMemory::publish(handle->kind, HandleKind::None);
  free_handles_.push_back(static_cast<std::uint32_t>(number));
}

Result<tree::NodeId> SurvivingMount::handle_node(std::uint64_t number, HandleKind kind) const {
  const MutexLock lock(mutex_);
  const SharedHandle* const handle = find_handle(number);
  if (handle != nullptr && handle->kind == kind) return handle->node;
  return fail({ErrorCode::Stale, "an open file that is not known"});
}

Status SurvivingMount::check_listing(std::uint64_t number, const tree::DirectoryListing& names, bool begins) {
  const std::uint64_t digest = digest_of(names);
  const MutexLock lock(mutex_);
  SharedHandle* const handle = find_handle(number);
  if (handle == nullptr) return {};
  if (!begins && handle->listing != 0 && handle->listing != digest)
    return fail({ErrorCode::Stale, "the directory changed while it was listed and the server was replaced"});
  handle->listing = digest;
  return {};
}

}  // namespace h5mount::survive
