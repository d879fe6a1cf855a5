#include "random_ahead.h"

#include "h5mount/base/checked.h"

namespace h5mount::fuse {
namespace {

constexpr std::uint64_t kCachePart = 4;          // a quarter, which one dataset may fill
constexpr std::uint64_t kMaxDecoded = 1U << 20;  // for a window: a few milliseconds of a worker

std::uint64_t multiply_up_to_limit(std::uint64_t a, std::uint64_t b) {
  return checked_mul(a, b).value_or(format::kUnlimited);
}

// The bytes of all chunks that a window touches. A chunk holds runs of the image: its last dimension, and
// those before it as long as it spans whole rows.
std::uint64_t decoded_for_window(const object::DatasetDescription& dataset) {
  const auto& dims = dataset.space.dims;
  const auto& chunk = dataset.layout.chunk_dims;
  if (dims.size() > chunk.size()) return format::kUnlimited;
  std::uint64_t run = dataset.element_size, bytes = dataset.element_size;
  bool whole = true;
  for (std::size_t i = dims.size(); i-- > 0;) {
    if (whole) run = multiply_up_to_limit(run, chunk[i]);
    bytes = multiply_up_to_limit(bytes, chunk[i]);
    whole = whole && chunk[i] >= dims[i];
  }
  if (run == 0) return format::kUnlimited;
  return multiply_up_to_limit(bytes, divide_up(RandomPattern::kWindow, run));
}

}  // namespace

RandomAhead::RandomAhead(PageTarget target) : target_(std::move(target)), pattern_(target_.reader->size()) {}

bool RandomAhead::fits(const object::DatasetDescription& dataset, std::uint64_t cache_bytes) {
  const std::uint64_t bytes = dataset.image_bytes;
  if (bytes > RandomPattern::kMaxImage || bytes > cache_bytes / kCachePart) return false;
  if (dataset.layout.cls == format::LayoutClass::Contiguous) return true;
  return dataset.layout.cls == format::LayoutClass::Chunked && decoded_for_window(dataset) <= kMaxDecoded;
}

void RandomAhead::note(std::uint64_t offset, std::uint64_t length) {
  RandomPattern::Noted noted;
  {
    const MutexLock lock(mutex_);
    noted = pattern_.note(offset, length);
  }
  if (noted.probe_used) Counters::add(target_.counters->probes_used);
  if (noted.store.empty()) return;
  Counters::add(target_.counters->probes, noted.probes);
  // With a limit of one: not where another job waits already.
  target_.workers->submit(
      [self = shared_from_this(), ranges = std::move(noted.store)] { self->store(ranges); }, 1);
}

void RandomAhead::store(const RandomPattern::Ranges& ranges) const {
  for (const auto& [begin, end] : ranges) {
    PreparedPages prepared{begin, {}};
    // A read of these bytes reports the error.
    if (stopped_ || !target_.reader->read(begin, end - begin, {nullptr, Unbounded()}, prepared.pieces)) return;
    if (!store_pages(target_, {&prepared, 1})) return;
    const std::uint64_t pages = (end - begin + RandomPattern::kPage - 1) / RandomPattern::kPage;
    Counters::add(target_.counters->random_pages_stored, pages);
  }
}

}  // namespace h5mount::fuse
