#include "column_ahead.h"

#include <algorithm>
#include <vector>

namespace h5mount::fuse {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kWorthTwoJobs = 64;
constexpr std::size_t kTogether = 8;  // pages that one look at the file confirms

std::vector<std::uint64_t> row_bytes_of(const object::DatasetDescription& description) {
  std::vector<std::uint64_t> out;
  const auto& dims = description.space.dims;
  std::uint64_t bytes = description.element_size;
  for (std::size_t i = dims.size(); i-- > 1;) {
    bytes *= dims[i];  // at most the image's size, which was checked
    out.push_back(bytes);
  }
  return out;
}

}  // namespace

ColumnAhead::ColumnAhead(PageTarget target)
    : target_(std::move(target)),
      pattern_(target_.reader->size(), row_bytes_of(target_.reader->description())) {}

void ColumnAhead::note(std::uint64_t offset, std::uint64_t length) {
  std::optional<StridePattern::Batch> batch;
  std::uint64_t run = 0;
  {
    const MutexLock lock(mutex_);
    batch = pattern_.note(offset, length);
    run = pattern_.run();
    run_ = run;
  }
  if (!batch) return;
  // Two jobs: the second half is decoded while the reader goes through the first.
  const std::uint64_t half = batch->count >= kWorthTwoJobs ? batch->count / 2 : batch->count;
  for (std::uint64_t first = 0; first < batch->count; first += half) {
    const std::uint64_t last = std::min(first + half, batch->count);
    target_.workers->submit([self = shared_from_this(), run, batch = *batch, first, last] {
      self->store_batch(run, batch, first, last);
    });
  }
}

void ColumnAhead::store_batch(std::uint64_t run, const StridePattern::Batch& batch, std::uint64_t first,
                              std::uint64_t last) const {
  std::vector<PreparedPages> pages;
  for (std::uint64_t i = first; i < last; ++i) {
    if (i == batch.skipped) continue;
    const std::uint64_t place = batch.first + i * batch.stride;
    const std::uint64_t begin = place / kPage * kPage;
    const std::uint64_t end =
        std::min((place + batch.bytes + kPage - 1) / kPage * kPage, target_.reader->size());
    PreparedPages& page = pages.emplace_back(PreparedPages{begin, {}});
    // The error, if any, is reported by the later read of these bytes.
    if (run_ != run || begin >= end ||
        !target_.reader->read(begin, end - begin, {nullptr, Unbounded()}, page.pieces))
      return;
    if (pages.size() < kTogether && i + 1 < last) continue;
    if (!store_pages(target_, pages)) return;
    pages.clear();
  }
}

}  // namespace h5mount::fuse
