#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <unordered_set>

#include "../numpy_type.h"
#include "h5mount/dataset/converted_dataset.h"
#include "h5mount/text/strict_json.h"
#include "h5mount/view/netcdf.h"
#include "number_forms.h"
#include "zarr_type_parts.h"

namespace h5mount::view {

namespace {

using format::Datatype;
using format::DatatypeClass;

// Attributes that always belong to the library.
constexpr std::array<std::string_view, 4> kLibraryAttributes = {"_Netcdf4Coordinates", "_Netcdf4Dimid",
                                                                "_nc3_strict", "_NCProperties"};
// Attributes of dimension scales and of datasets that have some.
constexpr std::array<std::string_view, 4> kScaleAttributes = {"CLASS", "DIMENSION_LIST", "NAME",
                                                              "REFERENCE_LIST"};

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool is_boolean(const Datatype& type) {
  const auto numpy = type.cls == DatatypeClass::Enum ? numpy_type(type) : Result<NumpyType>(NumpyType{});
  return numpy && numpy->description.contains("b1");
}

// A value in the form in which it is written: its own, or that of numbers which are converted first.
struct Written {
  format::DatatypePtr type;
  ByteSpan data;
  std::vector<std::byte> wide;  // what `data` views if it was converted
};

Written written_as(const object::Attribute& attribute) {
  const Datatype& type = *attribute.type;
  if (type.cls == DatatypeClass::Enum && !is_boolean(type)) return {type.base, attribute.data, {}};
  // Larger values are written as their shortest decimals, so that no more memory is needed.
  constexpr std::size_t kMaxWidened = 16U << 20;
  if (attribute.data.size() > kMaxWidened || !exact_double(type, attribute.data))
    return {attribute.type, attribute.data, {}};
  Written out{dataset::float_type(sizeof(double), format::ByteOrder::Little), {}, {}};
  out.wide.reserve(attribute.data.size() / type.size * sizeof(double));
  for (ByteSpan left = attribute.data; left.size() >= type.size; left = left.subspan(type.size)) {
    const auto bytes =
        std::bit_cast<std::array<std::byte, sizeof(double)>>(*exact_double(type, left.first(type.size)));
    out.wide.insert(out.wide.end(), bytes.begin(), bytes.end());
  }
  out.data = out.wide;
  return out;
}

// AnnData takes an attribute that is an array for a list, also if it has one string; netCDF has no such
// arrays.
bool keeps_lists(const metadata::FileMetadata& file, const object::Object& object) {
  return object::find_attribute(file, object, "encoding-type").has_value();
}

// Fails with TooLarge if there is more text than belongs into metadata, as values may share what they refer
// to.
Result<std::string> value_of(const object::Attribute& attribute, bool lists,
                             const text::ValueContext& values) {
  constexpr std::size_t kMaxBytes = 4U << 20;
  // netCDF's empty attributes.
  if (attribute.space.kind == format::DataspaceKind::Null)
    return text::is_string(*attribute.type) ? "\"\"" : "[]";
  const Written value = written_as(attribute);
  std::string out;
  const std::size_t most_rank = lists && text::is_string(*attribute.type) ? 0 : 1;
  if (attribute.space.element_count() == 1 && attribute.space.rank() <= most_rank &&
      value.data.size() == value.type->size) {
    H5_TRY(text::append_json(*value.type, value.data, values, out));
  } else {
    H5_ASSIGN(out, text::value_text(*value.type, attribute.space, value.data, values, kMaxBytes));
  }
  if (!is_boolean(*value.type)) return out;
  // The names of its members are FALSE and TRUE, and JSON's words are the same in small letters.
  std::erase(out, '"');
  std::ranges::transform(out, out.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | ' ') : c; });
  return out;
}

// Whether a number of type `own` is a possible element of an array of type `array`.
bool is_same_number(const Datatype& array, const Datatype& own) {
  const auto number = [](const Datatype& type) -> const Datatype& {
    return type.cls == DatatypeClass::Enum ? *type.base : type;
  };
  const Datatype& plain = number(own);
  return (plain.cls == DatatypeClass::Integer || plain.cls == DatatypeClass::Float) && !is_boolean(array) &&
         text::datatype_text(number(array)) == text::datatype_text(plain);
}

bool is_not_finite(std::string_view number) {
  return number == "NaN" || number.ends_with("Infinity");
}

// `_FillValue` as the fill_value of .zarray: numbers as they are, text in base64. Empty if it is neither.
std::string version2_fill_value(const Datatype& type, const object::Attribute& attribute,
                                const std::string& value, const text::ValueContext& values,
                                AttributeForm form) {
  if (attribute.space.element_count() != 1 || attribute.data.size() != attribute.type->size) return {};
  // Floats of every width have NaN and the infinities.
  if (form == AttributeForm::StrictVersion2 && is_not_finite(value) && type.cls == DatatypeClass::Float &&
      attribute.type->cls == DatatypeClass::Float)
    return text::strict_json(value);
  if (is_same_number(type, *attribute.type))
    return value.starts_with('[') ? std::string() : text::strict_json(value);
  if (type.cls != DatatypeClass::String || !text::is_string(*attribute.type)) return {};
  std::string text;
  if (!text::append_string(*attribute.type, attribute.data, values, text) || text.size() > type.size)
    return {};
  text.resize(type.size);
  return base64(std::as_bytes(std::span(text)));
}

// The values of a `missing_value` of floats but for NaN, which is missing in any case; empty if none is left.
std::string without_nan(const std::string& value) {
  if (value == "NaN") return {};
  if (!value.starts_with('[') || value.starts_with("[[")) return value;
  std::string out = "[";
  for (std::size_t at = 1; at < value.size();) {
    const std::size_t end = value.find_first_of(",]", at);
    if (end == std::string::npos) return value;
    const std::string_view number = std::string_view(value).substr(at, end - at);
    if (number != "NaN") out.append(out.size() > 1 ? "," : "").append(number);
    at = end + 1;
  }
  return out.size() > 1 ? out + ']' : std::string();
}

// The value of an attribute in strict JSON; empty if it is omitted. `fill`: of AttributesText.
std::string strict_version2(const object::Attribute& attribute, const std::string& value,
                            const Datatype* fill_type, const std::string& fill) {
  const bool of_floats = fill_type != nullptr && fill_type->cls == DatatypeClass::Float &&
                         attribute.type->cls == DatatypeClass::Float;
  if (fill_type != nullptr && attribute.name == "_FillValue" && !fill.empty()) return {};
  // A list that had strings among its numbers would be one of strings to NumPy.
  const bool list = attribute.type->cls == DatatypeClass::Float && value.starts_with('[');
  return text::strict_json(of_floats && attribute.name == "missing_value" ? without_nan(value) : value,
                           list ? text::NotFinite::Overflowing : text::NotFinite::Strings);
}

}  // namespace

// Values beyond a total are omitted, like those that cannot be read.
AttributesText attributes_text(const text::ValueContext& values, const object::Object& object,
                               DimensionRole role, const Datatype* fill_type, AttributeForm form) {
  constexpr std::size_t kMaxMembers = 16U << 20;
  AttributesText out;
  std::unordered_set<std::string> met;
  const bool lists = keeps_lists(*values.file, object);
  const auto add = [&](const object::Attribute& attribute) {
    if (out.members.size() > kMaxMembers) return false;
    const bool own = is_one_of(kLibraryAttributes, attribute.name) ||
                     (role.plays_part() && is_one_of(kScaleAttributes, attribute.name));
    if (own || attribute.damage || !met.insert(attribute.name).second) return true;
    auto value = value_of(attribute, lists, values);
    if (!value) return true;
    const bool is_fill = fill_type != nullptr && attribute.name == "_FillValue";
    if (form != AttributeForm::Version3) {
      if (is_fill) out.fill_value = version2_fill_value(*fill_type, attribute, *value, values, form);
      if (form == AttributeForm::StrictVersion2)
        value = strict_version2(attribute, *value, fill_type, out.fill_value);
      if (value->empty()) return true;
    } else if (is_fill && !text::is_string(*fill_type)) {
      auto coded = attribute.data.size() == attribute.type->size
                       ? version3_fill_attribute(*fill_type, *attribute.type, attribute.data)
                       : std::nullopt;
      if (!coded) return true;
      value = *std::move(coded);
    } else if (is_fill && fill_type->cls == DatatypeClass::String) {
      return true;
    } else {
      value = text::strict_json(*value);
    }
    if (!out.members.empty()) out.members += ',';
    text::append_json_string(attribute.name, out.members);
    out.members += ':' + *value;
    return true;
  };
  (void)object::for_each_attribute(*values.file, object, add, nullptr);
  return out;
}

}  // namespace h5mount::view
