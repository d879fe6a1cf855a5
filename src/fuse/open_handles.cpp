#include "open_handles.h"

#include <utility>

namespace h5mount::fuse {

std::uint64_t OpenHandles::add(std::shared_ptr<OpenHandle> handle) {
  auto slot = std::make_unique<const Slot>(std::move(handle));
  const auto number = reinterpret_cast<std::uint64_t>(slot.get());
  const MutexLock lock(mutex_);
  slots_.emplace(number, std::move(slot));
  return number;
}

void OpenHandles::remove(std::uint64_t number) {
  decltype(slots_)::node_type removed;  // destroyed after the lock is released
  const MutexLock lock(mutex_);
  removed = slots_.extract(number);
}

}  // namespace h5mount::fuse
