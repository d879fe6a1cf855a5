// Metadata cache image block:
//
//   | "MDCI" | version 0 | flags | image length (L) | entry count (4) |
//   per entry: | type | flags | ring | age | child count (2) | dirty child count (2) | parent count (2) |
//              | index in LRU list (4) | address (O) | size (L) | parent addresses (O each) | bytes (size) |
//   | checksum (4) |
//
// A reader needs only the address and the bytes of an entry; the other fields serve to rebuild a writer's
// cache.
#include "h5mount/format/cache_image.h"

#include <limits>

namespace h5mount::format {
namespace {

CacheImageEntry decode_image_entry(Cursor& cursor) {
  CacheImageEntry entry;
  cursor.skip(4, "entry.type_flags_ring_age");
  cursor.skip(4, "entry.child_counts");
  const std::uint16_t parents = cursor.u16("entry.parent_count");
  cursor.skip(4, "entry.lru_index");
  entry.address = cursor.address("entry.address");
  const Field address = cursor.last();
  const std::uint64_t size = cursor.plain_length("entry.size");
  const Field entry_size = cursor.last();
  cursor.skip(std::size_t{parents} * cursor.sizes().offsets, "entry.parent_addresses");
  entry.bytes = cursor.bytes(cursor.count(entry_size, 1, size), "entry.bytes");
  cursor.require(entry.address <= std::numeric_limits<std::uint64_t>::max() - size, address,
                 "is undefined or too high");
  return entry;
}

}  // namespace

Result<CacheImageMessage> decode_cache_image_message(Cursor& cursor) {
  CacheImageMessage message;
  cursor.version(0, 0);
  message.address = cursor.address("address");
  message.length = cursor.plain_length("length");
  return cursor.finish(message);
}

Result<std::vector<CacheImageEntry>> decode_cache_image(Cursor& cursor) {
  cursor.signature("MDCI");
  cursor.version(0, 0);
  cursor.u8("flags");
  cursor.plain_length("image_length");
  const std::size_t entry_bytes = 14U + cursor.sizes().offsets + cursor.sizes().lengths;
  cursor.u32("entry_count");
  const std::size_t count = cursor.count(entry_bytes, 1U << 24);
  std::vector<CacheImageEntry> entries(count);
  for (auto& entry : entries) {
    entry = decode_image_entry(cursor);
    if (!cursor.ok()) break;
  }
  cursor.checksum();
  return cursor.finish(std::move(entries));
}

}  // namespace h5mount::format
