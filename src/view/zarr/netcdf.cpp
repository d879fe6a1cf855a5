#include "h5mount/view/netcdf.h"

#include <algorithm>

#include "h5mount/base/limits.h"
#include "h5mount/meaning/dimensions.h"

namespace h5mount::view {

namespace {

// The elements of an attribute of integers, at most one more than a dataset can have dimensions; empty if it
// has another type.
std::vector<std::uint32_t> integers_of(const metadata::FileMetadata& file, const object::Object& object,
                                       std::string_view name) {
  const auto attribute = meaning::attribute_of(file, object, name);
  const format::Datatype* type = attribute ? attribute->type.get() : nullptr;
  std::vector<std::uint32_t> out;
  if (type == nullptr || type->cls != format::DatatypeClass::Integer || type->size != 4) return out;
  for (std::size_t at = 0; at + 4 <= attribute->data.size() && out.size() <= limits::kMaxRank; at += 4)
    out.push_back(static_cast<std::uint32_t>(text::stored_bits(*type, attribute->data.data() + at)));
  return out;
}

// The default fill values of netCDF (NC_FILL_INT and so on) as little-endian bits; nullopt for types that
// have none but zeros.
std::optional<std::uint64_t> default_fill(const format::Datatype& type) {
  using format::DatatypeClass;
  const bool big_or_little = type.order == format::ByteOrder::Big || type.order == format::ByteOrder::Little;
  if (!big_or_little || type.bit_offset != 0 || type.bit_precision != 8 * type.size) return std::nullopt;
  if (type.cls == DatatypeClass::Float) {  // 9.9692099683868690e+36
    if (type.size == 4) return 0x7CF0'0000;
    if (type.size == 8) return 0x479E'0000'0000'0000;
  }
  if (type.cls != DatatypeClass::Integer) return std::nullopt;
  switch (type.size) {
    case 1:
      return type.is_signed ? 0x81 : 0xFF;  // -127
    case 2:
      return type.is_signed ? 0x8001 : 0xFFFF;  // -32767
    case 4:
      return type.is_signed ? 0x8000'0001 : 0xFFFF'FFFF;  // -2147483647
    case 8:
      return type.is_signed ? 0x8000'0000'0000'0002 : 0xFFFF'FFFF'FFFF'FFFE;  // -9223372036854775806
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<std::uint32_t> dimension_id(const metadata::FileMetadata& file, const object::Object& scale) {
  const std::vector<std::uint32_t> id = integers_of(file, scale, "_Netcdf4Dimid");
  if (id.empty()) return std::nullopt;
  return id[0];
}

std::vector<std::uint32_t> coordinate_ids(const metadata::FileMetadata& file,
                                          const object::Object& variable) {
  return integers_of(file, variable, "_Netcdf4Coordinates");
}

std::vector<std::byte> netcdf_fill_element(const object::DatasetDescription& dataset) {
  const format::Datatype& type = *dataset.type;
  if (dataset.fill.value.size() == type.size && type.size > 0) return dataset.fill.value;
  std::vector<std::byte> out(type.size);
  const std::uint64_t bits = default_fill(type).value_or(0);
  for (std::size_t i = 0; i < std::min<std::size_t>(out.size(), sizeof bits); ++i)
    out[type.order == format::ByteOrder::Big ? out.size() - 1 - i : i] =
        static_cast<std::byte>(bits >> (8 * i) & 0xFF);
  return out;
}

bool is_netcdf_type(const format::Datatype& type, bool committed) {
  using format::DatatypeClass;
  switch (type.cls) {
    case DatatypeClass::Integer:
    case DatatypeClass::Float:
      return type.size <= 8;
    case DatatypeClass::String:
      return true;
    case DatatypeClass::VariableLength:
      return type.variable_string || committed;
    case DatatypeClass::Compound:
    case DatatypeClass::Enum:
    case DatatypeClass::Opaque:
      return committed;
    default:
      return false;
  }
}

}  // namespace h5mount::view
