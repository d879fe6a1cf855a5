// Attribute message:
//   version (1) | flags (1; version 1: reserved) | name size (2) | datatype size (2) | dataspace size (2) |
//   [version 3: character set (1)] | name with NUL | datatype | dataspace | data to the end of the message
//   flags: bit 0 the datatype, bit 1 the dataspace is a shared message reference
// Version 1 pads name, datatype and dataspace each to a multiple of 8; the sizes exclude the padding.
#include <algorithm>

#include "h5mount/format/messages.h"

namespace h5mount::format {

namespace {

ByteSpan padded_part(Cursor& cursor, std::size_t size, bool padded, std::string_view field) {
  const ByteSpan part = cursor.bytes(size, field);
  // The message may end without the padding of its last part. If a part follows, reading that part fails.
  if (padded && size % 8 != 0) cursor.skip(std::min(8 - size % 8, cursor.remaining()), field);
  return part;
}

}  // namespace

Result<AttributeParts> decode_attribute(Cursor& cursor) {
  AttributeParts parts;
  parts.version = cursor.version(1, 3);
  const std::uint8_t flags = cursor.u8("flags");
  if (parts.version > 1) {
    cursor.require((flags & ~0x03U) == 0, "has unknown bits");
    parts.shared_datatype = (flags & 0x01) != 0;
    parts.shared_dataspace = (flags & 0x02) != 0;
  }
  const std::size_t name_size = cursor.u16("name_size");
  const std::size_t datatype_size = cursor.u16("datatype_size");
  const std::size_t dataspace_size = cursor.u16("dataspace_size");
  if (parts.version == 3 && cursor.u8("charset") != 0) parts.charset = CharacterSet::Utf8;
  const bool padded = parts.version == 1;
  const std::string_view name = as_text(padded_part(cursor, name_size, padded, "name"));
  parts.name = name.substr(0, name.find('\0'));
  parts.datatype_offset = cursor.here();
  parts.datatype = padded_part(cursor, datatype_size, padded, "datatype");
  parts.dataspace_offset = cursor.here();
  parts.dataspace = padded_part(cursor, dataspace_size, padded, "dataspace");
  parts.data_offset = cursor.here();
  parts.data = cursor.rest();
  return cursor.finish(std::move(parts));
}

}  // namespace h5mount::format
