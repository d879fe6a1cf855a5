// Metadata cache image block:
//
//   | "MDCI" | version 0 | flags | image length (L) | entry count (4) |
//   per entry: | type | flags | ring | age | child count (2) | dirty child count (2) | parent count (2) |
//              | index in LRU list (4) | address (O) | size (L) | parent addresses (O each) | bytes (size) |
//   | checksum (4) |
//
// Of an entry a reader needs address and bytes alone; the rest rebuilds a writer's cache.
#include "h5mount/format/cache_image.h"

#include <limits>

namespace h5mount {
namespace {

CacheImageEntry decode_entry(Cursor& cursor, FileSizes sizes) {
  CacheImageEntry entry;
  cursor.skip(4, "entry.type_flags_ring_age");
  cursor.skip(4, "entry.child_counts");
  const std::uint16_t parents = cursor.u16("entry.parent_count");
  cursor.skip(4, "entry.lru_index");
  entry.address = cursor.address(sizes, "entry.address");
  const std::uint64_t size = cursor.uint(sizes.lengths, "entry.size");
  cursor.skip(std::size_t{parents} * sizes.offsets, "entry.parent_addresses");
  entry.bytes = cursor.bytes(cursor.count(size, 1, std::numeric_limits<std::uint64_t>::max(), "entry.size"),
                             "entry.bytes");
  cursor.require(entry.address <= std::numeric_limits<std::uint64_t>::max() - size, "entry.address",
                 "is undefined or too high", entry.address);
  return entry;
}

}  // namespace

Result<CacheImageMessage> decode_cache_image_message(Cursor& cursor, FileSizes sizes) {
  CacheImageMessage message;
  cursor.version(0, 0);
  message.address = cursor.address(sizes, "address");
  message.length = cursor.uint(sizes.lengths, "length");
  return cursor.finish(message);
}

Result<std::vector<CacheImageEntry>> decode_cache_image(Cursor& cursor, FileSizes sizes) {
  cursor.signature("MDCI");
  cursor.version(0, 0);
  cursor.u8("flags");
  cursor.uint(sizes.lengths, "image_length");
  const std::size_t entry_bytes = 14U + sizes.offsets + sizes.lengths;
  const std::size_t count = cursor.count(cursor.u32("entry_count"), entry_bytes, 1U << 24, "entry_count");
  std::vector<CacheImageEntry> entries(count);
  for (auto& entry : entries) {
    entry = decode_entry(cursor, sizes);
    if (!cursor.ok()) break;
  }
  cursor.checksum();
  return cursor.finish(std::move(entries));
}

}  // namespace h5mount
