#include "random_pattern.h"

#include <algorithm>

namespace h5mount::fuse {

RandomPattern::Noted RandomPattern::note(std::uint64_t offset, std::uint64_t length) {
  Noted out;
  if (image_bytes_ > kMaxImage || offset >= image_bytes_ || length == 0) return out;
  states_.resize(static_cast<std::size_t>((image_bytes_ + kPage - 1) / kPage), State::Unknown);
  const std::uint64_t first = offset / kPage;
  const std::uint64_t last = std::min((offset + length - 1) / kPage, states_.size() - 1);
  for (std::uint64_t page = first; page <= last; ++page) {
    if (states_[page] == State::Probe) {
      ++probes_used_;
      out.probe_used = true;
    }
    states_[page] = State::Present;
  }
  if (length > kWindow) return out;  // the kernel's own read-ahead
  ++requests_;
  asked_bytes_ += length;
  if (!may_store()) return out;
  if (const auto window = next_window(first / kPagesPerWindow)) take(*window, out);
  return out;
}

bool RandomPattern::may_store() const {
  if (requests_ < kSureAfter || stored_bytes_ + kWindow > asked_bytes_) return false;
  return windows_ < kFirstWindows || 2 * probes_used_ >= probes_;
}

// The window of the request, else the first one of the image.
std::optional<std::uint64_t> RandomPattern::next_window(std::uint64_t near) {
  if (has_unknown(near)) return near;
  while (rest_ < window_count() && !has_unknown(rest_)) ++rest_;
  if (rest_ == window_count()) return std::nullopt;
  return rest_;
}

bool RandomPattern::has_unknown(std::uint64_t window) const {
  const auto begin = states_.begin() + static_cast<std::ptrdiff_t>(window * kPagesPerWindow);
  const auto end = states_.end() - begin < static_cast<std::ptrdiff_t>(kPagesPerWindow)
                       ? states_.end()
                       : begin + static_cast<std::ptrdiff_t>(kPagesPerWindow);
  return std::find(begin, end, State::Unknown) != end;
}

void RandomPattern::take(std::uint64_t window, Noted& out) {
  const std::uint64_t begin = window * kPagesPerWindow;
  const std::uint64_t end = std::min<std::uint64_t>(begin + kPagesPerWindow, states_.size());
  for (std::uint64_t page = begin; page < end; ++page) {
    if (states_[page] != State::Unknown) continue;
    if (page % kProbeEvery == kProbeEvery - 1) {
      states_[page] = State::Probe;
      ++out.probes;
      continue;
    }
    states_[page] = State::Present;
    const std::uint64_t at = page * kPage, stop = std::min(at + kPage, image_bytes_);
    stored_bytes_ += stop - at;
    if (!out.store.empty() && out.store.back().second == at)
      out.store.back().second = stop;
    else
      out.store.emplace_back(at, stop);
  }
  ++windows_;
  probes_ += out.probes;
}

}  // namespace h5mount::fuse
