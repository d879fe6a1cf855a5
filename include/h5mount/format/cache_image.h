// The metadata cache image: the contents of a writer's metadata cache when the file was closed, stored as one
// block. Its entries replace the bytes of the file at their addresses, which may never have been written.
#pragma once

#include <cstdint>
#include <vector>

#include "h5mount/format/cursor.h"

namespace h5mount::format {

// Metadata cache image message (0x18)
struct CacheImageMessage {
  std::uint64_t address = kUndefinedAddress;
  std::uint64_t length = 0;
};
Result<CacheImageMessage> decode_cache_image_message(Cursor& cursor);

struct CacheImageEntry {
  std::uint64_t address = kUndefinedAddress;  // relative to the base address, as all addresses
  ByteSpan bytes;                             // a part of the image's bytes
};
// Decodes the whole block and verifies its checksum.
Result<std::vector<CacheImageEntry>> decode_cache_image(Cursor& cursor);

}  // namespace h5mount::format
