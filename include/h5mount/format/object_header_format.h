// The parts of an object header on disk (specification IV.A.1): prefixes and the messages of one chunk.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "h5mount/format/cursor.h"

namespace h5mount::format {

// Bytes of the checksum at the end of each chunk of a header.
inline constexpr std::size_t header_checksum_bytes(std::uint8_t header_version) {
  return header_version == 1 ? 0 : 4;
}

struct ObjectHeaderPrefix {
  std::uint8_t version = 1;
  std::uint8_t flags =
      0;  // version 2: 0-1 width of the size, 2 creation order tracked, 3 indexed, 4 phase change, 5 times
  std::uint16_t message_count = 0;    // version 1: in all chunks, including NIL and continuation messages
  std::uint32_t reference_count = 1;  // version 1
  std::optional<std::uint32_t> modification_time;  // in seconds
  std::size_t prefix_bytes = 0;                    // offset of the messages of chunk 0
  std::uint64_t chunk0_bytes = 0;                  // of messages (and gap), without prefix and checksum

  bool tracks_creation_order() const { return version == 2 && (flags & 0x04) != 0; }
};
// `cursor` begins at the header; it may hold more or less than chunk 0. Fails with LimitExceeded if chunk 0
// is larger than limits::kMaxHeaderBytes.
Result<ObjectHeaderPrefix> decode_object_header_prefix(Cursor& cursor);

struct RawMessage {
  std::uint16_t type = 0;
  std::uint64_t type_offset = 0;  // absolute file offset of the type
  std::uint8_t flags = 0;
  std::optional<std::uint16_t> creation_order;
  ByteSpan body;
  std::uint64_t offset = 0;  // absolute file offset of the body
};
// Calls `visit` for each message of one chunk, up to the end of `cursor` (which holds messages and gap only).
// Stops at the first error of `visit`. Fails with Truncated if a message extends beyond the chunk; the
// messages before it have been visited.
Status for_each_raw_message(Cursor& cursor, const ObjectHeaderPrefix& prefix,
                            const std::function<Status(const RawMessage&)>& visit);

// The position of a continuation block, as fields, because the caller checks them against the chunks read
// before.
struct HeaderContinuation {
  Field address;
  Field length;
};
// Fails with InvalidValue if the block is too short for its signature and checksum.
Result<HeaderContinuation> decode_header_continuation(Cursor& cursor, std::uint8_t header_version);

}  // namespace h5mount::format
