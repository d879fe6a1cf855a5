#include "column_ahead.h"

#include <algorithm>
#include <vector>

#include "h5mount/base/mechanism.h"

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

std::shared_ptr<ColumnAhead> ColumnAhead::make(const tree::OpenNode& file, tree::NodeId node,
                                               const std::shared_ptr<tree::KernelPages>& kernel) {
  if (!kernel || !is_on(Mechanism::ColumnAhead)) return nullptr;
  auto image = file.fixed_image();
  if (!image || !image->environment.workers) return nullptr;
  return std::make_shared<ColumnAhead>(*std::move(image), node, kernel);
}

ColumnAhead::ColumnAhead(tree::FixedImage image, tree::NodeId node, std::shared_ptr<tree::KernelPages> kernel)
    : image_(std::move(image)),
      node_(node),
      kernel_(std::move(kernel)),
      pattern_(image_.reader->size(), row_bytes_of(image_.reader->description())) {}

void ColumnAhead::note(std::uint64_t offset, std::uint64_t length) {
  if (changed_) return;
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
    image_.environment.workers->submit([self = shared_from_this(), run, batch = *batch, first, last] {
      self->store_batch(run, batch, first, last);
    });
  }
}

void ColumnAhead::store_batch(std::uint64_t run, const StridePattern::Batch& batch, std::uint64_t first,
                              std::uint64_t last) {
  std::vector<Pages> pages;
  for (std::uint64_t i = first; i < last; ++i) {
    if (i == batch.skipped) continue;
    const std::uint64_t place = batch.first + i * batch.stride;
    const std::uint64_t begin = place / kPage * kPage;
    const std::uint64_t end =
        std::min((place + batch.bytes + kPage - 1) / kPage * kPage, image_.reader->size());
    Pages& page = pages.emplace_back(Pages{begin, {}});
    // The error, if any, is reported by the later read of these bytes.
    if (run_ != run || begin >= end ||
        !image_.reader->read(begin, end - begin, {nullptr, Unbounded()}, page.pieces))
      return;
    if (pages.size() < kTogether && i + 1 < last) continue;
    if (!store(pages)) return;
    pages.clear();
  }
}

// Asks once before the pages are stored whether the file is as it was opened, and once afterwards if the
// kernel copied them from the file itself. Returns false if no more pages are to be stored: the file has
// changed, or the kernel takes no more.
bool ColumnAhead::store(std::span<const Pages> pages) {
  if (!as_opened()) return false;
  bool kernel_only = false, taken = true;
  for (const auto& [begin, pieces] : pages) {
    kernel_only = kernel_only || pieces.kernel_only();
    taken = kernel_->store(node_, begin, pieces);
    if (!taken) break;
    Counters::add(image_.environment.counters->pages_handed_on, (pieces.total() + kPage - 1) / kPage);
  }
  if (!kernel_only || as_opened()) return taken;
  // The file was written while the kernel copied.
  kernel_->invalidate(node_, {{0, format::kUnlimited}});
  return false;
}

bool ColumnAhead::as_opened() {
  if (!changed_ && !image_.as_opened()) changed_ = true;
  return !changed_;
}

}  // namespace h5mount::fuse
