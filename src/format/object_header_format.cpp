// Object headers:
//
//   version 1: | 1 | reserved | message count (2) | reference count (4) | chunk 0 size (4) | padding (4) |
//              | messages |
//     message: | type (2) | size (2) | flags | reserved (3) | body (size, a multiple of 8) |
//
//   version 2: | "OHDR" | 2 | flags | bit 5: access, modification, change, birth time (4 each) |
//              | bit 4: max compact (2), min dense (2) | chunk 0 size (1 << bits 0-1) |
//              | messages | gap | checksum (4) |
//     message: | type (1) | size (2) | flags | bit 2: creation order (2) | body (size) |
//
//   continuation: version 1: | messages |     version 2: | "OCHK" | messages | gap | checksum (4) |
#include "h5mount/format/object_header_format.h"

#include "h5mount/base/limits.h"

namespace h5mount::format {
namespace {

void prefix_v1(Cursor& cursor, ObjectHeaderPrefix& prefix) {
  prefix.version = cursor.version(1, 1);
  cursor.skip(1, "reserved");
  prefix.message_count = cursor.u16("message_count");
  prefix.reference_count = cursor.u32("reference_count");
  prefix.chunk0_bytes = cursor.u32("header_size");
  cursor.require_at_most(limits::kMaxHeaderBytes, "too large");
  cursor.skip(4, "padding");
}

void prefix_v2(Cursor& cursor, ObjectHeaderPrefix& prefix) {
  cursor.signature("OHDR");
  prefix.version = cursor.version(2, 2);
  prefix.flags = cursor.u8("flags");
  cursor.require((prefix.flags & 0xC0) == 0, "reserved bits are set");
  if ((prefix.flags & 0x20) != 0) {
    cursor.skip(4, "access_time");
    prefix.modification_time = cursor.u32("modification_time");
    cursor.skip(4, "change_time");
    cursor.skip(4, "birth_time");
  }
  if ((prefix.flags & 0x10) != 0) cursor.skip(4, "attribute_phase_change");
  prefix.chunk0_bytes = cursor.uint(std::size_t{1} << (prefix.flags & 0x03), "size_of_chunk_0");
  cursor.require_at_most(limits::kMaxHeaderBytes, "too large");
}

RawMessage message_header(Cursor& cursor, const ObjectHeaderPrefix& prefix, std::size_t& size) {
  RawMessage message;
  if (prefix.version == 1) {
    message.type = cursor.u16("message.type");
    message.type_offset = cursor.last().offset;
    size = cursor.u16("message.size");
    message.flags = cursor.u8("message.flags");
    cursor.skip(3, "message.reserved");
    return message;
  }
  message.type = cursor.u8("message.type");
  message.type_offset = cursor.last().offset;
  size = cursor.u16("message.size");
  message.flags = cursor.u8("message.flags");
  if (prefix.tracks_creation_order()) message.creation_order = cursor.u16("message.creation_order");
  return message;
}

}  // namespace

Result<ObjectHeaderPrefix> decode_object_header_prefix(Cursor& cursor) {
  ObjectHeaderPrefix prefix;
  if (as_text(cursor.rest()).starts_with("OHDR"))
    prefix_v2(cursor, prefix);
  else
    prefix_v1(cursor, prefix);
  prefix.prefix_bytes = cursor.position();
  return cursor.finish(prefix);
}

Status for_each_raw_message(Cursor& cursor, const ObjectHeaderPrefix& prefix,
                            const std::function<Status(const RawMessage&)>& visit) {
  const std::size_t header_bytes = prefix.version == 1 ? 8 : prefix.tracks_creation_order() ? 6 : 4;
  // Remaining bytes that are fewer than a message header form a gap.
  while (cursor.ok() && cursor.remaining() >= header_bytes) {
    std::size_t size = 0;
    RawMessage message = message_header(cursor, prefix, size);
    message.offset = cursor.here();
    message.body = cursor.bytes(size, "message.body");
    if (cursor.ok()) H5_TRY(visit(message));
  }
  return cursor.finish();
}

Result<HeaderContinuation> decode_header_continuation(Cursor& cursor, std::uint8_t header_version) {
  constexpr std::uint64_t kMinBytes = 4;
  HeaderContinuation continuation;
  cursor.address("offset");
  continuation.address = cursor.last();
  cursor.plain_length("length");
  continuation.length = cursor.last();
  cursor.require(continuation.length.value >= kMinBytes + header_checksum_bytes(header_version), "too small");
  return cursor.finish(continuation);
}

}  // namespace h5mount::format
