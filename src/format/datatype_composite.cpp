// Properties of the composite classes of the datatype message:
//   6 compound         bit field 0-15: members; per member
//       version 1      name | offset (4) | dimensions (1) | reserved (3) | permutation (4) | reserved (4) |
//                      four sizes (4 each) | type
//       version 2      name | offset (4) | type
//       version 3 on   name | offset (as few bytes as the compound's size needs) | type
//   8 enumeration      bit field 0-15: members; base type | names | values (base size each, packed)
//   9 variable length  bit field 0-3: 0 sequence, 1 string; 4-7 padding; 8-11 character set; base type
//   10 array           version 2: dimensions (1) | reserved (3) | sizes (4 each) | permutation (4 each) | base type
//                      version 3 on: dimensions (1) | sizes (4 each) | base type
//   11 complex         version 5: base type, a float; bit field bit 0: both parts are of that type, 1-2: form
//   names end in NUL; in versions 1 and 2 they are padded to a multiple of 8 bytes
#include <bit>

#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"
#include "datatype_parts.h"

namespace h5mount::datatype_parts {

namespace {

std::string decode_name(Cursor& cursor, std::uint8_t version) {
  std::string name(cursor.c_string("name"));
  const std::size_t stored = name.size() + 1;
  if (version < 3 && stored % 8 != 0) cursor.skip(8 - stored % 8, "name_padding");
  return name;
}

void inherit(Datatype& type, const Datatype& part) {
  type.has_variable_part = type.has_variable_part || part.has_variable_part;
  type.has_reference = type.has_reference || part.has_reference;
}

// An array type over `base`; its size must be the product.
void finish_array(Cursor& cursor, DatatypePtr base, Datatype& array) {
  std::uint64_t bytes = base->size;
  for (const std::uint32_t dim : array.dims) bytes = checked_mul(bytes, dim).value_or(UINT64_MAX);
  cursor.require(bytes > 0 && bytes <= UINT32_MAX, "dimension_size", "makes an impossible array", bytes);
  if (array.size == 0) array.size = static_cast<std::uint32_t>(bytes);
  cursor.require(bytes == array.size, "size", "is not that of the array's elements", array.size);
  inherit(array, *base);
  array.base = std::move(base);
}

// Version 1 members carry up to four dimensions: such a member is an array of its type.
std::vector<std::uint32_t> decode_member_dims(Cursor& cursor) {
  constexpr std::size_t kSlots = 4;
  const std::uint8_t dimensionality = cursor.u8("dimensionality");
  cursor.require(dimensionality <= kSlots, "dimensionality", "is above 4", dimensionality);
  cursor.skip(3 + 4 + 4, "reserved_and_permutation");
  std::vector<std::uint32_t> dims;
  for (std::size_t i = 0; i < kSlots; ++i) {
    const std::uint32_t dim = cursor.u32("dimension_size");
    if (i < dimensionality) dims.push_back(dim);
  }
  return dims;
}

DatatypePtr decode_member_type(Decoding& decoding, std::vector<std::uint32_t> dims) {
  DatatypePtr type = decode_nested(decoding);
  if (!type || dims.empty()) return type;
  auto array = std::make_shared<Datatype>();
  array->cls = DatatypeClass::Array;
  array->version = type->version;
  array->dims = std::move(dims);
  finish_array(decoding.cursor, std::move(type), *array);
  return array;
}

void decode_member(Decoding& decoding, std::size_t offset_width, Datatype& compound) {
  Cursor& cursor = decoding.cursor;
  CompoundMember member;
  member.name = decode_name(cursor, compound.version);
  const std::uint64_t at = cursor.here();
  member.offset = static_cast<std::uint32_t>(cursor.uint(offset_width, "member_offset"));
  std::vector<std::uint32_t> dims;
  if (compound.version == 1) dims = decode_member_dims(cursor);
  member.type = decode_member_type(decoding, std::move(dims));
  if (!cursor.ok()) return;
  if (!range_within(member.offset, member.type->size, compound.size))
    return cursor.fail(Error(ErrorCode::InvalidValue, cursor.structure(), "member_offset", at)
                           .with_found(member.offset)
                           .with_detail("member ends beyond the compound"));
  inherit(compound, *member.type);
  compound.members.push_back(std::move(member));
}

void decode_enum_values(Cursor& cursor, Datatype& type) {
  for (EnumMember& member : type.enum_members) {
    const ByteSpan value = cursor.bytes(type.base->size, "member_value");
    member.value.assign(value.begin(), value.end());
  }
}

}  // namespace

void decode_compound(Decoding& decoding, std::uint32_t bits, Datatype& type) {
  constexpr std::size_t kLeastMemberBytes = 1 + 1 + 8;
  Cursor& cursor = decoding.cursor;
  const std::size_t count = cursor.count(bits & 0xFFFF, kLeastMemberBytes, limits::kMaxDatatypeNodes, "member_count");
  cursor.require(count > 0, "member_count", "is zero");
  const std::size_t width = type.version < 3 ? 4 : divide_up(static_cast<std::uint64_t>(std::bit_width(type.size)), 8);
  type.members.reserve(count);
  for (std::size_t i = 0; i < count && cursor.ok(); ++i) decode_member(decoding, width, type);
}

void decode_enum(Decoding& decoding, std::uint32_t bits, Datatype& type) {
  Cursor& cursor = decoding.cursor;
  type.base = decode_nested(decoding);
  if (!cursor.ok()) return;
  cursor.require(type.base->cls == DatatypeClass::Integer, "base_type", "is not an integer",
                 static_cast<std::uint64_t>(type.base->cls));
  cursor.require(type.base->size == type.size, "size", "is not that of the base type", type.size);
  const std::size_t least = 1 + std::size_t{type.base->size};
  const std::size_t count = cursor.count(bits & 0xFFFF, least, limits::kMaxDatatypeNodes, "member_count");
  type.enum_members.resize(count);
  for (EnumMember& member : type.enum_members) {
    if (!cursor.ok()) return;
    member.name = decode_name(cursor, type.version);
  }
  decode_enum_values(cursor, type);
}

void decode_variable_length(Decoding& decoding, std::uint32_t bits, Datatype& type) {
  Cursor& cursor = decoding.cursor;
  cursor.require((bits & 0x0F) <= 1, "variable_length_type", "is unknown", bits & 0x0F);
  type.variable_string = (bits & 0x0F) == 1;
  if (type.variable_string) {
    cursor.require((bits >> 4 & 0x0F) <= 2, "string_padding", "is reserved", bits >> 4 & 0x0F);
    cursor.require((bits >> 8 & 0x0F) <= 1, "character_set", "is reserved", bits >> 8 & 0x0F);
    type.padding = static_cast<StringPadding>(bits >> 4 & 0x0F);
    type.charset = static_cast<CharacterSet>(bits >> 8 & 0x0F);
  }
  type.base = decode_nested(decoding);
  if (!cursor.ok()) return;
  inherit(type, *type.base);
  type.has_variable_part = true;
  const std::uint32_t least = 4 + std::uint32_t{decoding.sizes.offsets} + 4;
  cursor.require(type.size >= least, "size", "below what a length and a heap place take", type.size);
}

void decode_array(Decoding& decoding, Datatype& type) {
  Cursor& cursor = decoding.cursor;
  const std::uint8_t claimed = cursor.u8("dimensionality");
  if (type.version < 3) cursor.skip(3, "reserved");
  const std::size_t rank = cursor.count(claimed, 4, limits::kMaxRank, "dimensionality");
  cursor.require(rank > 0, "dimensionality", "is zero");
  type.dims.resize(rank);
  for (std::uint32_t& dim : type.dims) dim = cursor.u32("dimension_size");
  if (type.version < 3) cursor.skip(4 * rank, "permutation");
  DatatypePtr base = decode_nested(decoding);
  if (cursor.ok()) finish_array(cursor, std::move(base), type);
}

void decode_complex(Decoding& decoding, std::uint32_t bits, Datatype& type) {
  Cursor& cursor = decoding.cursor;
  const bool homogeneous_rectangular = (bits & 0x07) == 0x01;
  cursor.require(homogeneous_rectangular, "complex_form", "is not a pair of equal parts", bits,
                 ErrorCode::UnsupportedFeature);
  type.base = decode_nested(decoding);
  if (!cursor.ok()) return;
  cursor.require(type.base->cls == DatatypeClass::Float, "base_type", "is not a float",
                 static_cast<std::uint64_t>(type.base->cls));
  cursor.require(type.size == 2 * std::uint64_t{type.base->size}, "size", "is not that of two parts", type.size);
}

}  // namespace h5mount::datatype_parts
