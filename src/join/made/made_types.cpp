#include "made_types.h"

#include <algorithm>

#include "h5mount/dataset/converted_dataset.h"

namespace h5mount::join {

format::DatatypePtr reference_type() {
  auto type = std::make_shared<format::Datatype>();
  type->cls = format::DatatypeClass::Reference;
  type->size = 8;
  type->has_reference = true;
  return type;
}

format::DatatypePtr sequence_type(format::DatatypePtr base) {
  auto type = std::make_shared<format::Datatype>();
  type->cls = format::DatatypeClass::VariableLength;
  type->size = 16;
  type->has_variable_part = true;
  type->has_reference = base->has_reference;
  type->base = std::move(base);
  return type;
}

format::DatatypePtr string_type(std::uint32_t bytes, format::CharacterSet charset) {
  auto type = std::make_shared<format::Datatype>();
  if (bytes == 0) *type = *sequence_type(dataset::integer_type(1, false, format::ByteOrder::Little));
  type->charset = charset;
  type->variable_string = bytes == 0;
  if (bytes == 0) return type;
  type->cls = format::DatatypeClass::String;
  type->size = bytes;
  type->padding = format::StringPadding::NullPad;
  return type;
}

format::CharacterSet charset_of(std::string_view text) {
  const bool ascii = std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  return ascii ? format::CharacterSet::Ascii : format::CharacterSet::Utf8;
}

MadeValue string_values(std::span<const std::string> texts) {
  MadeValue out;
  out.bytes.resize(16 * texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const ByteSpan bytes = as_bytes(texts[i]);
    MadeValue elements;
    elements.bytes.assign(bytes.begin(), bytes.end());
    out.sequences.push_back({16 * i, static_cast<std::uint32_t>(bytes.size()), {std::move(elements)}});
  }
  return out;
}

MadeAttribute text_attribute(std::string_view name, std::string_view text, TextForm form) {
  constexpr std::size_t kMostFixed = 32U << 10;
  MadeAttribute out;
  out.name = name;
  out.charset = charset_of(name);
  std::string whole(text);
  if (form == TextForm::Terminated) whole += '\0';
  const bool fixed = form != TextForm::Variable && !whole.empty() && whole.size() <= kMostFixed;
  auto type = std::make_shared<format::Datatype>(
      *string_type(fixed ? static_cast<std::uint32_t>(whole.size()) : 0, charset_of(text)));
  if (form == TextForm::Terminated) type->padding = format::StringPadding::NullTerminate;
  out.type = std::move(type);
  if (fixed)
    out.value.bytes.assign(as_bytes(whole).begin(), as_bytes(whole).end());
  else
    out.value = string_values({&whole, 1});
  return out;
}

void store_number(std::vector<std::byte>& bytes, std::size_t at, std::uint64_t value, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i) bytes[at + i] = static_cast<std::byte>(value >> (8 * i));
}

}  // namespace h5mount::join
