#include "numpy_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "h5mount/base/limits.h"
#include "number_text.h"

namespace h5mount::text {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t per_second;  // how many are a second; 0: more than a second
  std::int64_t seconds;     // of one, or 0
};
constexpr Unit kUnits[] = {
    {"[D]", 0, 86'400},     {"[h]", 0, 3'600},         {"[m]", 0, 60}, {"[s]", 1, 1}, {"[ms]", 1'000, 0},
    {"[us]", 1'000'000, 0}, {"[ns]", 1'000'000'000, 0}};

std::int64_t floor_div(std::int64_t value, std::int64_t by) {
  return value / by - (value % by < 0 ? 1 : 0);
}

std::int64_t floor_mod(std::int64_t value, std::int64_t by) {
  return value % by + (value % by < 0 ? by : 0);
}

using format::DatatypeClass;

// Writes null for a number that is not finite, as JSON has none.
void write_float_or_null(const format::Datatype& type, ByteSpan element, std::string& out) {
  const std::size_t begin = out.size();
  append_common_float(type, element, out);
  const char first = out[begin] == '-' ? out[begin + 1] : out[begin];
  if (first != 'N' && first != 'I') return;
  out.resize(begin);
  out += "null";
}

void write_pair(const format::Datatype& part, ByteSpan element, std::string& out) {
  out.push_back('[');
  write_float_or_null(part, element.first(part.size), out);
  out.push_back(',');
  write_float_or_null(part, element.subspan(part.size, part.size), out);
  out.push_back(']');
}

// NumPy lists the members by their offsets.
Status write_members(ValueWriter& writer, const format::Datatype& type, ByteSpan element) {
  std::vector<const format::CompoundMember*> members;
  H5_TRY(writer.context.budget.spend(kStepsPerPart * type.members.size()));
  members.reserve(type.members.size());
  for (const format::CompoundMember& member : type.members) members.push_back(&member);
  std::ranges::stable_sort(members, {}, &format::CompoundMember::offset);
  writer.out.push_back('[');
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (i > 0) writer.out.push_back(',');
    const format::CompoundMember& member = *members[i];
    H5_TRY(write_element(writer, *member.type, element.subspan(member.offset, member.type->size)));
  }
  writer.out.push_back(']');
  return {};
}

void write_named_reference(const format::Datatype& type, ByteSpan element, std::string& out) {
  const bool region =
      type.reference == format::ReferenceKind::Region1 || type.reference == format::ReferenceKind::Region2;
  const bool null = std::ranges::all_of(element, [](std::byte b) { return b == std::byte{0}; });
  out += region ? "\"<HDF5 region reference" : "\"<HDF5 object reference";
  out += null ? " (null)>\"" : ">\"";
}

}  // namespace

bool append_numpy_date(const format::Datatype& type, ByteSpan element, std::string& out) {
  constexpr std::string_view kLittle = "NUMPY:<M8", kBig = "NUMPY:>M8";
  const std::string_view tag = type.tag;
  const bool big = tag.starts_with(kBig);
  if ((!big && !tag.starts_with(kLittle)) || element.size() != sizeof(std::int64_t)) return false;
  const auto* const unit = std::ranges::find(kUnits, tag.substr(kLittle.size()), &Unit::name);
  if (unit == std::end(kUnits)) return false;
  auto bits = load_le<std::uint64_t>(element.data());
  if (big) bits = __builtin_bswap64(bits);
  const auto value = static_cast<std::int64_t>(bits);
  if (value == std::numeric_limits<std::int64_t>::min()) {
    out += "null";
    return true;
  }
  std::int64_t seconds = 0;
  if (unit->per_second > 0)
    seconds = floor_div(value, unit->per_second);
  else if (__builtin_mul_overflow(value, unit->seconds, &seconds))
    return false;
  constexpr std::int64_t kDay = 86'400,
                         kMostDays = 11'000'000;  // the calendar's years have 15 bits and a sign
  const std::int64_t days = floor_div(seconds, kDay);
  if (days < -kMostDays || days > kMostDays) return false;
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(days))};
  const std::int64_t of_day = seconds - days * kDay;
  out += fmt::format("\"{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), of_day / 3600,
                     of_day / 60 % 60, of_day % 60);
  constexpr std::int64_t kNanosecond = 1'000'000'000;
  const std::int64_t rest =
      unit->per_second > 1 ? floor_mod(value, unit->per_second) * (kNanosecond / unit->per_second) : 0;
  if (rest != 0) out += rest % 1000 == 0 ? fmt::format(".{:06}", rest / 1000) : fmt::format(".{:09}", rest);
  out += '"';
  return true;
}

bool is_boolean(const format::Datatype& type) {
  if (type.cls != DatatypeClass::Enum || type.enum_members.size() != 2) return false;
  const auto has = [&](std::string_view name, std::string_view number) {
    return std::ranges::any_of(type.enum_members, [&](const format::EnumMember& member) {
      std::string value;
      if (member.name != name) return false;
      append_integer(*type.base, member.value, value);
      return value == number;
    });
  };
  return has("FALSE", "0") && has("TRUE", "1");
}

const format::Datatype* complex_part(const format::Datatype& type) {
  if (type.cls == DatatypeClass::Complex) return type.base.get();
  if (type.cls != DatatypeClass::Compound || type.members.size() != 2) return nullptr;
  const format::CompoundMember &real = type.members[0], &imaginary = type.members[1];
  const format::Datatype &a = *real.type, &b = *imaginary.type;
  const bool alike = a.cls == DatatypeClass::Float && b.cls == DatatypeClass::Float && a.size == b.size &&
                     a.order == b.order && a.mantissa_size == b.mantissa_size &&
                     a.exponent_size == b.exponent_size && a.exponent_bias == b.exponent_bias;
  const bool adjacent = real.offset == 0 && imaginary.offset == a.size && type.size == 2 * a.size;
  return alike && adjacent && real.name == "r" && imaginary.name == "i" ? &a : nullptr;
}

bool differs_for_numpy(const format::Datatype& type) {
  switch (type.cls) {
    case DatatypeClass::Float:
    case DatatypeClass::Enum:
    case DatatypeClass::Bitfield:
    case DatatypeClass::Opaque:
    case DatatypeClass::Compound:
    case DatatypeClass::Complex:
    case DatatypeClass::Reference:
      return true;
    default:
      return false;
  }
}

Status write_numpy_element(ValueWriter& writer, const format::Datatype& type, ByteSpan element) {
  H5_TRY(writer.context.budget.spend(number_steps(type.base ? *type.base : type)));
  if (const format::Datatype* const part = complex_part(type)) {
    write_pair(*part, element, writer.out);
    return {};
  }
  switch (type.cls) {
    case DatatypeClass::Float:
      write_float_or_null(type, element, writer.out);
      return {};
    case DatatypeClass::Enum: {
      const std::size_t begin = writer.out.size();
      append_integer(*type.base, element, writer.out);
      if (!is_boolean(type)) return {};
      const bool value = std::string_view(writer.out).substr(begin) != "0";
      writer.out.resize(begin);
      writer.out += value ? "true" : "false";
      return {};
    }
    case DatatypeClass::Bitfield:
      append_integer(type, element, writer.out);
      return {};
    case DatatypeClass::Opaque:
      if (append_numpy_date(type, element, writer.out)) return {};
      H5_TRY(writer.check_length(element.size()));
      H5_TRY(writer.context.budget.spend(limits::kStepsPerTextByte * element.size()));
      append_json_string(as_text(element), writer.out);
      return {};
    case DatatypeClass::Compound:
      return write_members(writer, type, element);
    default:
      write_named_reference(type, element, writer.out);
      return {};
  }
}

}  // namespace h5mount::text
