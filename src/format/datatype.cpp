// Datatype message:
//   class and version (1: low four bits class, high four version) | class bit field (3) | size (4) | properties
//   properties of the simple classes:
//     0 integer, 4 bitfield   bit offset (2) | bit precision (2)
//     1 float                 bit offset (2) | bit precision (2) | exponent location (1), size (1) |
//                             mantissa location (1), size (1) | exponent bias (4)
//     2 time                  bit precision (2)
//     3 string, 7 reference   none
//     5 opaque                tag, as many bytes as the bit field says
//   class bit field:
//     integer, bitfield, time  bit 0 big-endian, 1 low padding, 2 high padding, 3 signed
//     float                    bits 0 and 6 byte order (00 little, 01 big, 11 VAX), 1-3 padding,
//                              4-5 normalisation, 8-15 sign location
//     string                   bits 0-3 padding, 4-7 character set
//     opaque                   bits 0-7 bytes of the tag
//     reference                bits 0-3 kind, 4-7 version of the encoding
//   the composite classes 6, 8 to 11: datatype_composite.cpp
#include "h5mount/format/datatype.h"

#include "h5mount/base/limits.h"
#include "datatype_parts.h"

namespace h5mount {

namespace datatype_parts {

namespace {

void require_bits(Cursor& cursor, const Datatype& type, std::uint64_t location, std::uint64_t bits,
                  std::string_view field) {
  cursor.require(location + bits <= std::uint64_t{8} * type.size, field, "lies outside the element", location + bits);
}

void decode_bit_range(Cursor& cursor, Datatype& type) {
  type.bit_offset = cursor.u16("bit_offset");
  type.bit_precision = cursor.u16("bit_precision");
  cursor.require(type.bit_precision > 0, "bit_precision", "is zero");
  require_bits(cursor, type, type.bit_offset, type.bit_precision, "bit_precision");
}

void decode_common_bits(std::uint32_t bits, Datatype& type) {
  type.order = (bits & 0x01) != 0 ? ByteOrder::Big : ByteOrder::Little;
  type.low_pad = (bits & 0x02) != 0;
  type.high_pad = (bits & 0x04) != 0;
}

void decode_float(Cursor& cursor, std::uint32_t bits, Datatype& type) {
  decode_common_bits(bits, type);
  const bool high_order_bit = (bits & 0x40) != 0;
  cursor.require(!high_order_bit || type.order == ByteOrder::Big, "byte_order", "is reserved", bits);
  if (high_order_bit) type.order = ByteOrder::Vax;
  type.internal_pad = (bits & 0x08) != 0;
  const std::uint32_t normalization = bits >> 4 & 0x03;
  cursor.require(normalization <= 2, "mantissa_normalization", "is reserved", normalization);
  type.normalization = static_cast<MantissaNormalization>(normalization);
  type.sign_location = static_cast<std::uint8_t>(bits >> 8);
  decode_bit_range(cursor, type);
  type.exponent_location = cursor.u8("exponent_location");
  type.exponent_size = cursor.u8("exponent_size");
  type.mantissa_location = cursor.u8("mantissa_location");
  type.mantissa_size = cursor.u8("mantissa_size");
  type.exponent_bias = cursor.u32("exponent_bias");
  cursor.require(type.exponent_size > 0 && type.exponent_size <= 32, "exponent_size", "is 0 or above 32",
                 type.exponent_size);
  cursor.require(type.mantissa_size > 0, "mantissa_size", "is zero");
  require_bits(cursor, type, type.sign_location, 1, "sign_location");
  require_bits(cursor, type, type.exponent_location, type.exponent_size, "exponent_location");
  require_bits(cursor, type, type.mantissa_location, type.mantissa_size, "mantissa_location");
  cursor.require(type.order != ByteOrder::Vax || type.size % 2 == 0, "size", "is odd in VAX order", type.size);
}

void decode_time(Cursor& cursor, std::uint32_t bits, Datatype& type) {
  decode_common_bits(bits, type);
  type.bit_precision = cursor.u16("bit_precision");
  require_bits(cursor, type, 0, type.bit_precision, "bit_precision");
}

void decode_string(Cursor& cursor, std::uint32_t bits, Datatype& type) {
  cursor.require((bits & 0x0F) <= 2, "string_padding", "is reserved", bits & 0x0F);
  cursor.require((bits >> 4 & 0x0F) <= 1, "character_set", "is reserved", bits >> 4 & 0x0F);
  type.padding = static_cast<StringPadding>(bits & 0x0F);
  type.charset = static_cast<CharacterSet>(bits >> 4 & 0x0F);
}

void decode_opaque(Cursor& cursor, std::uint32_t bits, Datatype& type) {
  const std::string_view tag = as_text(cursor.bytes(bits & 0xFF, "tag"));
  type.tag = tag.substr(0, tag.find('\0'));
}

void decode_reference(Decoding& decoding, std::uint32_t bits, Datatype& type) {
  Cursor& cursor = decoding.cursor;
  const std::uint32_t kind = bits & 0x0F;
  cursor.require(kind <= 4, "reference_kind", "is unknown", kind);
  type.reference = static_cast<ReferenceKind>(kind);
  type.has_reference = true;
  // What the kind needs at least: an address, that and a heap index, or two bytes and what does not fit the rest.
  const std::uint32_t offsets = decoding.sizes.offsets;
  const std::uint32_t least = kind == 0 ? offsets : kind == 1 ? offsets + 4 : 2 + 4 + offsets + 4;
  cursor.require(type.size >= least, "size", "below what a reference takes", type.size);
}

void decode_properties(Decoding& decoding, std::uint32_t bits, Datatype& type) {
  Cursor& cursor = decoding.cursor;
  switch (type.cls) {
    case DatatypeClass::Integer:
      type.is_signed = (bits & 0x08) != 0;
      [[fallthrough]];
    case DatatypeClass::Bitfield:
      decode_common_bits(bits, type);
      return decode_bit_range(cursor, type);
    case DatatypeClass::Float:
      return decode_float(cursor, bits, type);
    case DatatypeClass::Time:
      return decode_time(cursor, bits, type);
    case DatatypeClass::String:
      return decode_string(cursor, bits, type);
    case DatatypeClass::Opaque:
      return decode_opaque(cursor, bits, type);
    case DatatypeClass::Compound:
      return decode_compound(decoding, bits, type);
    case DatatypeClass::Reference:
      return decode_reference(decoding, bits, type);
    case DatatypeClass::Enum:
      return decode_enum(decoding, bits, type);
    case DatatypeClass::VariableLength:
      return decode_variable_length(decoding, bits, type);
    case DatatypeClass::Array:
      return decode_array(decoding, type);
    case DatatypeClass::Complex:
      return decode_complex(decoding, bits, type);
  }
}

}  // namespace

DatatypePtr decode_nested(Decoding& decoding) {
  Cursor& cursor = decoding.cursor;
  cursor.require(decoding.depth < limits::kMaxDatatypeDepth, "class_and_version", "nests too deep", decoding.depth,
                 ErrorCode::LimitExceeded);
  cursor.require(decoding.nodes < limits::kMaxDatatypeNodes, "class_and_version", "has too many parts",
                 decoding.nodes, ErrorCode::LimitExceeded);
  const std::uint64_t at = cursor.here();
  const std::uint8_t head = cursor.u8("class_and_version");
  const auto bits = static_cast<std::uint32_t>(cursor.uint(3, "class_bit_field"));
  auto type = std::make_shared<Datatype>();
  type->version = head >> 4;
  type->size = cursor.u32("size");
  if (!cursor.ok()) return nullptr;
  if (type->version < 1 || type->version > 5)
    cursor.fail(Error(ErrorCode::UnsupportedVersion, cursor.structure(), "version", at).with_found(type->version));
  if ((head & 0x0F) > 11)
    cursor.fail(Error(ErrorCode::InvalidValue, cursor.structure(), "class", at).with_found(head & 0x0F));
  cursor.require(type->size > 0, "size", "is zero");
  if (!cursor.ok()) return nullptr;
  type->cls = static_cast<DatatypeClass>(head & 0x0F);
  ++decoding.depth;
  ++decoding.nodes;
  decode_properties(decoding, bits, *type);
  --decoding.depth;
  if (!cursor.ok()) return nullptr;
  return type;
}

}  // namespace datatype_parts

Result<DatatypePtr> decode_datatype(Cursor& cursor, FileSizes sizes) {
  datatype_parts::Decoding decoding{.cursor = cursor, .sizes = sizes};
  DatatypePtr type = datatype_parts::decode_nested(decoding);
  return cursor.finish(std::move(type));
}

}  // namespace h5mount
