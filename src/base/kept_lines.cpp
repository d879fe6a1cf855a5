#include "kept_lines.h"

#include <algorithm>

namespace h5mount {

void KeptLines::add(std::time_t when, std::string line) {
  const MutexLock lock(mutex_);
  const std::uint64_t begin = extent_.end;
  extent_.end += line.size();
  extent_.last = when;
  lines_.push_back({begin, std::move(line)});
  if (lines_.size() > kMaxLines) lines_.pop_front();
  extent_.begin = lines_.front().begin;
}

KeptLog KeptLines::extent() const {
  const MutexLock lock(mutex_);
  return extent_;
}

std::optional<std::string> KeptLines::read(std::uint64_t offset, std::size_t length) const {
  const MutexLock lock(mutex_);
  if (offset < extent_.begin) return std::nullopt;
  std::string out;
  if (offset >= extent_.end) return out;
  auto line = std::prev(std::ranges::upper_bound(lines_, offset, {}, &Line::begin));
  auto skipped = static_cast<std::size_t>(offset - line->begin);
  for (; line != lines_.end() && out.size() < length; ++line, skipped = 0)
    out += std::string_view(line->text).substr(skipped, length - out.size());
  return out;
}

bool SeenCauses::add(std::uint64_t cause) {
  const MutexLock lock(mutex_);
  if (!seen_.insert(cause).second) return false;
  order_.push_back(cause);
  if (order_.size() > kMaxCauses) {
    seen_.erase(order_.front());
    order_.pop_front();
  }
  return true;
}

void SeenCauses::remove(std::uint64_t cause) {
  const MutexLock lock(mutex_);
  if (seen_.erase(cause) != 0) std::erase(order_, cause);
}

}  // namespace h5mount
