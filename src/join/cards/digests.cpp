#include "digests.h"

#include <bit>
#include <cmath>
#include <limits>

#include "h5mount/base/limits.h"
#include "h5mount/meaning/numbers.h"

namespace h5mount::join {

namespace {

// Behind an integer that no signed one of 64 bits is. It is none itself, so that sequences of as many numbers
// differ.
constexpr std::uint64_t kUnsignedMark = 0x5A5A'0F0F'3C3C'9999U;
constexpr std::uint64_t kNaN = 0x7FF8'0000'0000'0000U;

std::uint64_t bits_of(double value) {
  return std::isnan(value) ? kNaN : std::bit_cast<std::uint64_t>(value);
}

template <class Word>
Word loaded(const std::byte* at, bool big_endian) {
  if constexpr (sizeof(Word) == 1)
    return static_cast<Word>(*at);
  else
    return big_endian ? load_be<Word>(at) : load_le<Word>(at);
}

template <class Integer>
void add_integers(ByteSpan elements, bool big_endian, Hasher& to) {
  using Word = std::make_unsigned_t<Integer>;
  for (std::size_t at = 0; at + sizeof(Integer) <= elements.size(); at += sizeof(Integer)) {
    const auto number = static_cast<Integer>(loaded<Word>(elements.data() + at, big_endian));
    to.add(static_cast<std::uint64_t>(static_cast<std::int64_t>(number)));
    if constexpr (std::is_same_v<Integer, std::uint64_t>)
      if (number >> 63 != 0) to.add(kUnsignedMark);
  }
}

template <class Float, class Word>
void add_floats(ByteSpan elements, bool big_endian, Hasher& to) {
  for (std::size_t at = 0; at + sizeof(Float) <= elements.size(); at += sizeof(Float))
    to.add(
        bits_of(static_cast<double>(std::bit_cast<Float>(loaded<Word>(elements.data() + at, big_endian)))));
}

void add_numbers(const meaning::NumberType& type, ByteSpan elements, Hasher& to) {
  using enum meaning::NumberKind;
  const bool big = type.big_endian;
  switch (type.kind) {
    case I8:
      return add_integers<std::int8_t>(elements, big, to);
    case I16:
      return add_integers<std::int16_t>(elements, big, to);
    case I32:
      return add_integers<std::int32_t>(elements, big, to);
    case I64:
      return add_integers<std::int64_t>(elements, big, to);
    case U8:
      return add_integers<std::uint8_t>(elements, big, to);
    case U16:
      return add_integers<std::uint16_t>(elements, big, to);
    case U32:
      return add_integers<std::uint32_t>(elements, big, to);
    case U64:
      return add_integers<std::uint64_t>(elements, big, to);
    case F32:
      return add_floats<float, std::uint32_t>(elements, big, to);
    case F64:
      return add_floats<double, std::uint64_t>(elements, big, to);
  }
}

constexpr std::uint64_t kStepsPerText = 32;

// What elements are, so that a text is not equal to a number.
enum class ElementForm : std::uint8_t { Integers, Floats, Strings, Json };

ElementForm form_of(const format::Datatype& type) {
  if (text::is_string(type)) return ElementForm::Strings;
  const auto number = meaning::number_type(type);
  if (!number) return ElementForm::Json;
  return meaning::is_integer(number->kind) ? ElementForm::Integers : ElementForm::Floats;
}

// Numbers that a double holds exactly, as doubles.
void add_by_value(const format::Datatype& type, ByteSpan elements, Hasher& to) {
  constexpr std::uint64_t kExact = std::uint64_t{1} << 53;
  const auto number = *meaning::number_type(type);
  if (!meaning::is_integer(number.kind)) return add_numbers(number, elements, to);
  for (std::size_t at = 0; at + type.size <= elements.size(); at += type.size) {
    const std::uint64_t bits = text::stored_bits(type, elements.data() + at);
    const unsigned unused = 64 - 8 * type.size;
    const bool is_signed = number.kind < meaning::NumberKind::U8;
    const auto whole = static_cast<std::int64_t>(bits << unused) >> unused;
    if (is_signed && std::abs(static_cast<double>(whole)) <= static_cast<double>(kExact))
      to.add(bits_of(static_cast<double>(whole)));
    else if (!is_signed && bits <= kExact)
      to.add(bits_of(static_cast<double>(bits)));
    else
      add_numbers(number, elements.subspan(at, type.size), to);
  }
}

void add_filters(const std::vector<format::FilterDescription>& filters, Hasher& to) {
  to.add(filters.size());
  for (const format::FilterDescription& filter : filters) {
    to.add(filter.id);
    to.add(filter.client_data.size());
    for (const std::uint32_t number : filter.client_data) to.add(number);
  }
}

}  // namespace

Status DigestWork::take(std::uint64_t steps) {
  if (steps > left) return fail({ErrorCode::LimitExceeded, "more values than are compared of one file"});
  left -= steps;
  return {};
}

Status DigestWork::spend(std::uint64_t steps, RequestBudget& budget) {
  H5_TRY(take(steps));
  return budget.spend(steps);
}

void Hasher::add(std::string_view text) {
  add(text.size());
  const ByteSpan bytes = as_bytes(text);
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) add(load_le<std::uint64_t>(bytes.data() + at));
  if (at < bytes.size()) add(load_le_width(bytes.data() + at, bytes.size() - at));
}

void add_form(const format::Datatype& type, Hasher& to) {
  to.add(static_cast<std::uint64_t>(form_of(type)));
}

Status add_elements(const format::Datatype& type, ByteSpan elements, const text::ValueContext& values,
                    DigestWork& work, Hasher& to) {
  H5_TRY(work.spend(elements.size(), values.budget));
  const ElementForm form = form_of(type);
  if (form < ElementForm::Strings) {
    add_numbers(*meaning::number_type(type), elements, to);
    return {};
  }
  std::string text;
  for (std::size_t at = 0; at + type.size <= elements.size(); at += type.size) {
    const ByteSpan element = elements.subspan(at, type.size);
    if (type.cls == format::DatatypeClass::String) {
      to.add(text::fixed_string(type, element));
      continue;
    }
    text.clear();
    text::ValueContext bounded = values;
    bounded.max_bytes = static_cast<std::size_t>(work.left / limits::kStepsPerTextByte);
    if (form == ElementForm::Strings)
      H5_TRY(text::append_string(type, element, bounded, text));
    else
      H5_TRY(text::append_json(type, element, bounded, text));
    H5_TRY(work.take(limits::kStepsPerTextByte * (text.size() + kStepsPerText)));
    to.add(text);
  }
  return {};
}

void add_doubles(std::span<const double> values, Hasher& to) {
  for (const double value : values) to.add(bits_of(value));
}

Result<Digest> attribute_digest(const object::Attribute& attribute, const text::ValueContext& values,
                                DigestWork& work, bool by_value) {
  const format::Datatype& type = *attribute.type;
  const std::uint64_t count = attribute.data.size() / type.size;
  Hasher out;
  // One value is the same as a scalar and as a list of one.
  out.add(count);
  if (count != 1)
    for (const std::uint64_t extent : attribute.space.dims) out.add(extent);
  const ElementForm form = form_of(type);
  if (form < ElementForm::Strings && by_value) {
    H5_TRY(work.spend(attribute.data.size(), values.budget));
    add_by_value(type, attribute.data, out);
    return out.digest();
  }
  if (form < ElementForm::Strings) {
    out.add(type.size);
    out.add(type.is_signed ? 1 : 0);
  } else if (form == ElementForm::Json) {
    out.add(text::datatype_text(type));
  }
  add_form(type, out);
  H5_TRY(add_elements(type, attribute.data, values, work, out));
  return out.digest();
}

Digest pipeline_digest(const format::FilterPipelineMessage& pipeline) {
  Hasher out;
  add_filters(pipeline.filters, out);
  out.add(pipeline.sections.size());
  for (const auto& section : pipeline.sections) {
    out.add(section.number);
    add_filters(section.filters, out);
  }
  return out.digest();
}

}  // namespace h5mount::join
