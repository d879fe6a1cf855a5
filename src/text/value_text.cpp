#include "h5mount/text/value_text.h"

#include <algorithm>

#include "h5mount/base/bytes.h"
#include "h5mount/base/limits.h"
#include "h5mount/base/utf8.h"
#include "number_text.h"
#include "numpy_form.h"
#include "value_writer.h"

namespace h5mount::text {

namespace {

// The limit for one value's text: far above any useful length, and in proportion to the file's size, because
// parts that refer to each other could produce any amount of text.
std::size_t max_text_bytes(const ValueContext& context) {
  constexpr std::uint64_t kMax = 1ULL << 30, kBase = 32ULL << 20, kPerFileByte = 4;
  const std::uint64_t file_bytes = context.file ? context.file->source()->stored_bytes() : 0;
  return static_cast<std::size_t>(std::min(kMax, kBase + kPerFileByte * std::min(file_bytes, kMax)));
}

ValueWriter make_writer(const ValueContext& context, std::string& out, std::size_t most_bytes = kAnyLength) {
  const std::size_t sensible = max_text_bytes(context);
  most_bytes = std::min(most_bytes, context.max_bytes);
  return {.context = context,
          .out = out,
          .most = out.size() + std::min(sensible, most_bytes),
          .beyond = most_bytes < sensible ? ErrorCode::TooLarge : ErrorCode::LimitExceeded};
}

// A string without its padding.
std::string_view without_padding(std::string_view text, format::StringPadding padding) {
  switch (padding) {
    case format::StringPadding::NullTerminate:
      return text.substr(0, text.find('\0'));
    case format::StringPadding::NullPad:
      return text.substr(0, text.find_last_not_of('\0') + 1);
    case format::StringPadding::SpacePad:
      return text.substr(0, text.find_last_not_of(' ') + 1);
  }
  return text;
}

// Calls `use` with the string's bytes. Fails before that if they exceed the limit, as their text is at least
// as long.
template <class Use>
Status with_string(const ValueWriter& writer, const format::Datatype& type, ByteSpan element, Use use) {
  VariablePart part;
  std::string_view text;
  std::string utf8;
  if (type.cls == format::DatatypeClass::String) {
    text = fixed_string(type, element);
  } else if (type.tag == kCodePointsTag) {
    H5_ASSIGN(part, load_variable_part(element, type.base->size, writer.context));
    H5_TRY(writer.check_length(part.length));
    H5_TRY(writer.context.budget.spend(std::uint64_t{part.length} * type.base->size));
    for (std::size_t i = 0; i < part.length; ++i)
      append_utf8(static_cast<std::uint32_t>(
                      stored_bits(*type.base, part.object->bytes().data() + i * type.base->size)),
                  utf8);
    text = utf8;
  } else {
    H5_ASSIGN(part, load_variable_part(element, 1, writer.context));
    // A variable-length string ends at its NUL whatever its padding is, as in every C program.
    if (part.object)
      text = without_padding(as_text(part.object->bytes().first(part.length)),
                             format::StringPadding::NullTerminate);
  }
  H5_TRY(writer.check_length(text.size()));
  H5_TRY(writer.context.budget.spend(kStepsPerPart + limits::kStepsPerTextByte * text.size()));
  return use(text);
}

// Writes a JSON string literal.
Status write_literal(ValueWriter& writer, std::string_view text) {
  constexpr std::size_t kLongestEscape = 6;  // for one byte
  const bool may_be_too_long = !writer.check_length(kLongestEscape * text.size());
  if (may_be_too_long) H5_TRY(writer.check_length(json_string_length(text)));
  append_json_string(text, writer.out);
  return {};
}

// An empty value has brackets for every dimension before the empty one; their number must be bounded, as a
// few bytes of a header can claim any.
bool has_bounded_brackets(const format::Dataspace& space) {
  constexpr std::uint64_t kMaxEmptyBrackets = 1U << 20;
  std::uint64_t brackets = 1;
  for (const std::uint64_t dim : space.dims) {
    if (dim == 0) return true;
    if (dim > kMaxEmptyBrackets / brackets) return false;
    brackets *= dim;
  }
  return true;
}

Status write_sequence(ValueWriter& writer, const format::Datatype& type, ByteSpan element) {
  const std::size_t item = type.base->size;
  H5_ASSIGN(const VariablePart part, load_variable_part(element, item, writer.context));
  writer.out.push_back('[');
  for (std::size_t i = 0; i < part.length; ++i) {
    if (i > 0) writer.out.push_back(',');
    writer.between_elements();
    H5_TRY(writer.context.budget.spend(kStepsPerPart));
    H5_TRY(write_element(writer, *type.base, part.object->bytes().subspan(i * item, item)));
  }
  writer.out.push_back(']');
  return {};
}

Status write_compound(ValueWriter& writer, const format::Datatype& type, ByteSpan element) {
  writer.out.push_back('{');
  for (std::size_t i = 0; i < type.members.size(); ++i) {
    const format::CompoundMember& member = type.members[i];
    H5_TRY(writer.context.budget.spend(kStepsPerPart));
    if (i > 0) writer.out.push_back(',');
    H5_TRY(write_literal(writer, member.name));
    writer.out.push_back(':');
    H5_TRY(write_element(writer, *member.type, element.subspan(member.offset, member.type->size)));
  }
  writer.out.push_back('}');
  return {};
}

// Row-major nesting: every dimension's brackets around `write_item(index)`. With an extent of zero the
// brackets of the dimensions before it are written: [] , [[],[]].
template <class Dims, class WriteItem>
Status write_nested(ValueWriter& writer, const Dims& dims, std::size_t depth, std::size_t& index,
                    const WriteItem& write_item) {
  if (depth == dims.size()) return write_item(index++);
  writer.out.push_back('[');
  for (std::uint64_t i = 0; i < dims[depth]; ++i) {
    if (i > 0) writer.out.push_back(',');
    writer.between_elements();
    H5_TRY(writer.check_length(0));
    H5_TRY(writer.context.budget.spend(kStepsPerPart));
    H5_TRY(write_nested(writer, dims, depth + 1, index, write_item));
  }
  writer.out.push_back(']');
  return {};
}

template <class Dims>
Status write_array(ValueWriter& writer, const format::Datatype& item_type, const Dims& dims, ByteSpan data) {
  std::size_t index = 0;
  const std::size_t item = item_type.size;
  return write_nested(writer, dims, 0, index, [&](std::size_t i) {
    return write_element(writer, item_type, data.subspan(i * item, item));
  });
}

// Returns null if the value has no name. Most enumerations number their values from 0 on, in order.
Result<const format::EnumMember*> find_enum_member(const format::Datatype& type, ByteSpan value,
                                                   RequestBudget& budget) {
  const auto is_named = [&](const format::EnumMember& member) {
    return std::ranges::equal(member.value, value);
  };
  const std::uint64_t number =
      value.size() <= sizeof number ? load_le_width(value.data(), value.size()) : type.enum_members.size();
  if (number < type.enum_members.size() && is_named(type.enum_members[number]))
    return &type.enum_members[number];
  H5_TRY(budget.spend(type.enum_members.size()));
  const auto named = std::ranges::find_if(type.enum_members, is_named);
  return named != type.enum_members.end() ? &*named : nullptr;
}

Status write_enum(ValueWriter& writer, const format::Datatype& type, ByteSpan element) {
  H5_ASSIGN(const format::EnumMember* named, find_enum_member(type, element, writer.context.budget));
  if (named != nullptr) return write_literal(writer, named->name);
  append_integer(*type.base, element, writer.out);
  return {};
}

void write_complex(ValueWriter& writer, const format::Datatype& type, ByteSpan element) {
  const std::size_t half = type.base->size;
  writer.out.push_back('[');
  append_float(*type.base, element.first(half), writer.out);
  writer.out.push_back(',');
  append_float(*type.base, element.subspan(half, half), writer.out);
  writer.out.push_back(']');
}

// Numbers of common formats are charged with the bytes of their text.
Status spend_on_number(const ValueWriter& writer, const format::Datatype& type) {
  const std::uint64_t steps = number_steps(type);
  return steps == 0 ? Status() : writer.context.budget.spend(steps);
}

Status need_bytes(const format::Datatype& type, ByteSpan element) {
  if (element.size() >= type.size) return {};
  return fail(
      Error(ErrorCode::Truncated, "Element", "value", 0).with_found(element.size()).with_expected(type.size));
}

}  // namespace

Result<std::optional<metadata::GlobalHeapObject>> load_heap_place(const ValueContext& context,
                                                                  format::Cursor& cursor) {
  const std::uint64_t address = cursor.address("heap_collection_address");
  const std::uint32_t index = cursor.u32("heap_object_index");
  H5_TRY(cursor.finish());
  if (address == 0 || address == format::kUndefinedAddress) return std::nullopt;
  if (!context.file) return fail(Error(ErrorCode::Internal, "a variable-length value without its file"));
  H5_ASSIGN(auto object, metadata::load_global_heap_object(*context.file, address, index));
  return object;
}

// A variable-length element: length (4) | heap collection (O) | index (4).
Result<VariablePart> load_variable_part(ByteSpan element, std::uint64_t item_bytes,
                                        const ValueContext& context) {
  format::Cursor cursor(element, 0, "VariableLengthElement", file_sizes(context));
  VariablePart part;
  part.length = cursor.u32("length");
  H5_TRY(cursor.finish());
  if (part.length == 0) return part;
  H5_ASSIGN(part.object, load_heap_place(context, cursor));
  if (!part.object) {
    part.length = 0;
    return part;
  }
  if (part.length > part.object->bytes().size() / item_bytes)
    return fail(Error(ErrorCode::Truncated, "VariableLengthElement", "length", 0)
                    .with_found(part.length)
                    .with_detail("more than the heap object holds"));
  return part;
}

Status write_element(ValueWriter& writer, const format::Datatype& type, ByteSpan element) {
  H5_TRY(writer.check_length(0));
  if (writer.context.form == JsonForm::NumPy && differs_for_numpy(type))
    return write_numpy_element(writer, type, element);
  switch (type.cls) {
    case format::DatatypeClass::Integer:
    case format::DatatypeClass::Time:
      H5_TRY(spend_on_number(writer, type));
      append_integer(type, element, writer.out);
      return {};
    case format::DatatypeClass::Float:
      H5_TRY(spend_on_number(writer, type));
      append_float(type, element, writer.out);
      return {};
    case format::DatatypeClass::Bitfield:
    case format::DatatypeClass::Opaque:
      H5_TRY(writer.check_length(2 * element.size()));
      append_hex_string(element, writer.out);
      return {};
    case format::DatatypeClass::Enum:
      H5_TRY(spend_on_number(writer, *type.base));
      H5_TRY(write_enum(writer, type, element));
      return {};
    case format::DatatypeClass::Complex:
      H5_TRY(spend_on_number(writer, *type.base));
      write_complex(writer, type, element);
      return {};
    case format::DatatypeClass::Compound:
      return write_compound(writer, type, element);
    case format::DatatypeClass::Reference:
      return write_reference(writer, type, element);
    case format::DatatypeClass::Array:
      return write_array(writer, *type.base, type.dims, element);
    case format::DatatypeClass::String:
      break;
    case format::DatatypeClass::VariableLength:
      if (!type.variable_string) return write_sequence(writer, type, element);
      break;
  }
  return with_string(writer, type, element,
                     [&](std::string_view text) { return write_literal(writer, text); });
}

Status append_json(const format::Datatype& type, ByteSpan element, const ValueContext& context,
                   std::string& out) {
  H5_TRY(need_bytes(type, element));
  ValueWriter writer = make_writer(context, out);
  return write_element(writer, type, element.first(type.size));
}

std::string_view fixed_string(const format::Datatype& type, ByteSpan element) {
  return without_padding(as_text(element.first(std::min<std::size_t>(type.size, element.size()))),
                         type.padding);
}

bool is_string(const format::Datatype& type) {
  return type.cls == format::DatatypeClass::String ||
         (type.cls == format::DatatypeClass::VariableLength && type.variable_string);
}

Status append_string(const format::Datatype& type, ByteSpan element, const ValueContext& context,
                     std::string& out) {
  if (!is_string(type)) return fail(Error(ErrorCode::Internal, "append_string: not a string type"));
  H5_TRY(need_bytes(type, element));
  const ValueWriter writer = make_writer(context, out);
  return with_string(writer, type, element.first(type.size), [&](std::string_view text) -> Status {
    out += text;
    return {};
  });
}

namespace {

Status write_value(ValueWriter& writer, const format::Datatype& type, const format::Dataspace& space,
                   ByteSpan data) {
  if (space.kind == format::DataspaceKind::Null) {
    writer.out += "null";
    return {};
  }
  const auto elements = space.element_count();
  if (!elements || *elements > data.size() / type.size)
    return fail(Error(ErrorCode::Truncated, "Value", "elements", 0).with_found(data.size() / type.size));
  if (*elements == 0 && !has_bounded_brackets(space))
    return fail(Error(ErrorCode::LimitExceeded, "an empty value of too many rows"));
  if (space.kind == format::DataspaceKind::Scalar && is_string(type)) {
    H5_TRY(with_string(writer, type, data.first(type.size), [&](std::string_view text) -> Status {
      writer.out += text;
      return {};
    }));
  } else {
    H5_TRY(write_array(writer, type, space.dims, data));
  }
  return writer.check_length(0);
}

}  // namespace

Result<std::string> value_text(const format::Datatype& type, const format::Dataspace& space, ByteSpan data,
                               const ValueContext& context, std::size_t most_bytes) {
  std::string out;
  ValueWriter writer = make_writer(context, out, most_bytes);
  if (most_bytes != kAnyLength) writer.room = most_bytes;
  H5_TRY(write_value(writer, type, space, data));
  return out;
}

Result<std::size_t> value_text_size(const format::Datatype& type, const format::Dataspace& space,
                                    ByteSpan data, const ValueContext& context) {
  std::string out;
  ValueWriter writer = make_writer(context, out);
  writer.count_only = true;
  H5_TRY(write_value(writer, type, space, data));
  return writer.written();
}

}  // namespace h5mount::text
