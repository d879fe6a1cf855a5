#include "object_attributes.h"

namespace h5mount::view {

std::optional<object::Attribute> attribute_of(const metadata::FileMetadata& file,
                                              const object::Object& object, std::string_view name) {
  auto found = object::find_attribute(file, object, name);
  if (!found || found->damage) return std::nullopt;
  return *std::move(found);
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

}  // namespace h5mount::view
