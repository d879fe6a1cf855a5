// Preloaded into the program: counts allocations of 64 KiB and more, in memory that the test shares (the
// file that LARGE_ALLOCATIONS names holds a number of 8 bytes).
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
}

namespace {

constexpr std::size_t kLarge = 64 << 10;
// libfuse's buffer for a request. Each thread that serves has one, and the scheduler decides how many do.
constexpr std::size_t kRequestBuffer = (1 << 20) + (4 << 10);

std::atomic<std::uint64_t>* g_count = nullptr;

void note(std::size_t size) {
  if (size < kLarge || size == kRequestBuffer || g_count == nullptr) return;
  g_count->fetch_add(1, std::memory_order_relaxed);
}

__attribute__((constructor)) void open_count() {
  const char* name = std::getenv("LARGE_ALLOCATIONS");
  const int fd = name == nullptr ? -1 : ::open(name, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void* shared = ::mmap(nullptr, sizeof *g_count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  if (shared != MAP_FAILED) g_count = static_cast<std::atomic<std::uint64_t>*>(shared);
}

}  // namespace

extern "C" {

void* malloc(std::size_t size) {
  note(size);
  return __libc_malloc(size);
}

void* calloc(std::size_t count, std::size_t size) {
  std::size_t bytes = 0;
  if (!__builtin_mul_overflow(count, size, &bytes)) note(bytes);
  return __libc_calloc(count, size);
}

void* realloc(void* memory, std::size_t size) {
  note(size);
  return __libc_realloc(memory, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) {
  note(size);
  return __libc_memalign(alignment, size);
}

int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
  note(size);
  void* memory = __libc_memalign(alignment, size);
  if (memory == nullptr) return ENOMEM;
  *out = memory;
  return 0;
}
}
