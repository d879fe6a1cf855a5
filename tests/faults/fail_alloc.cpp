// A library that tests preload: one allocation of the program fails. Which one is said in the file that
// H5MOUNT_FAIL_ALLOC names, through memory that the test maps too: it stores N in `left`, and the N-th
// allocation from then on gets no memory, which adds one to `failed`. With H5MOUNT_FAIL_THREAD only those of
// threads whose names begin so count.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {

struct Control {
  std::atomic<std::int64_t> left, failed;
};

Control* g_control = nullptr;
const char* g_thread = nullptr;

[[gnu::constructor]] void map_control() {
  const char* const path = std::getenv("H5MOUNT_FAIL_ALLOC");
  g_thread = std::getenv("H5MOUNT_FAIL_THREAD");
  const int file = path == nullptr ? -1 : ::open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  void* const shared = ::mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (shared != MAP_FAILED) g_control = static_cast<Control*>(shared);
}

bool counts_here() {
  std::array<char, 17> name{};
  if (g_thread == nullptr) return true;
  ::prctl(PR_GET_NAME, name.data());
  return std::strncmp(name.data(), g_thread, std::strlen(g_thread)) == 0;
}

bool fails() {
  if (g_control == nullptr || g_control->left.load(std::memory_order_relaxed) <= 0) return false;
  if (!counts_here() || g_control->left.fetch_sub(1) != 1) return false;
  g_control->failed.fetch_add(1);
  errno = ENOMEM;
  return true;
}

}  // namespace

extern "C" {
void* malloc(std::size_t size) {
  return fails() ? nullptr : __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  return fails() ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) {
  return fails() ? nullptr : __libc_realloc(old, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  return fails() ? nullptr : __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return memalign(alignment, size);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
  void* const got = memalign(alignment, size);
  if (got == nullptr) return ENOMEM;
  *out = got;
  return 0;
}
}
