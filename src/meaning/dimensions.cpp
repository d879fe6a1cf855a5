#include "h5mount/meaning/dimensions.h"

namespace h5mount::meaning {

namespace {
constexpr std::string_view kWithoutValues = "This is a netCDF dimension but not a netCDF variable.";
}  // namespace

std::optional<object::Attribute> attribute_of(const metadata::FileMetadata& file,
                                              const object::Object& object, std::string_view name) {
  auto found = object::find_attribute(file, object, name);
  if (!found || found->damage) return std::nullopt;
  return *std::move(found);
}

std::string string_of(const metadata::FileMetadata& file, const object::Object& object,
                      std::string_view name) {
  const auto attribute = attribute_of(file, object, name);
  std::string out;
  if (!attribute || attribute->type->cls != format::DatatypeClass::String ||
      attribute->data.size() != attribute->type->size ||
      !text::append_string(*attribute->type, attribute->data, {{}, Unbounded()}, out))
    return {};
  return out;
}

Result<std::uint64_t> first_reference(const text::ValueContext& values, const format::Datatype& type,
                                      ByteSpan element) {
  std::uint64_t out = 0;
  const auto note = [&](std::uint64_t address) -> std::optional<std::string> {
    if (out == 0) out = address;
    return std::string();
  };
  const text::ValueContext noting{{.file = values.file, .path_of = note}, values.budget};
  std::string ignored;
  const Status read = text::append_json(type, element, noting, ignored);
  if (!read && out == 0) return fail(read.error());
  return out;
}

DimensionRole dimension_role(const metadata::FileMetadata& file, const object::Object& dataset) {
  DimensionRole out;
  out.is_scale = string_of(file, dataset, "CLASS") == "DIMENSION_SCALE";
  out.without_values = out.is_scale && string_of(file, dataset, "NAME").starts_with(kWithoutValues);
  out.has_scales = attribute_of(file, dataset, "DIMENSION_LIST").has_value();
  return out;
}

std::vector<std::uint64_t> dimension_scales(const text::ValueContext& values, const object::Object& object,
                                            std::size_t rank, DimensionRole role) {
  std::vector<std::uint64_t> out(rank);
  if (role.is_scale && rank == 1) out[0] = object.address;
  if (!role.has_scales || role.is_scale) return out;
  const auto list = attribute_of(*values.file, object, "DIMENSION_LIST");
  if (!list || list->type->cls != format::DatatypeClass::VariableLength || list->type->variable_string)
    return out;
  const std::size_t bytes = list->type->size;
  for (std::size_t i = 0; i < rank && (i + 1) * bytes <= list->data.size(); ++i)
    out[i] = first_reference(values, *list->type, list->data.subspan(i * bytes, bytes)).value_or(0);
  return out;
}

}  // namespace h5mount::meaning
