#include "temporary.h"

#include <algorithm>
#include <array>
#include <utility>

namespace h5mount::filter {

namespace {

constexpr std::size_t kReused = 4;            // buffers per thread: no more are in use at the same time
constexpr std::size_t kMostBytes = 4U << 20;  // larger buffers are rare and freed at once

std::array<ScratchBuffer, kReused>& reused_buffers() {
  thread_local std::array<ScratchBuffer, kReused> buffers;
  return buffers;
}

}  // namespace

Temporary::Temporary(std::size_t size) {
  const auto free = std::ranges::find_if(reused_buffers(),
                                         [&](const ScratchBuffer& one) { return one.capacity() >= size; });
  if (free != reused_buffers().end()) std::swap(buffer_, *free);
  bytes_ = buffer_.grown(size);
}

Temporary::~Temporary() {
  if (buffer_.capacity() > kMostBytes) return;
  const auto smallest = std::ranges::min_element(reused_buffers(), {}, &ScratchBuffer::capacity);
  if (smallest->capacity() < buffer_.capacity()) *smallest = std::move(buffer_);
}

}  // namespace h5mount::filter
