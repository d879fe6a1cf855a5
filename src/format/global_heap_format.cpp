// Global heap collection:
//
//   | "GCOL" | version 1 | reserved (3) | collection size (L) | padding to 8 |
//   per object: | index (2) | reference count (2) | reserved (4) | size (L) | padding to 8 | data, padded to 8 |
//
// Index 0 is the free space at the end; its size counts its own header.
#include "h5mount/format/global_heap_format.h"

namespace h5mount {

Result<std::uint64_t> decode_global_heap_header(Cursor& cursor, FileSizes sizes) {
  cursor.signature("GCOL");
  cursor.version(1, 1);
  cursor.skip(3, "reserved");
  const std::uint64_t size = cursor.uint(sizes.lengths, "collection_size");
  cursor.require(size >= global_heap_header_bytes(sizes), "collection_size", "smaller than its header", size);
  return cursor.finish(size);
}

Result<GlobalHeapObjectHeader> decode_global_heap_object(Cursor& cursor, FileSizes sizes) {
  GlobalHeapObjectHeader header;
  header.index = cursor.u16("object.index");
  header.reference_count = cursor.u16("object.reference_count");
  cursor.skip(4, "object.reserved");
  header.size = cursor.uint(sizes.lengths, "object.size");
  return cursor.finish(header);
}

}  // namespace h5mount
