// Global heap collections on disk (specification III.E).
#pragma once

#include <cstdint>

#include "h5mount/format/cursor.h"

namespace h5mount::format {

// Bytes of a collection header and of an object header: eight bytes and a length, padded to a multiple of 8.
inline constexpr std::size_t global_heap_header_bytes(FileSizes sizes) {
  return (std::size_t{8} + sizes.lengths + 7) / 8 * 8;
}

// The collection's size in bytes, header included. `cursor` begins at "GCOL".
Result<std::uint64_t> decode_global_heap_header(Cursor& cursor);

struct GlobalHeapObjectHeader {
  std::uint16_t index = 0;        // 0: free space up to the collection's end
  std::uint64_t size = 0;         // bytes of data
  std::uint64_t size_offset = 0;  // absolute file offset of the field `size`
};
// `left`: bytes from the object's header to the collection's end, at least those of a header. Fails with
// OutOfRange if the object extends beyond them.
Result<GlobalHeapObjectHeader> decode_global_heap_object(Cursor& cursor, std::uint64_t left);

}  // namespace h5mount::format
