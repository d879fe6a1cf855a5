#include "image_overlay.h"

#include <algorithm>

#include "h5mount/base/limits.h"

namespace h5mount::metadata {

Result<ImageOverlay> ImageOverlay::load(const FileMetadata& file, const format::CacheImageMessage& message) {
  constexpr std::string_view kName = "MetadataCacheImage";
  ImageOverlay overlay;
  if (message.address == format::kUndefinedAddress || message.length == 0) return overlay;
  if (message.length > limits::kMaxCacheImageBytes)
    return fail(Error(ErrorCode::LimitExceeded, kName, "length", message.address).with_found(message.length));
  H5_ASSIGN(const MetadataBlock block, file.read(message.address, message.length, kName));
  overlay.block_.assign(block.bytes().begin(), block.bytes().end());
  format::Cursor cursor(overlay.block_, block.file_offset(), kName, file.sizes());
  H5_ASSIGN(overlay.entries_, format::decode_cache_image(cursor));
  std::ranges::sort(overlay.entries_, {}, &format::CacheImageEntry::address);
  for (std::size_t i = 1; i < overlay.entries_.size(); ++i) {
    const auto& before = overlay.entries_[i - 1];
    if (before.bytes.size() > overlay.entries_[i].address - before.address)
      return fail(Error(ErrorCode::InvalidValue, kName, "entry.address", block.file_offset())
                      .with_found(overlay.entries_[i].address)
                      .with_detail("entries overlap"));
  }
  return overlay;
}

bool ImageOverlay::apply(std::uint64_t address, MutableByteSpan bytes) const {
  auto entry = std::ranges::upper_bound(entries_, address, {}, &format::CacheImageEntry::address);
  if (entry != entries_.begin()) --entry;
  std::size_t given = 0;
  for (; entry != entries_.end() && (entry->address <= address || entry->address - address < bytes.size());
       ++entry) {
    const std::uint64_t skip = address > entry->address ? address - entry->address : 0;  // bytes of the entry
    if (skip >= entry->bytes.size()) continue;
    const auto at = static_cast<std::size_t>(entry->address + skip - address);
    const ByteSpan part = entry->bytes.subspan(static_cast<std::size_t>(skip));
    const std::size_t length = std::min(part.size(), bytes.size() - at);
    std::ranges::copy(part.first(length), bytes.begin() + static_cast<std::ptrdiff_t>(at));
    given += length;
  }
  return given == bytes.size();
}

std::uint64_t ImageOverlay::end_of_run(std::uint64_t address) const {
  std::uint64_t end = address;
  auto entry = std::ranges::upper_bound(entries_, address, {}, &format::CacheImageEntry::address);
  if (entry != entries_.begin()) --entry;
  for (; entry != entries_.end() && entry->address <= end; ++entry)
    end = std::max(end, entry->address + entry->bytes.size());
  return end;
}

}  // namespace h5mount::metadata
