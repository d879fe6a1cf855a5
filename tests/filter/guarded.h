// A buffer followed by an inaccessible page, which detects accesses beyond the end also in libraries without
// sanitizer instrumentation. Under the address sanitizer, accesses before the first byte are detected too.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>

#if defined(__SANITIZE_ADDRESS__)
#define H5_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define H5_ADDRESS_SANITIZER 1
#endif
#endif
#if defined(H5_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#endif

#include "h5mount/base/bytes.h"

namespace h5mount::test {

class Guarded {
 public:
  explicit Guarded(std::size_t most) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    usable_ = (most + page - 1) / page * page;
    length_ = usable_ + page;
    void* at = ::mmap(nullptr, length_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::runtime_error("mmap");
    base_ = static_cast<std::byte*>(at);
    ::mprotect(base_ + usable_, page, PROT_NONE);
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() {
    forbid_before(base_);
    ::munmap(base_, length_);
  }

  // The last `size` bytes before the inaccessible page.
  MutableByteSpan last(std::size_t size) {
    forbid_before(base_ + usable_ - size);
    return {base_ + usable_ - size, size};
  }
  MutableByteSpan copy(ByteSpan bytes) {
    const MutableByteSpan to = last(bytes.size());
    if (!bytes.empty()) std::memcpy(to.data(), bytes.data(), bytes.size());
    return to;
  }

 private:
  void forbid_before([[maybe_unused]] std::byte* first) {
#if defined(H5_ADDRESS_SANITIZER)
    ASAN_UNPOISON_MEMORY_REGION(base_, usable_);
    ASAN_POISON_MEMORY_REGION(base_, static_cast<std::size_t>(first - base_));
#endif
  }

  std::byte* base_ = nullptr;
  std::size_t usable_ = 0;
  std::size_t length_ = 0;
};

}  // namespace h5mount::test
