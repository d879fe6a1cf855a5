#include <fmt/format.h>
#include <fmt/ranges.h>

#include "h5mount/filter/filter.h"
#include "h5mount/text/json_writer.h"
#include "h5mount/text/value_text.h"

namespace h5mount::text {

namespace {

void append_type(const format::Datatype& type, std::string& out);

std::string_view order_mark(format::ByteOrder order) {
  return order == format::ByteOrder::Little ? "<" : order == format::ByteOrder::Big ? ">" : "vax";
}

// NumPy writes "|" for types of one byte; inside enum(), bitfield() and the like the stored order is written.
std::string_view numpy_order(const format::Datatype& type) {
  return type.size == 1 ? "|" : order_mark(type.order);
}

bool uses_all_bits(const format::Datatype& type) {
  return type.bit_offset == 0 && type.bit_precision == 8 * type.size;
}

std::string bits_text(const format::Datatype& type) {
  if (uses_all_bits(type)) return {};
  return fmt::format(",precision={},offset={}", type.bit_precision, type.bit_offset);
}

void append_integer_type(const format::Datatype& type, bool inside, std::string& out) {
  const char kind = type.is_signed ? 'i' : 'u';
  const bool numpy_size = type.size == 1 || type.size == 2 || type.size == 4 || type.size == 8;
  const std::string_view order = inside ? order_mark(type.order) : numpy_order(type);
  if (numpy_size && uses_all_bits(type))
    out += fmt::format("{}{}{}", order, kind, type.size);
  else
    out += fmt::format("int({}{}{}{})", order_mark(type.order), kind, type.size, bits_text(type));
}

bool is_numpy_float(const format::Datatype& t) {
  return uses_all_bits(t) && (is_ieee(t, 2, 5, 10) || is_ieee(t, 4, 8, 23) || is_ieee(t, 8, 11, 52));
}

// float(<f4,precision=20,offset=7,sign=26,exponent=20+6,mantissa=7+13,bias=31,leading=implied): the numbers
// with a plus are first bit + number of bits.
void append_float_type(const format::Datatype& t, std::string& out) {
  if (is_numpy_float(t)) {
    out += fmt::format("{}f{}", order_mark(t.order), t.size);
    return;
  }
  constexpr std::string_view kLeading[] = {"stored", "set", "implied"};
  out += fmt::format(
      "float({}f{},precision={},offset={},sign={},exponent={}+{},mantissa={}+{},bias={},leading={})",
      order_mark(t.order), t.size, t.bit_precision, t.bit_offset, t.sign_location, t.exponent_location,
      t.exponent_size, t.mantissa_location, t.mantissa_size, t.exponent_bias,
      kLeading[static_cast<std::size_t>(t.normalization)]);
}

void append_enum_type(const format::Datatype& type, std::string& out) {
  if (type.size == 1 && is_boolean(type)) {
    out += "|b1";
    return;
  }
  out += "enum(";
  append_integer_type(*type.base, true, out);
  out += "){";
  for (std::size_t i = 0; i < type.enum_members.size(); ++i) {
    if (i > 0) out.push_back(',');
    append_json_string(type.enum_members[i].name, out);
    out.push_back(':');
    // An integer needs no context and cannot fail.
    (void)append_json(*type.base, type.enum_members[i].value, {{}, Unbounded()}, out);
  }
  out.push_back('}');
}

// A member's name, in which '@' is "%40" so that it is not read as the start of an offset. A '%' that would
// then begin "%40" or "%25" in the original name is escaped too.
std::string member_name(std::string_view name) {
  std::string out;
  out.reserve(name.size());
  for (std::size_t i = 0; i < name.size(); ++i) {
    const std::string_view next = name.substr(i + 1, 2);
    if (name[i] == '@')
      out += "%40";
    else if (name[i] == '%' && (next == "40" || next == "25"))
      out += "%25";
    else
      out += name[i];
  }
  return out;
}

// Packed members are written without offsets. From the first gap on each member has its offset, and the size
// of the whole type comes last.
void append_compound_type(const format::Datatype& type, std::string& out) {
  std::uint64_t end = 0;
  bool packed = true;
  out.push_back('{');
  for (const format::CompoundMember& member : type.members) {
    if (out.back() != '{') out.push_back(',');
    packed = packed && member.offset == end;
    end += member.type->size;
    const std::string name = member_name(member.name);
    append_json_string(packed ? name : fmt::format("{}@{}", name, member.offset), out);
    out.push_back(':');
    if (member.type->cls == format::DatatypeClass::Compound)
      append_type(*member.type, out);
    else
      append_json_string(datatype_text(*member.type), out);
  }
  if (!packed || end != type.size)
    out += fmt::format("{}\"@size\":{}", out.back() == '{' ? "" : ",", type.size);
  out.push_back('}');
}

void append_array_type(const format::Datatype& type, std::string& out) {
  out += "array(";
  append_type(*type.base, out);
  out += fmt::format(",[{}])", fmt::join(type.dims, ","));
}

void append_opaque_type(const format::Datatype& type, std::string& out) {
  out += fmt::format("opaque({},", type.size);
  append_json_string(type.tag, out);
  out.push_back(')');
}

void append_reference_type(const format::Datatype& type, std::string& out) {
  switch (type.reference) {
    case format::ReferenceKind::Object1:
      out += "ref(object)";
      return;
    case format::ReferenceKind::Region1:
      out += "ref(region)";
      return;
    // Each element of an HDF5 1.12 reference states what it refers to.
    case format::ReferenceKind::Object2:
    case format::ReferenceKind::Region2:
    case format::ReferenceKind::Attribute:
      out += "ref(any)";
      return;
  }
}

void append_complex_type(const format::Datatype& type, std::string& out) {
  if (is_numpy_float(*type.base) && type.base->size >= 4) {
    out += fmt::format("{}c{}", order_mark(type.base->order), type.size);
    return;
  }
  out += "complex(";
  append_type(*type.base, out);
  out.push_back(')');
}

void append_variable_type(const format::Datatype& type, std::string& out) {
  if (type.variable_string) {
    out += type.charset == format::CharacterSet::Utf8 ? "utf8" : "ascii";
    return;
  }
  out += "vlen(";
  append_type(*type.base, out);
  out.push_back(')');
}

void append_type(const format::Datatype& type, std::string& out) {
  switch (type.cls) {
    case format::DatatypeClass::Integer:
      return append_integer_type(type, false, out);
    case format::DatatypeClass::Float:
      return append_float_type(type, out);
    case format::DatatypeClass::Time:
      out += fmt::format("time({}i{})", order_mark(type.order), type.size);
      return;
    case format::DatatypeClass::String:
      out += fmt::format("|S{}", type.size);
      return;
    case format::DatatypeClass::Bitfield:
      out += fmt::format("bitfield({}u{}{})", order_mark(type.order), type.size, bits_text(type));
      return;
    case format::DatatypeClass::Opaque:
      return append_opaque_type(type, out);
    case format::DatatypeClass::Compound:
      return append_compound_type(type, out);
    case format::DatatypeClass::Reference:
      return append_reference_type(type, out);
    case format::DatatypeClass::Enum:
      return append_enum_type(type, out);
    case format::DatatypeClass::VariableLength:
      return append_variable_type(type, out);
    case format::DatatypeClass::Array:
      return append_array_type(type, out);
    case format::DatatypeClass::Complex:
      return append_complex_type(type, out);
  }
}

void write_filters(const std::vector<format::FilterDescription>& filters, JsonWriter& json) {
  json.begin_array();
  for (const format::FilterDescription& filter : filters)
    json.begin_object()
        .member("id", filter.id)
        .member("name", filter_name(filter))
        .key("values")
        .array(filter.client_data)
        .end_object();
  json.end_array();
}

}  // namespace

// Version 2 pipelines store no names for ids below 256, which are the library's own filters.
std::string_view filter_name(const format::FilterDescription& filter) {
  return filter.name.empty() && filter.id < 256 ? filter::filter_info(filter.id).name
                                                : std::string_view(filter.name);
}

std::string datatype_text(const format::Datatype& type) {
  std::string out;
  append_type(type, out);
  return out;
}

std::string filters_text(const format::FilterPipelineMessage& pipeline) {
  std::string out;
  JsonWriter json(out);
  if (pipeline.sections.empty()) {
    write_filters(pipeline.filters, json);
    return out;
  }
  json.begin_array();
  for (const auto& section : pipeline.sections) {
    json.begin_object().member("section", section.number).key("filters");
    write_filters(section.filters, json);
    json.end_object();
  }
  json.end_array();
  return out;
}

}  // namespace h5mount::text
