// Link message:
//   version 1 (1) | flags (1) | [type (1)] | [creation order (8)] | [character set (1)] |
//   name length (1, 2, 4 or 8) | name | value
//   flags: bits 0-1 width of the name length; present: 2 creation order, 3 type, 4 character set
//   value, hard link: object header address (O)
//          soft:      length (2) | path
//          external:  length (2) | version and flags (1) | file name, NUL | object path, NUL
//          other:     length (2) | data
// Link info message, attribute info message:
//   version 0 (1) | flags (1) | [maximum creation index (8; of attributes 2)] | fractal heap (O) |
//   name index (O) | [creation order index (O)]
//   flags: bit 0 creation order is tracked, bit 1 indexed
// Symbol table message:
//   B-tree address (O) | local heap address (O)
//
// O: size of offsets.
#include "h5mount/base/limits.h"
#include "h5mount/format/messages.h"

namespace h5mount::format {

namespace {

void decode_external_target(Cursor& value, Link& link) {
  link.external_form = value.u8("external_version_and_flags");
  link.file = value.c_string("external_file_name");
  link.target = value.c_string("external_object_path");
}

void decode_link_value(Cursor& cursor, Link& link) {
  if (link.is(LinkType::Hard)) {
    link.address = cursor.address("object_header_address");
    return;
  }
  const std::uint16_t length = cursor.u16("value_length");
  Cursor value = cursor.part(length, "value");
  if (!cursor.ok()) return;
  if (link.is(LinkType::External))
    decode_external_target(value, link);
  else
    link.target = as_text(value.rest());
  cursor.take_error(value);
}

Result<LinkInfo> decode_info(Cursor& cursor, std::size_t index_bytes) {
  LinkInfo info;
  cursor.version(0, 0);
  const std::uint8_t flags = cursor.u8("flags");
  info.creation_order_tracked = (flags & 0x01) != 0;
  info.creation_order_indexed = (flags & 0x02) != 0;
  if (info.creation_order_tracked) cursor.uint(index_bytes, "max_creation_index");
  info.fractal_heap_address = cursor.address("fractal_heap_address");
  info.name_index_address = cursor.address("name_index_address");
  if (info.creation_order_indexed)
    info.creation_order_index_address = cursor.address("creation_order_index_address");
  return cursor.finish(info);
}

}  // namespace

Result<Link> decode_link(Cursor& cursor) {
  Link link;
  cursor.version(1, 1);
  const std::uint8_t flags = cursor.u8("flags");
  if (flags & 0x08) {
    link.type = cursor.u8("type");
    cursor.require(link.type < 2 || link.type >= 64, "is reserved");
  }
  if (flags & 0x04) link.creation_order = static_cast<std::int64_t>(cursor.u64("creation_order"));
  if (flags & 0x10) link.charset = cursor.u8("charset") == 0 ? CharacterSet::Ascii : CharacterSet::Utf8;
  cursor.uint(std::size_t{1} << (flags & 0x03), "name_length");
  const std::size_t length = cursor.count(1, limits::kMaxLinkNameBytes);
  link.name = as_text(cursor.bytes(length, "name"));
  decode_link_value(cursor, link);
  return cursor.finish(std::move(link));
}

std::optional<Error> unknown_external_form(const Link& link) {
  if (!link.is(LinkType::External) || link.external_form == 0) return std::nullopt;
  const bool version = link.external_form >> 4 != 0;
  return Error(version ? ErrorCode::UnsupportedVersion : ErrorCode::UnsupportedFeature,
               "external link '" + link.name + "' of an unknown " + (version ? "version" : "form (flags)"))
      .with_found(link.external_form);
}

Result<LinkInfo> decode_link_info(Cursor& cursor) {
  return decode_info(cursor, sizeof(std::uint64_t));
}

Result<AttributeInfo> decode_attribute_info(Cursor& cursor) {
  return decode_info(cursor, sizeof(std::uint16_t));
}

Result<SymbolTableMessage> decode_symbol_table_message(Cursor& cursor) {
  SymbolTableMessage message;
  message.btree_address = cursor.address("btree_address");
  message.local_heap_address = cursor.address("local_heap_address");
  return cursor.finish(message);
}

}  // namespace h5mount::format
