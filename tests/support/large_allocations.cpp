#include "support/large_allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace h5mount::test {

namespace {
std::atomic<std::uint64_t> count{0};

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (bytes >= kLargeAllocation) ++count;
  void* const memory = alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__
                           ? std::malloc(bytes == 0 ? 1 : bytes)
                           : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
}  // namespace

std::uint64_t large_allocations() {
  return count;
}

}  // namespace h5mount::test

void* operator new(std::size_t bytes) {
  return h5mount::test::allocate(bytes, 1);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return h5mount::test::allocate(bytes, static_cast<std::size_t>(alignment));
}
// Sanitizers have one of their own, whose memory is not that of the operator delete below.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  if (bytes >= h5mount::test::kLargeAllocation) ++h5mount::test::count;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
