// Bytes whose end is the end of the world: the page behind them cannot be touched. It catches what libraries
// that no sanitizer has instrumented read or write too far.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>

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
  ~Guarded() { ::munmap(base_, length_); }

  // The last `size` bytes before the wall.
  MutableByteSpan last(std::size_t size) { return {base_ + usable_ - size, size}; }
  MutableByteSpan copy(ByteSpan bytes) {
    const MutableByteSpan to = last(bytes.size());
    if (!bytes.empty()) std::memcpy(to.data(), bytes.data(), bytes.size());
    return to;
  }

 private:
  std::byte* base_ = nullptr;
  std::size_t usable_ = 0;
  std::size_t length_ = 0;
};

}  // namespace h5mount::test
