#include "h5mount/metadata/will_read.h"

#include <algorithm>

#include "h5mount/base/checked.h"
#include "metadata_caches.h"

namespace h5mount::metadata {
namespace {

// In order; ranges that touch become one.
std::vector<ByteRange> joined(std::vector<ByteRange> ranges) {
  std::ranges::sort(ranges, {}, &ByteRange::begin);
  std::vector<ByteRange> out;
  for (const ByteRange& range : ranges) {
    if (out.empty() || range.begin > out.back().end)
      out.push_back(range);
    else
      out.back().end = std::max(out.back().end, range.end);
  }
  return out;
}

// Addresses in whole pages, or nothing if these are more than a listing is worth.
std::vector<ByteRange> in_pages(const FileMetadata& file, std::span<const ByteRange> ranges) {
  constexpr std::uint64_t kMaxPaged = 16U << 20;
  const MetadataPages pages{0, file.caches() ? file.caches()->pages.bytes : 0};  // of addresses
  std::vector<ByteRange> out;
  if (!pages.are_larger_than(file.source()->block_bytes())) return out;
  std::uint64_t bytes = 0, last = 0;
  for (const ByteRange& range : ranges)
    for (std::uint64_t at = range.begin; at < range.end; at = last) {
      const ByteRange page = pages.around(at);
      last = page.end;
      if (!out.empty() && page.end <= out.back().end) continue;
      bytes += page.end - page.begin;
      if (bytes > kMaxPaged) return {};
      out.push_back({page.begin, std::min(page.end, file.source()->size())});
    }
  return out;
}

std::vector<ByteRange> in_blocks(const FileMetadata& file, std::span<const ByteRange> addresses) {
  const std::uint64_t block = file.source()->block_bytes(), base = file.base_address(),
                      size = file.source()->size();
  std::vector<ByteRange> ranges;
  for (const ByteRange& range : addresses) {
    if (range.begin >= size || range.end <= range.begin) continue;
    const std::uint64_t begin = (base + range.begin) / block * block;
    const std::uint64_t end = divide_up(base + std::min(range.end, size), block) * block;
    ranges.push_back({begin - std::min(begin, base), std::min(end - base, size)});
  }
  return joined(std::move(ranges));
}

}  // namespace

void will_read_structures(const FileMetadata& file, std::span<const ByteRange> structures,
                          std::span<const ByteRange> data) {
  std::vector<ByteRange> ranges = in_blocks(file, structures);
  if (auto pages = in_pages(file, ranges); !pages.empty()) ranges = std::move(pages);
  for (const ByteRange& range : in_blocks(file, data)) ranges.push_back(range);
  ranges = joined(std::move(ranges));
  if (!ranges.empty()) file.source()->will_read(ranges);
}

// A walk may leave some out, which it has cached, and read others, which are not in the list.
void ReadInOrder::reached(std::uint64_t address) {
  constexpr std::size_t kMaxLeftOut = 256, kWindow = 512;
  const auto end =
      addresses_.begin() + static_cast<std::ptrdiff_t>(std::min(at_ + kMaxLeftOut, addresses_.size()));
  const auto found = std::find_if(addresses_.begin() + static_cast<std::ptrdiff_t>(at_), end,
                                  [&](const ByteRange& range) { return range.begin == address; });
  if (found == end) return;
  at_ = static_cast<std::size_t>(found - addresses_.begin());
  if (asked_ == addresses_.size() || asked_ > at_ + kWindow / 2) return;
  const std::size_t first = std::max(asked_, at_);
  asked_ = std::min(at_ + kWindow, addresses_.size());
  will_read_structures(file_, std::span(addresses_).subspan(first, asked_ - first));
}

}  // namespace h5mount::metadata
