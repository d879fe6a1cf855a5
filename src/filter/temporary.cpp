#include "temporary.h"

#include <utility>

namespace h5mount::filter {

namespace {
constexpr std::size_t kKept = 4;  // buffers a thread keeps: more are never in use at once
constexpr std::size_t kKeptBytes = 4U
                                   << 20;  // larger ones are rare, and worth more to the rest of the program
}  // namespace

struct Temporary::Store {
  std::array<Buffer, kKept> buffers;
};

Temporary::Store& Temporary::store() {
  thread_local Store store;
  return store;
}

Temporary::Temporary(std::size_t size) : size_(size) {
  for (Buffer& kept : store().buffers) {
    if (kept.capacity >= size && kept.bytes != nullptr) {
      buffer_ = std::exchange(kept, Buffer{});
      return;
    }
  }
  buffer_ = {std::make_unique_for_overwrite<std::byte[]>(size), size};
}

Temporary::~Temporary() {
  if (buffer_.capacity > kKeptBytes) return;
  Buffer* smallest = nullptr;
  for (Buffer& kept : store().buffers) {
    if (smallest == nullptr || kept.capacity < smallest->capacity) smallest = &kept;
  }
  if (smallest->capacity < buffer_.capacity) *smallest = std::move(buffer_);
}

}  // namespace h5mount::filter
