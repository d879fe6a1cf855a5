// Global heap collection:
//
//   | "GCOL" | version 1 | reserved (3) | collection size (L) | padding to 8 |
//   per object:
//   | index (2) | reference count (2) | reserved (4) | size (L) | padding to 8 | data, padded to 8 |
//
// Index 0 is the free space at the end; its size includes its own header.
#include "h5mount/format/global_heap_format.h"

namespace h5mount::format {

Result<std::uint64_t> decode_global_heap_header(Cursor& cursor) {
  cursor.signature("GCOL");
  cursor.version(1, 1);
  cursor.skip(3, "reserved");
  const std::uint64_t size = cursor.plain_length("collection_size");
  cursor.require(size >= global_heap_header_bytes(cursor.sizes()), "smaller than its header");
  return cursor.finish(size);
}

Result<GlobalHeapObjectHeader> decode_global_heap_object(Cursor& cursor, std::uint64_t left) {
  GlobalHeapObjectHeader header;
  header.index = cursor.u16("object.index");
  cursor.u16("object.reference_count");
  cursor.skip(4, "object.reserved");
  header.size = cursor.plain_length("object.size");
  header.size_offset = cursor.last().offset;
  if (header.index != 0 && header.size > left - global_heap_header_bytes(cursor.sizes()))
    cursor.require(false, "beyond the end of the collection", ErrorCode::OutOfRange);
  return cursor.finish(header);
}

}  // namespace h5mount::format
