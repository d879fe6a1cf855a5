// Link and attribute messages, in headers and in heaps.
#include <algorithm>

#include "fields.h"
#include "h5mount/base/structures.h"
#include "h5mount/base/utf8.h"
#include "h5mount/format/messages.h"

namespace h5mount::check {

namespace {

constexpr std::uint8_t kAscii = 0, kUtf8 = 1;

void check_charset(Fields& message, std::string_view name, std::uint8_t charset) {
  const format::Field field = message.last();
  if (charset == kUtf8) {
    message.want(is_utf8(name), field, "is not UTF-8");
    return;
  }
  const bool ascii =
      std::ranges::none_of(name, [](char one) { return static_cast<unsigned char>(one) >= 0x80; });
  if (charset == kAscii)
    message.want(ascii, field, "has other characters than those of ASCII, which it is said to be in");
}

void check_link_name(Fields& message, std::uint64_t length, std::uint8_t charset) {
  const std::string_view name = as_text(message.bytes(length, "name"));
  message.want(name.find('\0') == std::string_view::npos, "has a NUL");
  check_charset(message, name, charset);
}

void check_link_value(Fields& message, std::uint8_t type) {
  if (type == 0) {
    message.address("object_header_address");
    message.want(message.last().value < message.context().stored_end, kBehindEnd);
    return;
  }
  const std::uint16_t length = message.u16("value_length");
  if (type == 1) {
    message.want(length > 0, "is zero");
    const std::string_view target = as_text(message.bytes(length, "value"));
    message.want(target.find('\0') == std::string_view::npos, "has a NUL");
    return;
  }
  const std::size_t before = message.remaining();
  if (type == 64 && length > 0) {
    message.u8("external_version_and_flags");
    message.want_equal(0, "is 0 alone");
    message.want(!message.c_string("external_file_name").empty(), "is empty");
    message.want(!message.c_string("external_object_path").empty(), "is empty");
  }
  const std::size_t used = before - message.remaining();
  if (used < length) message.bytes(length - used, "value");
  if (type == 64) message.want(used == length, "bytes lie behind the path");
}

void check_part(Fields& message, const format::Field& size_field, bool shared, bool padded,
                std::string_view structure) {
  const std::uint64_t size = size_field.value;
  Fields part = message.part(size, structure);
  if (shared)
    check_shared_reference_fields(part);
  else if (structure == structures::kDatatypeMessage)
    check_datatype_fields(part);
  else
    check_message_fields(part, static_cast<std::uint16_t>(format::MessageType::Dataspace), {});
  message.want(part.ok(), size_field, "is less than what is stored");
  if (part.remaining() > 0 && part.ok()) {
    const ByteSpan rest = part.bytes(part.remaining(), "unused");
    message.want(std::ranges::all_of(rest, [](std::byte one) { return one == std::byte{0}; }), size_field,
                 "is more than what is stored");
  }
  if (padded && size % 8 != 0 && message.remaining() > 0)
    message.zeros(std::min<std::size_t>(8 - size % 8, message.remaining()), "padding");
}

}  // namespace

void check_link_fields(Fields& message) {
  message.u8("version");
  const std::uint8_t flags = message.u8("flags");
  message.want((flags & 0xE0) == 0, "reserved bits are set");
  std::uint8_t type = 0, charset = kAscii;
  if ((flags & 0x08) != 0) {
    type = message.u8("type");
    message.want(type != 0, "hard links do not store their type");
  }
  if ((flags & 0x04) != 0) {
    message.uint(8, "creation_order");
    message.want(message.last().value >> 63 == 0, "is negative");
  }
  if ((flags & 0x10) != 0) {
    charset = message.u8("charset");
    message.want(charset <= kUtf8, "is no character set");
  }
  const std::uint64_t length = message.uint(std::size_t{1} << (flags & 0x03), "name_length");
  message.want(length > 0, "is zero");
  if (length > message.remaining()) return;
  check_link_name(message, length, charset);
  check_link_value(message, type);
}

void check_attribute_fields(Fields& message) {
  const std::uint8_t version = message.u8("version");
  const std::uint8_t flags = message.u8("flags");
  message.want(version > 1 || flags == 0, "is reserved in version 1");
  const std::uint16_t name_size = message.u16("name_size");
  message.want(name_size > 1, "leaves no room for a name");
  message.u16("datatype_size");
  const format::Field type_size = message.last();
  message.u16("dataspace_size");
  const format::Field space_size = message.last();
  std::uint8_t charset = kAscii;
  if (version == 3) {
    charset = message.u8("charset");
    message.want(charset <= kUtf8, "is no character set");
  }
  const bool padded = version == 1;
  const std::string_view name = as_text(message.bytes(name_size, "name"));
  message.want(name.size() <= 1 || name.find('\0') == name.size() - 1, "does not end with its only NUL");
  check_charset(message, name.substr(0, name.find('\0')), charset);
  if (padded && name_size % 8 != 0) message.zeros(8 - name_size % 8, "name_padding");
  check_part(message, type_size, version > 1 && (flags & 0x01) != 0, padded, structures::kDatatypeMessage);
  check_part(message, space_size, version > 1 && (flags & 0x02) != 0, padded, structures::kDataspaceMessage);
  if (message.remaining() > 0) message.bytes(message.remaining(), "data");
}

}  // namespace h5mount::check
