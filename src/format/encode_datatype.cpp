// The datatype message, as datatype.cpp and datatype_composite.cpp decode it. Versions are those that libhdf5
// 1.10 writes for new files: 3 for compounds, enumerations and arrays, 1 for what has no parts; later classes
// and references ask for 4 and 5, and so do the types that they are parts of.
#include <algorithm>

#include "h5mount/format/encode.h"

namespace h5mount::format {
namespace {

constexpr std::uint32_t kSequenceBytes = 4 + 8 + 4;  // length, heap collection, index
constexpr std::uint32_t kObjectReferenceBytes = 8;
constexpr std::uint32_t kRegionReferenceBytes = 8 + 4;
constexpr std::size_t kMostTagBytes = 248;  // a multiple of 8 that its field holds

std::unexpected<Error> unsupported_type(std::string why) {
  return fail(Error(ErrorCode::UnsupportedFeature, "datatype: " + std::move(why)));
}

std::uint8_t version_for(const Datatype& type) {
  std::uint8_t version = 1;
  switch (type.cls) {
    case DatatypeClass::Compound:
    case DatatypeClass::Enum:
    case DatatypeClass::Array:
      version = 3;
      break;
    case DatatypeClass::Reference:
      version = type.reference >= ReferenceKind::Object2 ? 4 : 1;
      break;
    case DatatypeClass::Complex:
      version = 5;
      break;
    default:
      break;
  }
  if (type.base) version = std::max(version, version_for(*type.base));
  for (const CompoundMember& member : type.members) version = std::max(version, version_for(*member.type));
  return version;
}

std::uint32_t number_bits(const Datatype& type) {
  return (type.order == ByteOrder::Big ? 0x01U : 0U) | (type.low_pad ? 0x02U : 0U) |
         (type.high_pad ? 0x04U : 0U);
}

std::uint32_t string_bits(const Datatype& type) {
  return static_cast<std::uint32_t>(type.padding) | static_cast<std::uint32_t>(type.charset) << 4;
}

std::uint32_t float_bits(const Datatype& type) {
  const std::uint32_t order = type.order == ByteOrder::Vax   ? 0x41U
                              : type.order == ByteOrder::Big ? 0x01U
                                                             : 0U;
  return order | (number_bits(type) & ~0x01U) | static_cast<std::uint32_t>(type.normalization) << 4 |
         std::uint32_t{type.sign_location} << 8;
}

// The tag's bytes in the message.
std::size_t tag_bytes(const Datatype& type) {
  return (std::min(type.tag.size(), kMostTagBytes) + 7) / 8 * 8;
}

std::uint32_t class_bits(const Datatype& type) {
  switch (type.cls) {
    case DatatypeClass::Integer:
      return number_bits(type) | (type.is_signed ? 0x08U : 0U);
    case DatatypeClass::Bitfield:
    case DatatypeClass::Time:
      return number_bits(type);
    case DatatypeClass::Float:
      return float_bits(type);
    case DatatypeClass::String:
      return string_bits(type);
    case DatatypeClass::Opaque:
      return static_cast<std::uint32_t>(tag_bytes(type));
    case DatatypeClass::Compound:
      return static_cast<std::uint32_t>(type.members.size());
    case DatatypeClass::Enum:
      return static_cast<std::uint32_t>(type.enum_members.size());
    case DatatypeClass::Reference:
      return static_cast<std::uint32_t>(type.reference) |
             (type.reference >= ReferenceKind::Object2 ? 0x10U : 0U);
    case DatatypeClass::VariableLength:
      return type.variable_string ? 0x01U | string_bits(type) << 4 : 0U;
    case DatatypeClass::Array:
      return 0;
    case DatatypeClass::Complex:
      return 0x01;
  }
  return 0;
}

Status check_type(const Datatype& type) {
  if (type.members.size() > 0xFFFF || type.enum_members.size() > 0xFFFF)
    return unsupported_type("more than 65,535 members");
  if (type.cls == DatatypeClass::VariableLength && type.size != kSequenceBytes)
    return unsupported_type("elements of variable length in a file whose offsets are not of 8 bytes");
  const bool old_object = type.cls == DatatypeClass::Reference && type.reference == ReferenceKind::Object1;
  const bool old_region = type.cls == DatatypeClass::Reference && type.reference == ReferenceKind::Region1;
  if ((old_object && type.size != kObjectReferenceBytes) ||
      (old_region && type.size != kRegionReferenceBytes))
    return unsupported_type("references in a file whose offsets are not of 8 bytes");
  return {};
}

// No deeper than the decoder allows (limits::kMaxDatatypeDepth), as types come from it.
Status append_type(const Datatype& type, Writer& out);

Status append_compound(const Datatype& type, Writer& out) {
  for (const CompoundMember& member : type.members) {
    out.text(member.name).uint(0, 1).uint(member.offset, bytes_for(type.size));
    H5_TRY(append_type(*member.type, out));
  }
  return {};
}

Status append_enum(const Datatype& type, Writer& out) {
  H5_TRY(append_type(*type.base, out));
  for (const EnumMember& member : type.enum_members) out.text(member.name).uint(0, 1);
  for (const EnumMember& member : type.enum_members) out.bytes(member.value);
  return {};
}

Status append_properties(const Datatype& type, Writer& out) {
  switch (type.cls) {
    case DatatypeClass::Integer:
    case DatatypeClass::Bitfield:
      out.uint(type.bit_offset, 2).uint(type.bit_precision, 2);
      return {};
    case DatatypeClass::Float:
      out.uint(type.bit_offset, 2).uint(type.bit_precision, 2).uint(type.exponent_location, 1);
      out.uint(type.exponent_size, 1).uint(type.mantissa_location, 1).uint(type.mantissa_size, 1);
      out.uint(type.exponent_bias, 4);
      return {};
    case DatatypeClass::Time:
      out.uint(type.bit_precision, 2);
      return {};
    case DatatypeClass::Opaque: {
      const std::string_view tag = std::string_view(type.tag).substr(0, kMostTagBytes);
      out.text(tag).zeros(tag_bytes(type) - tag.size());
      return {};
    }
    case DatatypeClass::Compound:
      return append_compound(type, out);
    case DatatypeClass::Enum:
      return append_enum(type, out);
    case DatatypeClass::Array:
      out.uint(type.dims.size(), 1);
      for (const std::uint32_t dim : type.dims) out.uint(dim, 4);
      return append_type(*type.base, out);
    case DatatypeClass::VariableLength:
    case DatatypeClass::Complex:
      return append_type(*type.base, out);
    case DatatypeClass::String:
    case DatatypeClass::Reference:
      break;
  }
  return {};
}

Status append_type(const Datatype& type, Writer& out) {
  H5_TRY(check_type(type));
  out.uint(static_cast<std::uint64_t>(type.cls) | std::uint64_t{version_for(type)} << 4, 1);
  out.uint(class_bits(type), 3).uint(type.size, 4);
  return append_properties(type, out);
}

}  // namespace

Result<std::vector<std::byte>> encode_datatype(const Datatype& type) {
  Writer out({});
  H5_TRY(append_type(type, out));
  if (out.size() > kMostMessageBytes) return unsupported_type("larger than a message can be");
  return out.take();
}

}  // namespace h5mount::format
