#include "h5mount/meaning/numbers.h"

#include <bit>

namespace h5mount::meaning {

namespace {

constexpr std::size_t kMostBytes = 64U << 10;  // of an attribute that says something of values

}  // namespace

Result<std::optional<object::Attribute>> readable_attribute(const metadata::FileMetadata& file,
                                                            const object::Object& object,
                                                            std::string_view name) {
  auto found = object::find_attribute(file, object, name);
  if (!found && found.error().code() == ErrorCode::NotFound) return std::nullopt;
  H5_TRY(found);
  if (found->damage || !found->type || found->data.empty() || found->data.size() > kMostBytes)
    return std::nullopt;
  return std::optional(*std::move(found));
}

NumberKind with_sign(NumberKind kind, bool is_signed) {
  return static_cast<NumberKind>(static_cast<unsigned>(kind) % 4 + (is_signed ? 0 : 4));
}

Result<std::optional<AttributeNumbers>> attribute_numbers(const Subject& subject, std::string_view name) {
  H5_ASSIGN(const auto attribute, readable_attribute(*subject.values.file, subject.object, name));
  if (!attribute) return std::nullopt;
  const auto type = number_type(*attribute->type);
  if (!type) return std::nullopt;
  AttributeNumbers out{type->kind, {}};
  const unsigned bytes = bytes_of(type->kind);
  for (std::size_t at = 0; at + bytes <= attribute->data.size(); at += bytes) {
    std::uint64_t bits = text::stored_bits(*attribute->type, attribute->data.data() + at);
    if (type->kind == NumberKind::F32)
      bits = std::bit_cast<std::uint64_t>(
          static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits))));
    else if (type->kind < NumberKind::I64)  // the sign fills the rest
      bits =
          static_cast<std::uint64_t>(static_cast<std::int64_t>(bits << (64 - 8 * bytes)) >> (64 - 8 * bytes));
    out.bits.push_back(bits);
  }
  return std::optional(std::move(out));
}

Result<std::string> attribute_text(const Subject& subject, std::string_view name) {
  H5_ASSIGN(const auto attribute, readable_attribute(*subject.values.file, subject.object, name));
  std::string out;
  if (!attribute || !text::is_string(*attribute->type)) return out;
  text::ValueContext values = subject.values;
  values.max_bytes = kMostBytes;
  const Status read =
      text::append_string(*attribute->type, attribute->data.first(attribute->type->size), values, out);
  if (read) return out;
  return read.error().code() == ErrorCode::TooLarge ? Result<std::string>(std::string())
                                                    : Result<std::string>(fail(read.error()));
}

double as_double(const AttributeNumbers& numbers, std::size_t at) {
  const std::uint64_t bits = numbers.bits[at];
  if (!is_integer(numbers.kind)) return std::bit_cast<double>(bits);
  return numbers.kind < NumberKind::U8 ? static_cast<double>(static_cast<std::int64_t>(bits))
                                       : static_cast<double>(bits);
}

}  // namespace h5mount::meaning
