#include "members.h"

namespace h5mount::meaning {

Result<std::vector<std::string>> attribute_texts(const object::Object& object,
                                                 const text::ValueContext& values, std::string_view name,
                                                 std::size_t most) {
  constexpr std::size_t kMostBytes = 4096;
  std::vector<std::string> out;
  const auto attribute = object::find_attribute(*values.file, object, name);
  if (!attribute && attribute.error().code() != ErrorCode::NotFound) return fail(attribute.error());
  if (!attribute || attribute->damage || !text::is_string(*attribute->type)) return out;
  text::ValueContext context = values;
  context.max_bytes = kMostBytes;
  const std::size_t bytes = attribute->type->size;
  for (std::size_t at = 0; bytes > 0 && at + bytes <= attribute->data.size() && out.size() < most;
       at += bytes) {
    std::string text;
    const Status read =
        text::append_string(*attribute->type, attribute->data.subspan(at, bytes), context, text);
    if (!read && read.error().code() != ErrorCode::TooLarge) return fail(read.error());
    out.push_back(std::move(text));
  }
  return out;
}

Result<std::optional<std::uint64_t>> member_named(const object::Group& group, std::string_view name) {
  const auto link = group.find(name);
  if (!link && link.error().code() != ErrorCode::NotFound) return fail(link.error());
  if (!link || !link->is(format::LinkType::Hard)) return std::nullopt;
  return link->address;
}

}  // namespace h5mount::meaning
