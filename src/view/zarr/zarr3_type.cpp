// Types of Zarr version 3: core types (https://zarr-specs.readthedocs.io/en/latest/v3/data-types), and, if
// these do not suffice, registered extensions
// (https://github.com/zarr-developers/zarr-extensions/tree/main/data-types): string, null_terminated_bytes,
// struct, numpy.datetime64, numpy.timedelta64.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "../numpy_type.h"
#include "h5mount/text/value_text.h"
#include "zarr3_scalar.h"
#include "zarr_type_parts.h"

namespace h5mount::view {

namespace {

using format::DatatypeClass;

// The metadata holds a fill value, which for raw bytes is a list of numbers.
constexpr std::uint64_t kMaxElementBytes = 1U << 20;
constexpr std::uint64_t kMaxRawBytes = 64U << 10;

Error no_type(std::string why) {
  return {ErrorCode::UnsupportedFeature, std::move(why)};
}

// NumPy's dates and times: M8[ns], m8[10us].
Result<std::string> time_type(std::string_view text) {
  constexpr std::array<std::string_view, 13> kUnits = {"Y",  "M",  "W",  "D",  "h",  "m", "s",
                                                       "ms", "us", "ns", "ps", "fs", "as"};
  const std::string_view name = text[0] == 'M' ? "datetime64" : "timedelta64";
  const Error unknown = no_type(fmt::format("Zarr has no type for {}", text));
  text.remove_prefix(std::min<std::size_t>(text.size(), 3));
  text.remove_suffix(std::min<std::size_t>(text.size(), 1));
  std::uint32_t factor = 1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), factor);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (error == std::errc::result_out_of_range || factor == 0 || factor > 0x7FFF'FFFF) return fail(unknown);
  if (std::ranges::find(kUnits, text) == kUnits.end()) return fail(unknown);
  return fmt::format(R"({{"name":"numpy.{}","configuration":{{"unit":"{}","scale_factor":{}}}}})", name, text,
                     factor);
}

Result<ZarrType> element_type(const format::Datatype& type, bool in_struct);

// Big-endian numbers in a struct are reversed: all numbers of a struct have one byte order, and readers
// assume little-endian whatever the codec states.
Result<ZarrType> scalar_type(const format::Datatype& type, const NumpyType& numpy, bool in_struct) {
  H5_ASSIGN(const Zarr3Scalar scalar, zarr3_scalar(numpy));
  if (scalar.kind == Zarr3Scalar::Kind::Raw && scalar.bytes > kMaxRawBytes)
    return fail(no_type("elements of too many bytes"));
  ZarrType out{.dtype = scalar.data_type, .dims = {}, .segments = {}};
  if (scalar.number_bytes > 1) out.endian = scalar.big_endian && !in_struct ? "big" : "little";
  const bool reversed = in_struct && scalar.big_endian && scalar.number_bytes > 1;
  H5_TRY(add_segment(out, {0, type.size, reversed ? scalar.number_bytes : 0}));
  return out;
}

Result<ZarrType> struct_type(const format::Datatype& type) {
  ZarrType out;
  std::string fields;
  for (const format::CompoundMember& member : type.members) {
    if (member.type->cls == DatatypeClass::Array) return fail(no_type("members that are arrays"));
    H5_ASSIGN(const ZarrType inner, element_type(*member.type, true));
    if (!fields.empty()) fields += ',';
    fields += fmt::format(R"({{"name":{},"data_type":{}}})", text::json_string(member.name), inner.dtype);
    if (!inner.endian.empty()) out.endian = inner.endian;
    H5_TRY(add_segments(out, inner, member.offset));
  }
  out.dtype = fmt::format(R"({{"name":"struct","configuration":{{"fields":[{}]}}}})", fields);
  return out;
}

Result<ZarrType> element_type(const format::Datatype& type, bool in_struct) {
  if (type.size > kMaxElementBytes) return fail(no_type("elements of too many bytes"));
  H5_ASSIGN(const NumpyType numpy, numpy_type(type));
  if (numpy.description.starts_with('[')) return struct_type(type);
  return scalar_type(type, numpy, in_struct);
}

}  // namespace

Result<ZarrType> version3_type(const format::Datatype& type) {
  if (type.cls == DatatypeClass::VariableLength && type.variable_string) {
    ZarrType out{.dtype = R"("string")", .dims = {}, .segments = {}, .variable_strings = true};
    H5_TRY(add_segment(out, {0, type.size}));
    return out;
  }
  if (type.cls != DatatypeClass::Array) return element_type(type, false);
  H5_ASSIGN(NumpyType numpy, numpy_type(type));
  const format::Datatype* base = &type;
  while (base->cls == DatatypeClass::Array) base = base->base.get();
  H5_ASSIGN(const ZarrType inner, element_type(*base, false));
  ZarrType out{.dtype = inner.dtype, .dims = std::move(numpy.dims), .segments = {}};
  out.endian = inner.endian;
  H5_TRY(add_repeated(out, inner, base->size, type.size));
  return out;
}

Result<Zarr3Scalar> zarr3_scalar(const NumpyType& numpy) {
  using Kind = Zarr3Scalar::Kind;
  std::string_view text = std::string_view(numpy.description).substr(1, numpy.description.size() - 2);
  Zarr3Scalar out{.big_endian = text.starts_with('>')};
  if (!text.empty() && std::string_view("<>|=").contains(text[0])) text.remove_prefix(1);
  const char kind = text.empty() ? '\0' : text[0];
  if (kind == 'M' || kind == 'm') {
    out.kind = Kind::Time;
    out.bytes = out.number_bytes = 8;
    H5_ASSIGN(out.data_type, time_type(text));
    return out;
  }
  (void)std::from_chars(text.data() + 1, text.data() + text.size(), out.bytes);
  out.number_bytes = static_cast<std::uint32_t>(kind == 'c' ? out.bytes / 2 : out.bytes);
  if (kind == 'i' || kind == 'u') {
    out.kind = kind == 'i' ? Kind::Signed : Kind::Unsigned;
    out.data_type = fmt::format(R"("{}int{}")", kind == 'u' ? "u" : "", 8 * out.bytes);
  } else if ((kind == 'f' && out.bytes <= 8) || kind == 'c') {
    out.kind = kind == 'f' ? Kind::Float : Kind::Complex;
    out.data_type = fmt::format(R"("{}{}")", kind == 'f' ? "float" : "complex", 8 * out.bytes);
  } else if (kind == 'b') {
    out.kind = Kind::Bool;
    out.data_type = R"("bool")";
  } else if (kind == 'S' || kind == 'V') {
    out.kind = kind == 'S' ? Kind::String : Kind::Raw;
    out.number_bytes = 1;
    out.data_type =
        kind == 'V'
            ? fmt::format(R"("r{}")", 8 * out.bytes)
            : fmt::format(R"({{"name":"null_terminated_bytes","configuration":{{"length_bytes":{}}}}})",
                          out.bytes);
  } else {
    return fail(no_type(fmt::format("Zarr has no type for {}", numpy.description)));
  }
  return out;
}

}  // namespace h5mount::view
