// Datatype message:
//   class and version (1: low four bits class, high four version) | class bit field (3) | size (4) |
//   properties
//   properties of the simple classes:
//     0 integer, 4 bitfield    bit offset (2) | bit precision (2)
//     1 float                  bit offset (2) | bit precision (2) | exponent location (1), size (1) |
//                              mantissa location (1), size (1) | exponent bias (4)
//     2 time                   bit precision (2)
//     3 string, 7 reference    none
//     5 opaque                 tag, whose length is in the bit field
//   class bit field:
//     integer, bitfield, time  bit 0 big-endian, 1 low padding, 2 high padding, 3 signed
//     float                    bits 0 and 6 byte order (00 little, 01 big, 11 VAX), 1-3 padding,
//                              4-5 normalisation, 8-15 sign location
//     string                   bits 0-3 padding, 4-7 character set
//     opaque                   bits 0-7 length of the tag in bytes
//     reference                bits 0-3 kind, 4-7 version of the encoding
//   the composite classes 6 and 8 to 11: datatype_composite.cpp
#include "h5mount/format/datatype.h"

#include "datatype_parts.h"
#include "h5mount/base/limits.h"

namespace h5mount::format {

namespace datatype_parts {

namespace {

// Bits [location, location + bits) must lie within the element. The error at `field` reports their end.
void require_bits(Cursor& cursor, const Datatype& type, std::uint64_t location, std::uint64_t bits,
                  const Field& field) {
  cursor.require(location + bits <= std::uint64_t{8} * type.size, field.part(field.name, location + bits),
                 "lies outside the element");
}

void decode_bit_range(Cursor& cursor, Datatype& type) {
  type.bit_offset = cursor.u16("bit_offset");
  type.bit_precision = cursor.u16("bit_precision");
  cursor.require(type.bit_precision > 0, "is zero");
  require_bits(cursor, type, type.bit_offset, type.bit_precision, cursor.last());
}

void decode_common_bits(std::uint32_t bits, Datatype& type) {
  type.order = (bits & 0x01) != 0 ? ByteOrder::Big : ByteOrder::Little;
  type.low_pad = (bits & 0x02) != 0;
  type.high_pad = (bits & 0x04) != 0;
}

void decode_exponent_and_mantissa(Cursor& cursor, Datatype& type) {
  type.exponent_location = cursor.u8("exponent_location");
  const Field exponent_location = cursor.last();
  type.exponent_size = cursor.u8("exponent_size");
  cursor.require(type.exponent_size > 0 && type.exponent_size <= 32, "is 0 or above 32");
  require_bits(cursor, type, type.exponent_location, type.exponent_size, exponent_location);
  type.mantissa_location = cursor.u8("mantissa_location");
  const Field mantissa_location = cursor.last();
  type.mantissa_size = cursor.u8("mantissa_size");
  cursor.require(type.mantissa_size > 0, "is zero");
  require_bits(cursor, type, type.mantissa_location, type.mantissa_size, mantissa_location);
  type.exponent_bias = cursor.u32("exponent_bias");
}

void decode_float(Decoding& decoding, const TypeFields& fields, Datatype& type) {
  Cursor& cursor = decoding.cursor;
  const std::uint32_t bits = fields.bit_values();
  decode_common_bits(bits, type);
  const bool high_order_bit = (bits & 0x40) != 0;
  cursor.require(!high_order_bit || type.order == ByteOrder::Big, fields.bits.part("byte_order", bits),
                 "is reserved");
  if (high_order_bit) type.order = ByteOrder::Vax;
  cursor.require(type.order != ByteOrder::Vax || type.size % 2 == 0, fields.size, "is odd in VAX order");
  const std::uint32_t normalization = bits >> 4 & 0x03;
  cursor.require(normalization <= 2, fields.bits.part("mantissa_normalization", normalization),
                 "is reserved");
  type.normalization = static_cast<MantissaNormalization>(normalization);
  type.sign_location = static_cast<std::uint8_t>(bits >> 8);
  require_bits(cursor, type, type.sign_location, 1, fields.bits.part("sign_location", type.sign_location));
  decode_bit_range(cursor, type);
  decode_exponent_and_mantissa(cursor, type);
}

void decode_time(Decoding& decoding, const TypeFields& fields, Datatype& type) {
  decode_common_bits(fields.bit_values(), type);
  type.bit_precision = decoding.cursor.u16("bit_precision");
  require_bits(decoding.cursor, type, 0, type.bit_precision, decoding.cursor.last());
}

void decode_opaque(Decoding& decoding, const TypeFields& fields, Datatype& type) {
  const std::string_view tag = as_text(decoding.cursor.bytes(fields.bit_values() & 0xFF, "tag"));
  type.tag = tag.substr(0, tag.find('\0'));
}

void decode_reference(Decoding& decoding, const TypeFields& fields, Datatype& type) {
  Cursor& cursor = decoding.cursor;
  const std::uint32_t kind = fields.bit_values() & 0x0F;
  cursor.require(kind <= 4, fields.bits.part("reference_kind", kind), "is unknown");
  type.reference = static_cast<ReferenceKind>(kind);
  type.has_reference = true;
  // Minimum size by kind: an address; an address and a heap index; or (revised references) two bytes, a
  // length, an address and a heap index.
  const std::uint32_t offsets = cursor.sizes().offsets;
  const std::uint32_t least = kind == 0 ? offsets : kind == 1 ? offsets + 4 : 2 + 4 + offsets + 4;
  cursor.require(type.size >= least, fields.size, "below what a reference takes");
}

void decode_properties(Decoding& decoding, const TypeFields& fields, Datatype& type) {
  switch (type.cls) {
    case DatatypeClass::Integer:
      type.is_signed = (fields.bit_values() & 0x08) != 0;
      [[fallthrough]];
    case DatatypeClass::Bitfield:
      decode_common_bits(fields.bit_values(), type);
      return decode_bit_range(decoding.cursor, type);
    case DatatypeClass::Float:
      return decode_float(decoding, fields, type);
    case DatatypeClass::Time:
      return decode_time(decoding, fields, type);
    case DatatypeClass::String:
      return decode_string_bits(decoding, fields.bits, fields.bit_values(), type);
    case DatatypeClass::Opaque:
      return decode_opaque(decoding, fields, type);
    case DatatypeClass::Compound:
      return decode_compound(decoding, fields, type);
    case DatatypeClass::Reference:
      return decode_reference(decoding, fields, type);
    case DatatypeClass::Enum:
      return decode_enum(decoding, fields, type);
    case DatatypeClass::VariableLength:
      return decode_variable_length(decoding, fields, type);
    case DatatypeClass::Array:
      return decode_array(decoding, fields, type);
    case DatatypeClass::Complex:
      return decode_complex(decoding, fields, type);
  }
}

}  // namespace

// Only text needs them: of reserved ones the bytes are what they are, and their text that of null padding and
// of ASCII, which is checked where it is shown.
void decode_string_bits(Decoding& decoding, const Field& bit_field, std::uint32_t bits, Datatype& type) {
  const std::uint32_t padding = bits & 0x0F;
  const std::uint32_t charset = bits >> 4 & 0x0F;
  if (padding > 2)
    decoding.disagrees(bit_field.part("string_padding", padding), "is reserved; the data are read");
  if (charset > 1)
    decoding.disagrees(bit_field.part("character_set", charset), "is reserved; the data are read");
  type.padding = padding <= 2 ? static_cast<StringPadding>(padding) : StringPadding::NullPad;
  type.charset = charset <= 1 ? static_cast<CharacterSet>(charset) : CharacterSet::Ascii;
}

DatatypePtr decode_nested(Decoding& decoding) {
  Cursor& cursor = decoding.cursor;
  const std::uint8_t head = cursor.u8("class_and_version");
  const Field class_and_version = cursor.last();
  const std::uint8_t version = head >> 4;
  const std::uint8_t cls = head & 0x0F;
  cursor.require_at_most(limits::kMaxDatatypeDepth, class_and_version.part("nesting", decoding.depth + 1U),
                         "nests too deep");
  cursor.require_at_most(limits::kMaxDatatypeNodes, class_and_version.part("part_count", decoding.nodes + 1U),
                         "has too many parts");
  cursor.require(version >= 1 && version <= 5, class_and_version.part("version", version), "is unknown",
                 ErrorCode::UnsupportedVersion);
  cursor.require(cls <= 11, class_and_version.part("class", cls), "is unknown");
  TypeFields fields;
  cursor.uint(3, "class_bit_field", &fields.bits);
  auto type = std::make_shared<Datatype>();
  type->size = cursor.u32("size", &fields.size);
  cursor.require(type->size > 0, "is zero");
  if (!cursor.ok()) return nullptr;
  type->version = version;
  type->cls = static_cast<DatatypeClass>(cls);
  ++decoding.depth;
  ++decoding.nodes;
  decode_properties(decoding, fields, *type);
  --decoding.depth;
  if (!cursor.ok()) return nullptr;
  if (decoding.depth == 0) type->disagreements = std::move(decoding.disagreements);
  return type;
}

}  // namespace datatype_parts

Result<DatatypePtr> decode_datatype(Cursor& cursor) {
  datatype_parts::Decoding decoding{.cursor = cursor};
  DatatypePtr type = datatype_parts::decode_nested(decoding);
  return cursor.finish(std::move(type));
}

}  // namespace h5mount::format
