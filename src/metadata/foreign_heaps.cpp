#include "h5mount/metadata/foreign_heaps.h"

namespace h5mount::metadata {

// Numbers begin with 1: the lowest places from 2^63 on are addresses of sets of files (the multi driver's
// default puts global heaps there).
Result<std::uint64_t> ForeignHeaps::place_of(const std::string& key, const Heap& heap) {
  const MutexLock lock(mutex_);
  const auto [known, added] = numbers_.try_emplace(key, entries_.size() + 1);
  if (added && entries_.size() + 1 >= kMaxHeaps) {
    numbers_.erase(known);
    return fail(Error(ErrorCode::LimitExceeded, "too many files with values of variable length")
                    .with_expected(kMaxHeaps));
  }
  if (added) entries_.push_back({.heap = heap});
  return kForeign | static_cast<std::uint64_t>(known->second) << kNumberAt;
}

std::optional<ForeignHeaps::Found> ForeignHeaps::find(std::uint64_t place) const {
  if (!is_foreign(place)) return std::nullopt;
  const std::uint64_t number = (place & ~kForeign) >> kNumberAt;
  const MutexLock lock(mutex_);
  if (number == 0 || number > entries_.size()) return std::nullopt;
  return Found{entries_[static_cast<std::size_t>(number - 1)].heap, place & ~kMaxAddress,
               place & kMaxAddress};
}

Result<std::shared_ptr<FollowedFile>> ForeignHeaps::file_of(const Found& found) {
  const auto number = static_cast<std::size_t>((found.place & ~kForeign) >> kNumberAt);
  {
    const MutexLock lock(mutex_);
    if (auto open = entries_[number - 1].file.lock()) return open;
  }
  H5_ASSIGN(auto opened, found.heap.open());
  const MutexLock lock(mutex_);
  entries_[number - 1].file = opened;
  if (kept_.size() < kKeptOpen)
    kept_.push_back(opened);
  else
    kept_[next_kept_++ % kKeptOpen] = opened;
  return opened;
}

Result<GlobalHeapObject> ForeignHeaps::load(const Found& found, std::uint32_t index) {
  const auto read = [&]() -> Result<GlobalHeapObject> {
    H5_ASSIGN(const auto file, file_of(found));
    H5_ASSIGN(const FileMetadataPtr snapshot, file->current());
    H5_ASSIGN(auto object, load_global_heap_object(*snapshot, found.address, index));
    H5_TRY(file->confirm_unchanged());
    return found.heap.convert ? found.heap.convert(object) : Result<GlobalHeapObject>(std::move(object));
  };
  auto object = read();
  if (!object) return fail(object.error().within("virtual source " + found.heap.name));
  return object;
}

}  // namespace h5mount::metadata
