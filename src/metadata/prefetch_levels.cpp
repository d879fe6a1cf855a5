#include "prefetch_levels.h"

#include <algorithm>
#include <utility>

#include "h5mount/base/checked.h"
#include "h5mount/base/momentary.h"
#include "metadata_caches.h"

namespace h5mount::metadata {
namespace {

constexpr std::size_t kMaxStructures = 1U << 16;
constexpr std::uint64_t kMaxBytes = 64U << 20;

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

void tell_source(const FileMetadata& file, std::span<const ByteRange> structures,
                 std::span<const ByteRange> data) {
  std::vector<ByteRange> ranges = in_blocks(file, structures);
  if (auto pages = in_pages(file, ranges); !pages.empty()) ranges = std::move(pages);
  for (const ByteRange& range : in_blocks(file, data)) ranges.push_back(range);
  ranges = joined(std::move(ranges));
  if (!ranges.empty()) file.source()->will_read(ranges);
}

void Levels::expect(std::uint64_t address, std::uint64_t bytes, Decode decode, Among among) {
  if (address == format::kUndefinedAddress || !seen_.insert(address).second) return;
  expect_more(address, bytes, std::move(decode), among);
}

void Levels::expect_more(std::uint64_t address, std::uint64_t bytes, Decode decode, Among among) {
  if (seen_.size() > kMaxStructures || bytes > kMaxBytes - told_ || address >= file_bytes()) return;
  told_ += bytes;
  next_.push_back({address, bytes, std::move(decode), among});
}

void Levels::with(const MetadataBlock& block, std::uint64_t address, std::uint64_t needed,
                  const Decode& decode) {
  if (needed > block.bytes().size())
    expect_more(address, needed, decode);
  else if (decode)
    decode(block);
}

void Levels::run(unsigned levels) {
  MomentaryWatch watch;  // whoever needs what failed reads it again
  run_levels(levels);
  watch.forget();
}

void Levels::run_levels(unsigned levels) {
  for (; levels > 0 && !next_.empty(); --levels) {
    const std::vector<Place> level = std::exchange(next_, {});
    std::uint64_t bytes = 0;
    for (const Place& place : level) bytes += place.bytes;
    if (!budget_.spend(bytes)) return;
    tell(level);
    if (levels == 1) return;
    for (const Place& place : level) {
      if (!place.decode) continue;
      if (const auto block = file_.read_up_to(place.address, place.bytes, kReadAhead, place.among))
        place.decode(*block);
    }
  }
}

void Levels::tell(const std::vector<Place>& level) const {
  std::vector<ByteRange> structures, data;
  for (const Place& place : level)
    (place.among == Among::Data ? data : structures).push_back({place.address, place.address + place.bytes});
  tell_source(file_, structures, data);
}

}  // namespace h5mount::metadata
