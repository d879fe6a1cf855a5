#include <sys/mman.h>

#include <cstdlib>
#include <new>
#include <vector>

#include "h5mount/base/thread_annotations.h"
#include "h5mount/cache/block_cache.h"

namespace h5mount::cache {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kHugePage = 2U << 20;
constexpr std::size_t kRecycleFrom = 128U << 10;  // smaller blocks: malloc is cheap enough
constexpr std::size_t kRecycleBytes = 32U << 20;  // two of the row blocks of 16 MiB that wide datasets have

// Passes large buffers of dropped blocks on to new ones. Each fresh page costs a page fault and has to be
// cleared, which a scan of a dataset would otherwise pay for every page that it decodes.
class Recycler {
 public:
  std::byte* take(std::size_t size) {
    const MutexLock lock(mutex_);
    for (std::size_t i = kept_.size(); i-- > 0;) {
      if (kept_[i].size != size) continue;
      std::byte* data = kept_[i].data;
      kept_bytes_ -= size;
      kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(i));
      return data;
    }
    return nullptr;
  }

  bool keep(std::byte* data, std::size_t size) {
    if (size > kRecycleBytes) return false;
    std::vector<Kept> dropped;
    {
      const MutexLock lock(mutex_);
      // The oldest buffers are freed first, so that those of sizes no longer in use do not fill the store.
      std::size_t gone = 0;
      while (kept_bytes_ + size > kRecycleBytes && gone < kept_.size()) kept_bytes_ -= kept_[gone++].size;
      dropped.assign(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(gone));
      kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(gone));
      kept_.push_back({data, size});
      kept_bytes_ += size;
    }
    for (const Kept& k : dropped) std::free(k.data);
    return true;
  }

 private:
  struct Kept {
    std::byte* data;
    std::size_t size;
  };
  Mutex mutex_;
  std::vector<Kept> kept_ H5_GUARDED_BY(mutex_);
  std::size_t kept_bytes_ H5_GUARDED_BY(mutex_) = 0;
};

Recycler& recycler() {
  // Never destroyed: blocks with static storage may be dropped after it.
  static auto* const instance = new Recycler;
  return *instance;
}

std::byte* allocate(std::size_t size) {
  const bool huge = size >= 2 * kHugePage;
  const std::size_t alignment = huge ? kHugePage : kAlignment;
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  void* data = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (data == nullptr) throw std::bad_alloc();
  if (huge) madvise(data, rounded, MADV_HUGEPAGE);
  return static_cast<std::byte*>(data);
}

}  // namespace

Block::Block(std::size_t size) : data_(size >= kRecycleFrom ? recycler().take(size) : nullptr), size_(size) {
  if (data_ == nullptr) data_ = allocate(size);
}

Block::~Block() {
  if (size_ >= kRecycleFrom && recycler().keep(data_, size_)) return;
  std::free(data_);
}

}  // namespace h5mount::cache
