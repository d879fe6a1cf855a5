#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>

#include "conventions.h"
#include "h5mount/base/text.h"
#include "texts.h"
#include "times.h"

namespace h5mount::meaning {

namespace {

// A number of an attribute as one of the kind; nullopt: that has none like it. Floats are rounded.
std::optional<std::uint64_t> as_kind(const AttributeNumbers& numbers, std::size_t at, NumberKind kind) {
  if (kind == NumberKind::F64) return std::bit_cast<std::uint64_t>(as_double(numbers, at));
  if (kind == NumberKind::F32)
    return std::bit_cast<std::uint64_t>(static_cast<double>(static_cast<float>(as_double(numbers, at))));
  const unsigned bits = 8 * bytes_of(kind);
  std::uint64_t value = numbers.bits[at];
  bool negative = false;
  if (is_integer(numbers.kind)) {
    // Unsigned numbers of a dataset are stated by attributes of the signed type, too.
    negative = numbers.kind < NumberKind::U8 && static_cast<std::int64_t>(value) < 0;
    if (negative && kind >= NumberKind::U8 && bytes_of(numbers.kind) == bytes_of(kind))
      return bits == 64 ? value : value & ((std::uint64_t{1} << bits) - 1);
  } else {
    const double number = std::bit_cast<double>(value);
    if (number != std::trunc(number) || std::abs(number) >= 0x1p63) return std::nullopt;
    negative = number < 0;
    value = static_cast<std::uint64_t>(static_cast<std::int64_t>(number));
  }
  if (kind >= NumberKind::U8)
    return negative || (bits < 64 && value >> bits != 0) ? std::nullopt : std::optional(value);
  const auto number = static_cast<std::int64_t>(value);
  if (!negative && number < 0) return std::nullopt;
  const std::int64_t kept = static_cast<std::int64_t>(value << (64 - bits)) >> (64 - bits);
  return kept == number ? std::optional(value) : std::nullopt;
}

class CfAttributes {
 public:
  explicit CfAttributes(const Subject& subject) : subject_(subject) {}

  // nullopt: it has no numbers.
  Result<std::optional<Packing>> packing() {
    const auto type = number_type(*subject_.dataset.type);
    if (!type) return std::nullopt;
    packing_.stored = *type;
    packing_.read_as = type->kind;
    if (is_integer(type->kind)) H5_TRY(read_sign());
    H5_TRY(read_scale());
    packing_.shown = shown_kind();
    for (const std::string_view name : {"_FillValue", "missing_value"}) H5_TRY(read_fills(name));
    H5_TRY(read_bounds());
    return packing_;
  }

  // The attributes that say which values are missing: a JSON list.
  const std::string& missing_by() const { return missing_by_; }

 private:
  Status read_sign() {
    H5_ASSIGN(const std::string text, attribute_text(subject_, "_Unsigned"));
    if (equals_ignoring_case(text, "true")) packing_.read_as = with_sign(packing_.read_as, false);
    if (equals_ignoring_case(text, "false")) packing_.read_as = with_sign(packing_.read_as, true);
    return {};
  }

  Status read_scale() {
    for (const auto& [name, to] :
         {std::pair("scale_factor", &packing_.scale), std::pair("add_offset", &packing_.offset)}) {
      H5_ASSIGN(const auto numbers, attribute_numbers(subject_, name));
      if (!numbers || numbers->bits.size() != 1) continue;
      *to = as_double(*numbers, 0);
      singles_ = singles_ && numbers->kind == NumberKind::F32;
    }
    return {};
  }

  // Single precision where everything is of that, or packed in 16 bits.
  NumberKind shown_kind() const {
    if (!packing_.scaled()) return packing_.read_as;
    const bool small =
        is_integer(packing_.read_as) ? bytes_of(packing_.read_as) <= 2 : packing_.read_as == NumberKind::F32;
    return singles_ && small ? NumberKind::F32 : NumberKind::F64;
  }

  Status read_fills(std::string_view name) {
    constexpr std::size_t kMostFills = 64;
    H5_ASSIGN(const auto numbers, attribute_numbers(subject_, name));
    if (!numbers || numbers->bits.size() > kMostFills) return {};
    for (std::size_t i = 0; i < numbers->bits.size(); ++i) {
      const auto fill = as_kind(*numbers, i, packing_.read_as);
      if (!fill) continue;
      packing_.fills.push_back(*fill);
      if (i == 0) note(name);
    }
    return {};
  }

  Status read_bounds() {
    H5_ASSIGN(const auto range, attribute_numbers(subject_, "valid_range"));
    if (range && range->bits.size() == 2) {
      packing_.least = as_kind(*range, 0, packing_.read_as);
      packing_.most = as_kind(*range, 1, packing_.read_as);
      if (packing_.least || packing_.most) note("valid_range");
      return {};
    }
    for (const auto& [name, to] :
         {std::pair("valid_min", &packing_.least), std::pair("valid_max", &packing_.most)}) {
      H5_ASSIGN(const auto bound, attribute_numbers(subject_, name));
      if (!bound || bound->bits.size() != 1) continue;
      *to = as_kind(*bound, 0, packing_.read_as);
      if (*to) note(name);
    }
    return {};
  }

  void note(std::string_view name) {
    missing_by_ += fmt::format("{}\"{}\"", missing_by_.empty() ? "" : ",", name);
  }

  const Subject& subject_;
  Packing packing_;
  bool singles_ = true;  // scale and offset are of single precision
  std::string missing_by_;
};

// Of numbers.
void add_numbers(const Packing& packing, Decoding& out) {
  const ElementsPtr elements = elements_of(packing);
  const format::DatatypePtr type = type_of(packing.shown);
  const std::uint64_t stored = bytes_of(packing.stored.kind);
  auto& [bytes, text, text_table, column_table] = out.derivations;
  if (packing.changes_values()) bytes = text = derive_elements(elements, type, stored);
  text_table = column_table = packing.may_miss() ? derive_rows(elements, type, stored) : bytes;
}

// Of integers that stay integers.
std::string fill_text(const Packing& packing) {
  if (packing.fills.empty() || !is_integer(packing.shown)) return {};
  const std::uint64_t bits = packing.fills[0];
  return packing.shown < NumberKind::U8 ? fmt::format("{}", static_cast<std::int64_t>(bits))
                                        : fmt::format("{}", bits);
}

// Of times. Those of calendars that NumPy does not have are texts throughout.
void add_times(const Packing& packing, const TimeUnits& units, Decoding& out) {
  const std::uint64_t stored = bytes_of(packing.stored.kind);
  const ElementsPtr moments = moments_of(packing, units);
  const auto of_text = text_type(static_cast<std::uint32_t>(moment_bytes(has_fractions(packing, units))));
  auto& [bytes, text, text_table, column_table] = out.derivations;
  bytes = text = derive_elements(moments, of_text, stored);
  text_table = column_table = derive_rows(moments, of_text, stored);
  out.bytes_are_lines = !has_numpy_dates(units.calendar);
  if (out.bytes_are_lines) return;
  const ElementsPtr timestamps = timestamps_of(packing, units);
  bytes = derive_elements(timestamps, timestamp_type("NUMPY:M8[us]"), stored);
  column_table = derive_rows(timestamps, timestamp_type(dataset::kTimestampTag), stored);
}

// Of codes that have names, in text and tables.
void add_flags(const Packing& packing, FlagNames names, Decoding& out) {
  const std::uint64_t stored = bytes_of(packing.stored.kind);
  const format::DatatypePtr type = text_type(flag_bytes(names));
  const ElementsPtr flags = flags_of(packing, std::move(names));
  auto& [bytes, text, text_table, column_table] = out.derivations;
  if (packing.changes_values()) bytes = derive_elements(elements_of(packing), type_of(packing.shown), stored);
  text = derive_elements(flags, type, stored);
  text_table = column_table = packing.may_miss() ? derive_rows(flags, type, stored) : text;
}

// The names of an integer's codes; empty: it has none, or they are masks of bits.
Result<FlagNames> flag_names(const Subject& subject, const Packing& packing) {
  constexpr std::size_t kMostFlags = 4096, kMostBytes = 1024;
  FlagNames out;
  if (!is_integer(packing.read_as) || packing.scaled()) return out;
  H5_ASSIGN(const auto values, attribute_numbers(subject, "flag_values"));
  if (!values || values->bits.size() > kMostFlags) return out;
  H5_ASSIGN(const auto masks, attribute_numbers(subject, "flag_masks"));
  if (masks) return out;
  H5_ASSIGN(const std::string meanings, attribute_text(subject, "flag_meanings"));
  std::size_t named = 0;
  for (std::string_view rest = meanings; !rest.empty();) {
    const std::string_view name = take_until(rest, ' ');
    if (name.empty()) continue;
    if (named == values->bits.size() || name.size() > kMostBytes) return FlagNames();
    if (const auto code = as_kind(*values, named++, packing.read_as)) out.emplace(*code, name);
  }
  return named == values->bits.size() ? out : FlagNames();
}

// Of netCDF's characters: a variable of netCDF has dimensions.
Result<std::optional<Decoding>> decode_characters(const Subject& subject) {
  const object::DatasetDescription& dataset = subject.dataset;
  if (dataset.type->cls != format::DatatypeClass::String || dataset.element_size != 1) return std::nullopt;
  if (dataset.space.dims.empty() || dataset.space.dims.back() == 0) return std::nullopt;
  bool of_netcdf = false;
  for (const std::string_view name : {"DIMENSION_LIST", "_Netcdf4Dimid", "_Netcdf4Coordinates"}) {
    const auto found = object::find_attribute(*subject.values.file, subject.object, name);
    if (!found && found.error().code() != ErrorCode::NotFound) return fail(found.error());
    of_netcdf = of_netcdf || found;
  }
  if (!of_netcdf) return std::nullopt;
  Decoding out;
  out.text = R"({"convention":"CF","characters":"strings"})";
  out.derivations.fill(derive_strings());
  out.changes_shape = true;
  return std::optional(std::move(out));
}

struct Time {
  TimeUnits units;
  std::string text;  // the units as they stand there
};
Result<std::optional<Time>> time_of(const Subject& subject) {
  H5_ASSIGN(std::string units, attribute_text(subject, "units"));
  if (!units.contains(" since ") && !units.contains(" SINCE ")) return std::nullopt;
  H5_ASSIGN(const std::string name, attribute_text(subject, "calendar"));
  const auto calendar = calendar_named(name);
  const auto parsed = calendar ? parse_time_units(units, *calendar) : std::nullopt;
  if (!parsed) return std::nullopt;
  return std::optional(Time{*parsed, std::move(units)});
}

}  // namespace

Result<std::optional<Packing>> packing_of(const Subject& subject) {
  return CfAttributes(subject).packing();
}

Result<std::optional<Decoding>> decode_cf(const Subject& subject) {
  constexpr std::array kNames = {"int8",   "int16",  "int32",  "int64",   "uint8",
                                 "uint16", "uint32", "uint64", "float32", "float64"};
  CfAttributes attributes(subject);
  H5_ASSIGN(const auto packing, attributes.packing());
  if (!packing) return decode_characters(subject);
  H5_ASSIGN(const auto time, time_of(subject));
  H5_ASSIGN(FlagNames flags, flag_names(subject, *packing));
  if (!time && flags.empty() && !packing->changes_values() && !packing->may_miss()) return std::nullopt;
  Decoding out;
  out.text = R"({"convention":"CF")";
  if (packing->scaled() || packing->read_as != packing->stored.kind)
    out.text += fmt::format(R"(,"unpacked":"{}")", kNames[static_cast<std::size_t>(packing->shown)]);
  if (time)
    out.text +=
        R"(,"time":)" + text::json_string(fmt::format("{}, {}", time->text, name_of(time->units.calendar)));
  else if (!flags.empty())
    out.text += R"(,"flags":"flag_meanings")";
  if (packing->may_miss()) out.text += fmt::format(R"(,"missing":[{}])", attributes.missing_by());
  out.text += "}";
  if (!time) out.fill = fill_text(*packing);
  if (time)
    add_times(*packing, time->units, out);
  else if (!flags.empty())
    add_flags(*packing, std::move(flags), out);
  else
    add_numbers(*packing, out);
  return out;
}

}  // namespace h5mount::meaning
