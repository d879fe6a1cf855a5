#include "xattr_answers.h"

#include <functional>
#include <utility>

namespace h5mount::fuse {

std::size_t XattrAnswers::slot_of(fuse_ino_t node, std::string_view name) {
  return (std::hash<std::string_view>{}(name) + node * 0x9E3779B9U) % kSlots;
}

void XattrAnswers::keep(fuse_ino_t node, std::string_view name, std::string answer, Clock::time_point now) {
  Slot made{node, std::string(name), std::move(answer), now};
  const MutexLock lock(mutex_);
  std::swap(slots_[slot_of(node, name)], made);
}

std::optional<std::string> XattrAnswers::take(fuse_ino_t node, std::string_view name, Clock::time_point now) {
  const MutexLock lock(mutex_);
  Slot& slot = slots_[slot_of(node, name)];
  if (slot.node != node || slot.name != name) return std::nullopt;
  slot.node = 0;
  if (now - slot.kept > kLifetime) return std::nullopt;
  return std::move(slot.answer);
}

}  // namespace h5mount::fuse
