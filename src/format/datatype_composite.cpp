// Properties of the composite classes of the datatype message:
//   6 compound         bit field 0-15: number of members; per member
//       version 1      name | offset (4) | dimensions (1) | reserved (3) | permutation (4) | reserved (4) |
//                      four sizes (4 each) | type
//       version 2      name | offset (4) | type
//       version 3 on   name | offset (as few bytes as the compound's size needs) | type
//   8 enumeration      bit field 0-15: number of members; base type | names | values (base size each, packed)
//   9 variable length  bit field 0-3: 0 sequence, 1 string; 4-7 padding; 8-11 character set; base type
//   10 array           version 2: dimensions (1) | reserved (3) | sizes (4 each) | permutation (4 each) |
//                      base type
//                      version 3 on: dimensions (1) | sizes (4 each) | base type
//   11 complex         version 5: base type, a float; bit field bit 0: both parts are of that type, 1-2: form
// Names end in NUL; in versions 1 and 2 they are padded to a multiple of 8 bytes.
#include "datatype_parts.h"
#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"

namespace h5mount::format::datatype_parts {

namespace {

std::string decode_name(Cursor& cursor, std::uint8_t version) {
  std::string name(cursor.c_string("name"));
  const std::size_t stored = name.size() + 1;
  if (version < 3 && stored % 8 != 0) cursor.skip(8 - stored % 8, "name_padding");
  return name;
}

// The class of a base type that begins at file offset `offset`, as a field for errors.
Field base_type(std::uint64_t offset, const Datatype& base) {
  return {"base_type", offset, static_cast<std::uint64_t>(base.cls)};
}

void inherit(Datatype& type, const Datatype& part) {
  type.has_variable_part = type.has_variable_part || part.has_variable_part;
  type.has_reference = type.has_reference || part.has_reference;
}

// An array's dimensions and the field to report errors at.
struct Dimensions {
  std::vector<std::uint32_t> sizes;
  Field first;  // the first size
};

// Sets base, dimensions and size of `array`: that of its elements. `stored_size` repeats it; null if no size
// is stored.
void finish_array(Decoding& decoding, DatatypePtr base, Dimensions dims, const Field* stored_size,
                  Datatype& array) {
  Cursor& cursor = decoding.cursor;
  std::uint64_t bytes = base->size;
  for (const std::uint32_t dim : dims.sizes) bytes = checked_mul(bytes, dim).value_or(UINT64_MAX);
  cursor.require(bytes > 0 && bytes <= UINT32_MAX, dims.first.part("dimension_size", bytes),
                 "makes an impossible array");
  // Behind a part of another size, those of a compound would have other offsets.
  if (stored_size != nullptr && decoding.depth > 1)
    cursor.require_equal(bytes, *stored_size, "is not that of the array's elements");
  else if (stored_size != nullptr && stored_size->value != bytes)
    decoding.disagrees(*stored_size, "is not that of the array's elements, by which the data are read");
  array.size = static_cast<std::uint32_t>(bytes);
  inherit(array, *base);
  array.base = std::move(base);
  array.dims = std::move(dims.sizes);
}

// Members of version 1 have up to four dimensions of their own; such a member is decoded as an array.
Dimensions decode_member_dims(Cursor& cursor) {
  constexpr std::size_t kSlots = 4;
  const std::uint8_t dimensionality = cursor.u8("dimensionality");
  cursor.require(dimensionality <= kSlots, "is above 4");
  cursor.skip(3 + 4 + 4, "reserved_and_permutation");
  Dimensions dims;
  for (std::size_t i = 0; i < kSlots; ++i) {
    const std::uint32_t dim = cursor.u32("dimension_size");
    if (i == 0) dims.first = cursor.last();
    if (i < dimensionality) dims.sizes.push_back(dim);
  }
  return dims;
}

DatatypePtr decode_member_type(Decoding& decoding, Dimensions dims) {
  DatatypePtr type = decode_nested(decoding);
  if (!type || dims.sizes.empty()) return type;
  auto array = std::make_shared<Datatype>();
  array->cls = DatatypeClass::Array;
  array->version = type->version;
  finish_array(decoding, std::move(type), std::move(dims), nullptr, *array);
  return array;
}

void decode_member(Decoding& decoding, std::size_t offset_width, Datatype& compound) {
  Cursor& cursor = decoding.cursor;
  CompoundMember member;
  member.name = decode_name(cursor, compound.version);
  member.offset = static_cast<std::uint32_t>(cursor.uint(offset_width, "member_offset"));
  const Field offset = cursor.last();
  Dimensions dims;
  if (compound.version == 1) dims = decode_member_dims(cursor);
  member.type = decode_member_type(decoding, std::move(dims));
  if (!cursor.ok()) return;
  if (!cursor.require(range_within(member.offset, member.type->size, compound.size), offset,
                      "member ends beyond the compound"))
    return;
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

void decode_compound(Decoding& decoding, const TypeFields& fields, Datatype& type) {
  constexpr std::size_t kMinMemberBytes = 1 + 1 + 8;
  Cursor& cursor = decoding.cursor;
  const Field members = fields.bits.part("member_count", fields.bit_values() & 0xFFFF);
  const std::size_t count = cursor.count(members, kMinMemberBytes, limits::kMaxDatatypeNodes);
  cursor.require(count > 0, members, "is zero");
  const std::size_t width = type.version < 3 ? 4 : bytes_for(type.size);
  type.members.reserve(count);
  for (std::size_t i = 0; i < count && cursor.ok(); ++i) decode_member(decoding, width, type);
}

void decode_enum(Decoding& decoding, const TypeFields& fields, Datatype& type) {
  Cursor& cursor = decoding.cursor;
  const std::uint64_t base_at = cursor.here();
  type.base = decode_nested(decoding);
  if (!cursor.ok()) return;
  const bool of_integer = type.base->cls == DatatypeClass::Integer && type.base->size == type.size;
  if (type.base->cls != DatatypeClass::Integer)
    decoding.disagrees(base_type(base_at, *type.base), "is not an integer; the data are read as bytes");
  else if (!of_integer)
    decoding.disagrees(fields.size, "is not that of the base type; the data are read as bytes");
  const std::size_t least = 1 + std::size_t{type.base->size};
  const Field members = fields.bits.part("member_count", fields.bit_values() & 0xFFFF);
  const std::size_t count = cursor.count(members, least, limits::kMaxDatatypeNodes);
  type.enum_members.resize(count);
  for (EnumMember& member : type.enum_members) {
    if (!cursor.ok()) return;
    member.name = decode_name(cursor, type.version);
  }
  decode_enum_values(cursor, type);
  if (of_integer) return;
  type.cls = DatatypeClass::Opaque;
  type.tag = "enumeration";
  type.enum_members.clear();
  type.base = nullptr;
}

void decode_variable_length(Decoding& decoding, const TypeFields& fields, Datatype& type) {
  Cursor& cursor = decoding.cursor;
  const std::uint32_t kind = fields.bit_values() & 0x0F;
  cursor.require(kind <= 1, fields.bits.part("variable_length_type", kind), "is unknown");
  type.variable_string = kind == 1;
  if (type.variable_string) decode_string_bits(decoding, fields.bits, fields.bit_values() >> 4, type);
  type.base = decode_nested(decoding);
  if (!cursor.ok()) return;
  inherit(type, *type.base);
  type.has_variable_part = true;
  // A length and a place in a heap have a known size, which this one repeats. Behind a part that had
  // another size, those of a compound would have other offsets.
  const std::uint32_t needed = 4 + std::uint32_t{cursor.sizes().offsets} + 4;
  if (decoding.depth > 1) {
    cursor.require(type.size >= needed, fields.size, "below what a length and a heap place take");
  } else if (type.size != needed) {
    decoding.disagrees(fields.size, "is not that of a length and a heap place, by which the data are read");
    type.size = needed;
  }
}

void decode_array(Decoding& decoding, const TypeFields& fields, Datatype& type) {
  Cursor& cursor = decoding.cursor;
  cursor.u8("dimensionality");
  const Field dimensionality = cursor.last();
  if (type.version < 3) cursor.skip(3, "reserved");
  const std::size_t rank = cursor.count(dimensionality, 4, limits::kMaxRank);
  Dimensions dims;
  dims.sizes.resize(rank);
  for (std::uint32_t& dim : dims.sizes) {
    dim = cursor.u32("dimension_size");
    if (&dim == dims.sizes.data()) dims.first = cursor.last();
  }
  if (type.version < 3) cursor.skip(4 * rank, "permutation");
  DatatypePtr base = decode_nested(decoding);
  if (!cursor.ok()) return;
  if (rank > 0) return finish_array(decoding, std::move(base), std::move(dims), &fields.size, type);
  decoding.disagrees(dimensionality, "is zero; the data are read as the base type's");
  type = *base;
}

void decode_complex(Decoding& decoding, const TypeFields& fields, Datatype& type) {
  Cursor& cursor = decoding.cursor;
  const std::uint32_t form = fields.bit_values() & 0x07;
  cursor.require(form == 0x01, fields.bits.part("complex_form", form), "is not a pair of equal parts",
                 ErrorCode::UnsupportedFeature);
  const std::uint64_t base_at = cursor.here();
  type.base = decode_nested(decoding);
  if (!cursor.ok()) return;
  cursor.require(type.base->cls == DatatypeClass::Float, base_type(base_at, *type.base), "is not a float");
  cursor.require_equal(2 * std::uint64_t{type.base->size}, fields.size, "is not that of two parts");
}

}  // namespace h5mount::format::datatype_parts
