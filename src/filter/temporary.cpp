#include "temporary.h"

#include <algorithm>
#include <array>
#include <utility>

namespace h5mount::filter {

namespace {
constexpr std::size_t kKept = 4;              // buffers per thread: no more are in use at the same time
constexpr std::size_t kKeptBytes = 4U << 20;  // larger buffers are rare and freed at once
}  // namespace

struct Temporary::Store {
  std::array<ScratchBuffer, kKept> buffers;
};

Temporary::Store& Temporary::store() {
  thread_local Store store;
  return store;
}

Temporary::Temporary(std::size_t size) {
  for (ScratchBuffer& kept : store().buffers) {
    if (kept.capacity() < size) continue;
    std::swap(buffer_, kept);
    break;
  }
  bytes_ = buffer_.grown(size);
}

Temporary::~Temporary() {
  if (buffer_.capacity() > kKeptBytes) return;
  const auto smallest = std::ranges::min_element(store().buffers, {}, &ScratchBuffer::capacity);
  if (smallest->capacity() < buffer_.capacity()) *smallest = std::move(buffer_);
}

}  // namespace h5mount::filter
