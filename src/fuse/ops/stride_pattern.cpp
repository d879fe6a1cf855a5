#include "stride_pattern.h"

#include <algorithm>
#include <functional>

namespace h5mount::fuse {
namespace {

constexpr std::uint64_t kStridePage = 4096;
constexpr std::uint64_t kMaxPlace = 64U << 10;  // larger requests are the kernel's own read-ahead
constexpr std::uint64_t kMinGap = kStridePage;  // below it, sequential reading serves as well
constexpr std::uint64_t kFirstWindow = 16, kMaxWindow = 512;
constexpr std::uint64_t kHeadStart = 4;  // the first positions are requested before any job can finish

}  // namespace

StridePattern::StridePattern(std::uint64_t image_bytes, std::vector<std::uint64_t> row_bytes)
    : image_bytes_(image_bytes), row_bytes_(std::move(row_bytes)) {
  std::erase_if(row_bytes_, [](std::uint64_t bytes) { return bytes <= kStridePage; });
  std::ranges::sort(row_bytes_, std::greater());
}

std::optional<StridePattern::Batch> StridePattern::note(std::uint64_t offset, std::uint64_t length) {
  if (length > kMaxPlace) {
    stride_ = asked_ = 0;
    ++run_;
    last_offset_ = offset;
    last_length_ = length;
    return std::nullopt;
  }
  if (!continues(offset, length)) begin(offset, length);
  last_offset_ = offset;
  last_length_ = length;
  return asked_ >= kSure ? next_batch() : std::nullopt;
}

bool StridePattern::continues(std::uint64_t offset, std::uint64_t length) {
  if (stride_ == 0 || offset <= last_offset_) return false;
  const std::uint64_t steps = (offset - last_offset_ + stride_ / 2) / stride_;
  if (steps == 0 || place_ + steps > std::max(ready_, place_ + 1)) return false;
  const std::uint64_t low = low_ + steps * stride_, high = high_ + steps * stride_;
  if (low >= offset + kStridePage || high <= offset) return false;
  low_ = std::max(low, offset);
  high_ = std::min(high, offset + kStridePage);
  longest_ = std::max(longest_, length);
  place_ += steps;
  ++asked_;
  return true;
}

void StridePattern::begin(std::uint64_t offset, std::uint64_t length) {
  ++run_;
  const std::uint64_t distance = offset > last_offset_ ? offset - last_offset_ : 0;
  stride_ = distance > last_length_ && distance - last_length_ >= kMinGap ? stride_near(distance) : 0;
  low_ = offset;
  high_ = offset + kStridePage;
  longest_ = length;
  place_ = ready_ = batch_ = 0;
  asked_ = stride_ == 0 ? 1 : 2;
  window_ = kFirstWindow;
}

std::uint64_t StridePattern::stride_near(std::uint64_t distance) const {
  for (const std::uint64_t row : row_bytes_) {
    const std::uint64_t stride = (distance + row / 2) / row * row;
    if (stride > 0 && stride < distance + kStridePage && distance < stride + kStridePage) return stride;
  }
  return distance;
}

std::optional<StridePattern::Batch> StridePattern::next_batch() {
  if (ready_ > place_ + (batch_ - batch_ / 2))
    return std::nullopt;  // the skipped position was not requested yet
  const std::uint64_t ahead = std::max(place_ + (ready_ == 0 ? kHeadStart : 1), ready_) - place_;
  if (low_ >= image_bytes_ || (image_bytes_ - 1 - low_) / stride_ < ahead) return std::nullopt;
  const std::uint64_t left = (image_bytes_ - 1 - low_) / stride_ - ahead + 1;
  const std::uint64_t count = std::min(window_, left);
  ready_ = place_ + ahead + count;
  batch_ = count;
  window_ = std::min(window_ * 2, kMaxWindow);
  return Batch{.first = low_ + ahead * stride_,
               .stride = stride_,
               .bytes = high_ - low_ + std::max(longest_, kStridePage) - kStridePage,
               .count = count,
               .skipped = count < left ? count / 2 : count};
}

}  // namespace h5mount::fuse
