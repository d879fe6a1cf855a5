#include "type_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace h5mount::serve {
namespace {

using format::DatatypeClass;
using text::JsonWriter;

constexpr std::uint64_t kStepsPerType = 500;
constexpr std::uint32_t kPointer = 8, kSequence = 16, kRegion = 12, kNewReference = 64;

// The size of an element in libhdf5's memory, which has pointers instead of places in the file.
std::uint64_t memory_size(const format::Datatype& type) {
  switch (type.cls) {
    case DatatypeClass::VariableLength:
      return type.variable_string ? kPointer : kSequence;
    case DatatypeClass::Reference:
      switch (type.reference) {
        case format::ReferenceKind::Object1:
          return kPointer;
        case format::ReferenceKind::Region1:
          return kRegion;
        default:
          return kNewReference;
      }
    case DatatypeClass::Array: {
      std::uint64_t out = memory_size(*type.base);
      for (const std::uint32_t dim : type.dims) out *= dim;
      return out;
    }
    case DatatypeClass::Compound: {
      std::uint64_t out = type.size;
      if (!type.has_variable_part && !type.has_reference) return out;
      for (const format::CompoundMember& member : type.members)
        out += memory_size(*member.type) - member.type->size;
      return out;
    }
    default:
      return type.size;
  }
}

char order_mark(const format::Datatype& type) {
  return type.order == format::ByteOrder::Big ? '>' : '<';
}

std::string number(char kind, std::uint32_t size, const format::Datatype& type) {
  return fmt::format("{}{}{}", size == 1 ? '|' : order_mark(type), kind, size);
}

// The size of an element of a NumPy array, in which variable-length elements and references are objects.
std::uint64_t item_size(const format::Datatype& type) {
  if (type.cls == DatatypeClass::Reference || type.cls == DatatypeClass::VariableLength) return kPointer;
  if (type.cls == DatatypeClass::Array) {
    std::uint64_t out = item_size(*type.base);
    for (const std::uint32_t dim : type.dims) out *= dim;
    return out;
  }
  return text::is_boolean(type) ? 1 : memory_size(type);
}

std::string simple_dtype(const format::Datatype& type) {
  if (auto numeric = numeric_dtype(type)) return *std::move(numeric);
  constexpr std::string_view kNumpyTag = "NUMPY:";
  switch (type.cls) {
    case DatatypeClass::String:
      return fmt::format("|S{}", type.size);
    case DatatypeClass::VariableLength:
    case DatatypeClass::Reference:
      return "|O";
    case DatatypeClass::Opaque:
      if (type.tag.starts_with(kNumpyTag)) return type.tag.substr(kNumpyTag.size());
      return fmt::format("|V{}", type.size);
    default:
      return fmt::format("|V{}", item_size(type));
  }
}

Status write_dtype(const format::Datatype& type, JsonWriter& json, RequestBudget& budget) {
  H5_TRY(budget.spend(kStepsPerType));
  if (type.cls != DatatypeClass::Compound || text::complex_part(type) != nullptr) {
    json.value(simple_dtype(type));
    return {};
  }
  json.begin_object();
  for (const format::CompoundMember& member : type.members) {
    json.key(member.name);
    H5_TRY(write_dtype(*member.type, json, budget));
  }
  json.end_object();
  return {};
}

int class_number(const format::Datatype& type) {
  if (type.variable_string) return static_cast<int>(DatatypeClass::String);
  // Clients of this interface expect complex numbers as compounds.
  if (type.cls == DatatypeClass::Complex) return static_cast<int>(DatatypeClass::Compound);
  return static_cast<int>(type.cls);
}

// Writes the members of a type's object.
Status write_parts(const format::Datatype& type, JsonWriter& json, RequestBudget& budget);

Status write_member(std::string_view name, const format::Datatype& type, JsonWriter& json,
                    RequestBudget& budget) {
  json.begin_object().member("name", name);
  H5_TRY(write_parts(type, json, budget));
  json.end_object();
  return {};
}

Status write_base(const format::Datatype& type, JsonWriter& json, RequestBudget& budget) {
  json.key("base");
  return write_type(*type.base, json, budget);
}

Status write_enum_members(const format::Datatype& type, JsonWriter& json, RequestBudget& budget) {
  H5_TRY(budget.spend(kStepsPerType * type.enum_members.size()));
  json.key("members").begin_object();
  const text::ValueContext context{{}, budget};
  for (const format::EnumMember& member : type.enum_members) {
    json.key(member.name);
    H5_TRY(text::append_json(*type.base, member.value, context, json.next()));
  }
  json.end_object();
  return {};
}

Status write_compound_members(const format::Datatype& type, JsonWriter& json, RequestBudget& budget) {
  json.key("members").begin_array();
  if (type.cls == DatatypeClass::Complex) {
    H5_TRY(write_member("r", *type.base, json, budget));
    H5_TRY(write_member("i", *type.base, json, budget));
  }
  for (const format::CompoundMember& member : type.members)
    H5_TRY(write_member(member.name, *member.type, json, budget));
  json.end_array();
  return {};
}

Status write_parts(const format::Datatype& type, JsonWriter& json, RequestBudget& budget) {
  json.member("class", class_number(type)).key("dtype");
  H5_TRY(write_dtype(type, json, budget));
  json.member("size", memory_size(type));
  const bool has_order = type.cls == DatatypeClass::Integer || type.cls == DatatypeClass::Float ||
                         type.cls == DatatypeClass::Bitfield;
  if (has_order) json.member("order", static_cast<int>(type.order));
  switch (type.cls) {
    case DatatypeClass::Integer:
      json.member("sign", type.is_signed ? 1 : 0);
      return {};
    case DatatypeClass::String:
    case DatatypeClass::VariableLength:
      if (type.cls == DatatypeClass::VariableLength && !type.variable_string)
        return write_base(type, json, budget);
      json.member("cset", static_cast<int>(type.charset)).member("strpad", static_cast<int>(type.padding));
      json.member("vlen", type.variable_string);
      return {};
    case DatatypeClass::Opaque:
      json.member("tag", type.tag);
      return {};
    case DatatypeClass::Compound:
    case DatatypeClass::Complex:
      return write_compound_members(type, json, budget);
    case DatatypeClass::Enum:
      H5_TRY(write_enum_members(type, json, budget));
      return write_base(type, json, budget);
    case DatatypeClass::Array:
      json.key("dims").array(type.dims);
      return write_base(type, json, budget);
    default:
      return {};
  }
}

}  // namespace

std::optional<std::uint32_t> numpy_integer_size(const format::Datatype& type) {
  if (type.size > 8) return std::nullopt;
  return std::bit_ceil(type.size);
}

std::uint32_t numpy_float_size(const format::Datatype& type) {
  // The bits of exponent and mantissa in a format.
  struct Known {
    std::uint32_t size;
    unsigned exponent, mantissa;
  };
  for (const Known known : {Known{2, 5, 10}, Known{4, 8, 23}, Known{8, 11, 52}}) {
    // As h5py has it, of the sizes that it knows the next one. There is none for more than 8 bytes that is
    // the same everywhere.
    if (type.size > known.size && type.size <= 8) continue;
    const std::int64_t bias = (std::int64_t{1} << (known.exponent - 1)) - 1;
    const std::int64_t highest =
        (std::int64_t{1} << std::min<unsigned>(type.exponent_size, 31)) - 2 - type.exponent_bias;
    const std::int64_t lowest = 1 - static_cast<std::int64_t>(type.exponent_bias);
    if (type.mantissa_size <= known.mantissa && highest <= bias && lowest >= 1 - bias) return known.size;
  }
  return 16;
}

std::optional<std::string> numeric_dtype(const format::Datatype& type) {
  if (text::is_boolean(type)) return "|b1";
  if (const format::Datatype* const part = text::complex_part(type)) {
    const std::uint32_t size = numpy_float_size(*part);
    return fmt::format("{}c{}", order_mark(*part), 2 * std::max(size, 4U));
  }
  switch (type.cls) {
    case DatatypeClass::Float:
      return number('f', numpy_float_size(type), type);
    case DatatypeClass::Enum:
      return numeric_dtype(*type.base);
    case DatatypeClass::Integer:
    case DatatypeClass::Time:
    case DatatypeClass::Bitfield: {
      const auto size = numpy_integer_size(type);
      if (!size) return std::nullopt;
      return number(type.cls == DatatypeClass::Integer && type.is_signed ? 'i' : 'u', *size, type);
    }
    default:
      return std::nullopt;
  }
}

Status write_type(const format::Datatype& type, JsonWriter& json, RequestBudget& budget) {
  json.begin_object();
  H5_TRY(write_parts(type, json, budget));
  json.end_object();
  return {};
}

}  // namespace h5mount::serve
