#include "h5mount/view/netcdf.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <unordered_set>

#include "../object_attributes.h"
#include "zarr_type_parts.h"

namespace h5mount::view {

namespace {

constexpr std::string_view kWithoutValues = "This is a netCDF dimension but not a netCDF variable.";
// Attributes that always belong to the library.
constexpr std::array<std::string_view, 4> kLibraryAttributes = {"_Netcdf4Coordinates", "_Netcdf4Dimid",
                                                                "_nc3_strict", "_NCProperties"};
// Attributes of dimension scales and of datasets that have some.
constexpr std::array<std::string_view, 4> kScaleAttributes = {"CLASS", "DIMENSION_LIST", "NAME",
                                                              "REFERENCE_LIST"};

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::string string_of(const metadata::FileMetadata& file, const object::Object& object,
                      std::string_view name) {
  const auto attribute = attribute_of(file, object, name);
  std::string out;
  if (!attribute || attribute->type->cls != format::DatatypeClass::String ||
      attribute->data.size() != attribute->type->size ||
      !text::append_string(*attribute->type, attribute->data, {}, out))
    return {};
  return out;
}

// Converts to strict JSON: NaN, Infinity and -Infinity outside of strings become strings.
std::string strict(std::string_view json) {
  constexpr std::array<std::string_view, 3> kWords = {"NaN", "Infinity", "-Infinity"};
  std::string out;
  bool inside = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (!inside) {
      const auto word = std::ranges::find_if(kWords, [&](auto w) { return json.substr(i).starts_with(w); });
      if (word != kWords.end()) {
        out.append("\"").append(*word).append("\"");
        i += word->size() - 1;
        continue;
      }
    }
    if (json[i] == '"') inside = !inside;
    if (inside && json[i] == '\\' && i + 1 < json.size()) out += json[i++];
    out += json[i];
  }
  return out;
}

// TooLarge for more text than belongs into metadata: values may share what they refer to.
Result<std::string> value_of(const object::Attribute& attribute, const text::ValueContext& values) {
  constexpr std::size_t kMaxBytes = 4U << 20;
  const auto count = attribute.space.element_count();
  if (count != 1 || attribute.space.rank() > 1 || attribute.data.size() != attribute.type->size) {
    H5_ASSIGN(const std::string list,
              text::value_text(*attribute.type, attribute.space, attribute.data, values, kMaxBytes));
    return strict(list);
  }
  std::string out;
  H5_TRY(text::append_json(*attribute.type, attribute.data, values, out));
  return strict(out);
}

// The first scale of each dimension; 0 where it has none.
std::vector<std::uint64_t> scales_of(const text::ValueContext& values, const object::Object& object,
                                     std::size_t rank) {
  std::vector<std::uint64_t> out(rank);
  const auto list = attribute_of(*values.file, object, "DIMENSION_LIST");
  if (!list || list->type->cls != format::DatatypeClass::VariableLength || list->type->variable_string)
    return out;
  const std::size_t bytes = list->type->size;
  for (std::size_t i = 0; i < rank && (i + 1) * bytes <= list->data.size(); ++i) {
    out[i] = first_reference(values, *list->type, list->data.subspan(i * bytes, bytes));
  }
  return out;
}

std::string last_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

// The name of a scale that is as long as the dimension; else empty.
std::string scale_name(const text::ValueContext& values, std::uint64_t address, std::uint64_t length) {
  const auto scale = object::open_object(*values.file, address);
  if (!scale || scale->kind != object::ObjectKind::Dataset) return {};
  const auto described = object::describe_dataset(*values.file, *scale);
  if (!described || described->space.dims.empty() || described->space.dims[0] != length) return {};
  return last_name(values.path_of(address).value_or(""));
}

bool is_variable_string(const format::Datatype& type) {
  return type.cls == format::DatatypeClass::VariableLength && type.variable_string;
}

}  // namespace

DimensionRole dimension_role(const metadata::FileMetadata& file, const object::Object& dataset) {
  DimensionRole out;
  out.is_scale = string_of(file, dataset, "CLASS") == "DIMENSION_SCALE";
  out.without_values = out.is_scale && string_of(file, dataset, "NAME").starts_with(kWithoutValues);
  out.has_scales = attribute_of(file, dataset, "DIMENSION_LIST").has_value();
  return out;
}

std::vector<std::string> dimension_names(const text::ValueContext& values, const object::Object& object,
                                         const object::DatasetDescription& dataset, DimensionRole role) {
  const std::vector<std::uint64_t>& dims = dataset.space.dims;
  std::vector<std::uint64_t> scales(dims.size());
  if (role.has_scales) scales = scales_of(values, object, dims.size());
  if (role.is_scale && dims.size() == 1) scales[0] = object.address;
  std::vector<std::string> out;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    std::string name = scales[i] != 0 ? scale_name(values, scales[i], dims[i]) : std::string();
    const auto taken = [&] { return std::ranges::find(out, name) != out.end(); };
    if (name.empty() || taken()) name = fmt::format("phony_dim_{}", dims[i]);
    for (unsigned again = 1; taken(); ++again) name = fmt::format("phony_dim_{}_{}", dims[i], again);
    out.push_back(std::move(name));
  }
  return out;
}

// Values beyond a total are omitted, like those that cannot be read.
AttributesText attributes_text(const text::ValueContext& values, const object::Object& object,
                               DimensionRole role, const format::Datatype* fill_type, FillAttribute form) {
  constexpr std::size_t kMaxMembers = 16U << 20;
  AttributesText out;
  std::unordered_set<std::string> met;
  const auto add = [&](const object::Attribute& attribute) {
    if (out.members.size() > kMaxMembers) return false;
    const bool own = is_one_of(kLibraryAttributes, attribute.name) ||
                     (role.plays_part() && is_one_of(kScaleAttributes, attribute.name));
    if (own || attribute.damage || !met.insert(attribute.name).second) return true;
    auto value = value_of(attribute, values);
    if (!value) return true;
    const bool is_fill = fill_type != nullptr && attribute.name == "_FillValue";
    if (is_fill && form == FillAttribute::Version3 && !is_variable_string(*fill_type)) {
      auto coded = attribute.data.size() == attribute.type->size
                       ? version3_fill_attribute(*fill_type, *attribute.type, attribute.data)
                       : std::nullopt;
      if (!coded) return true;
      value = *std::move(coded);
    }
    const bool number = attribute.type->cls == format::DatatypeClass::Integer ||
                        attribute.type->cls == format::DatatypeClass::Float;
    if (is_fill && form == FillAttribute::Metadata && number && !value->starts_with('[') &&
        text::datatype_text(*attribute.type) == text::datatype_text(*fill_type)) {
      out.fill_value = *std::move(value);
      return true;
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
