// Link and attribute messages, in headers and in heaps.
#include <algorithm>

#include "fields.h"
#include "h5mount/base/utf8.h"
#include "h5mount/format/messages.h"

namespace h5mount::check {

namespace {

// The character set of a name: ASCII (0), where there is none, or UTF-8 (1).
Field check_charset(Fields& message, bool present) {
  const Field charset = present ? message.u8("charset") : Field();
  charset.want(charset <= 1, "is no character set");
  return charset;
}

void check_characters(const Field& field, std::string_view name, std::uint64_t charset) {
  const bool ascii = std::ranges::all_of(name, [](char one) { return (one & 0x80) == 0; });
  if (charset == 1) field.want(is_utf8(name), "is not UTF-8");
  if (charset == 0) field.want(ascii, kNotAscii);
}

void check_link_value(Fields& message, std::uint64_t type) {
  constexpr std::uint64_t kHard = 0, kSoft = 1, kExternal = 64;
  if (type == kHard) {
    message.address("object_header_address").want_defined();
    return;
  }
  const Field length = message.u16("value_length");
  if (type == kSoft) {
    length.want_not_zero();
    const std::string_view target = as_text(message.bytes(length, "value"));
    message.last().want(target.find('\0') == std::string_view::npos, "has a NUL");
    return;
  }
  const std::size_t before = message.remaining();
  if (type == kExternal && length > 0) {
    message.u8("external_version_and_flags").want_zero();
    for (const char* name : {"external_file_name", "external_object_path"}) {
      const bool empty = message.c_string(name).empty();
      message.last().want(!empty, "is empty");
    }
  }
  const std::size_t used = before - message.remaining();
  if (used < length) message.bytes(length - used, "value");
  if (type == kExternal) message.last().want(used == length, "bytes lie behind the path");
}

// The datatype or dataspace of an attribute, in so many bytes.
void check_part(Fields& message, const Field& size, bool shared, bool padded, const MessageForm& form) {
  Fields part = message.part(size, form.name);
  shared ? check_shared_reference_fields(part) : form.check(part);
  if (!message.ok()) return;
  size.want(part.ok(), "is less than what is stored");
  if (part.remaining() > 0 && part.ok()) {
    const ByteSpan rest = part.bytes(part.remaining(), "unused");
    size.want(std::ranges::all_of(rest, [](std::byte one) { return one == std::byte{0}; }),
              "is more than what is stored");
  }
  if (padded && size % 8 != 0)
    message.zeros(std::min<std::size_t>(8 - size % 8, message.remaining()), "padding");
}

}  // namespace

void check_link_fields(Fields& message) {
  message.u8("version");
  const Field flags = message.u8("flags");
  flags.want_flags(0x1F);
  const Field type = (flags & 0x08) != 0 ? message.u8("type") : Field();
  type.want(type != 0, "hard links do not store their type");
  const Field order = (flags & 0x04) != 0 ? message.uint(8, "creation_order") : Field();
  order.want(order >> 63 == 0, "is negative");
  const Field charset = check_charset(message, (flags & 0x10) != 0);
  const Field length = message.uint(std::size_t{1} << (flags & 0x03), "name_length");
  length.want_not_zero();
  if (length > message.remaining()) return;
  const std::string_view name = as_text(message.bytes(length, "name"));
  message.last().want(name.find('\0') == std::string_view::npos, "has a NUL");
  check_characters(message.last(), name, charset);
  check_link_value(message, type);
}

void check_attribute_fields(Fields& message) {
  const Field version = message.u8("version"), flags = message.u8("flags");
  flags.want(version > 1 || flags == 0, "is reserved in version 1");
  const Field name_size = message.u16("name_size");
  name_size.want(name_size > 1, "leaves no room for a name");
  const Field type_size = message.u16("datatype_size"), space_size = message.u16("dataspace_size");
  const Field charset = check_charset(message, version == 3);
  const bool padded = version == 1;
  const std::string_view name = as_text(message.bytes(name_size, "name"));
  message.last().want(name.size() <= 1 || name.find('\0') == name.size() - 1,
                      "does not end with its only NUL");
  check_characters(message.last(), name.substr(0, name.find('\0')), charset);
  if (padded && name_size % 8 != 0) message.zeros(8 - name_size % 8, "name_padding");
  const auto form = [](format::MessageType type) { return message_form(static_cast<std::uint64_t>(type)); };
  check_part(message, type_size, version > 1 && (flags & 0x01) != 0, padded,
             form(format::MessageType::Datatype));
  check_part(message, space_size, version > 1 && (flags & 0x02) != 0, padded,
             form(format::MessageType::Dataspace));
  message.rest("data");
}

}  // namespace h5mount::check
