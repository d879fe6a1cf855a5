#include "element_text.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "h5mount/base/limits.h"
#include "h5mount/text/integer_text.h"
#include "h5mount/text/shortest_float.h"

namespace h5mount::serve {
namespace {

using format::DatatypeClass;

template <class Integer>
void write_integer(const std::byte* element, bool, std::string& out) {
  Integer value;
  std::memcpy(&value, element, sizeof value);
  char digits[text::kIntegerTextRoom + text::kMinIntegerRoom];
  out.append(digits, text::write_integer(value, digits));
}

template <class Float>
void write_real(const std::byte* element, bool csv, std::string& out) {
  Float value;
  std::memcpy(&value, element, sizeof value);
  if (std::isfinite(value)) {
    char digits[text::kFloatTextRoom];
    out.append(digits, text::write_float(value, digits));
  } else if (!csv) {
    out += "null";
  } else {
    out += std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
  }
}

bool is_plain_integer(const format::Datatype& type) {
  return type.cls == DatatypeClass::Integer && type.bit_offset == 0 && type.bit_precision == 8 * type.size;
}

bool is_processors_order(const format::Datatype& type) {
  return type.size == 1 ||
         (type.order == format::ByteOrder::Little && std::endian::native == std::endian::little);
}

}  // namespace

FlatType flat_type(format::DatatypePtr type, std::vector<std::uint64_t> dims) {
  for (; type->cls == DatatypeClass::Array; type = type->base)
    dims.insert(dims.end(), type->dims.begin(), type->dims.end());
  return {std::move(type), std::move(dims)};
}

std::optional<NumberKind> number_kind(const format::Datatype& given) {
  const format::Datatype* type = &given;
  while (type->cls == format::DatatypeClass::Array || type->cls == format::DatatypeClass::Enum)
    type = type->base.get();
  if (text::complex_part(*type) != nullptr) return std::nullopt;
  if (type->cls == format::DatatypeClass::Float) {
    if (type->size == 4) return NumberKind::F32;
    return type->size == 8 ? std::optional(NumberKind::F64) : std::nullopt;
  }
  const bool is_signed = type->is_signed;
  switch (type->size) {
    case 1:
      return is_signed ? NumberKind::I8 : NumberKind::U8;
    case 2:
      return is_signed ? NumberKind::I16 : NumberKind::U16;
    case 4:
      return is_signed ? NumberKind::I32 : NumberKind::U32;
    case 8:
      return is_signed ? NumberKind::I64 : NumberKind::U64;
    default:
      return std::nullopt;
  }
}

ElementText::Writer ElementText::writer_of(const format::Datatype& type) {
  if (!is_processors_order(type)) return nullptr;
  const bool as_stored = type.cls == DatatypeClass::Float
                             ? (type.size == 4 && type.mantissa_size == 23 && type.exponent_size == 8) ||
                                   (type.size == 8 && type.mantissa_size == 52 && type.exponent_size == 11)
                             : is_plain_integer(type);
  const auto kind = as_stored ? number_kind(type) : std::nullopt;
  if (!kind) return nullptr;
  return with_number(*kind, []<class Number>(Number) -> Writer {
    if constexpr (std::is_floating_point_v<Number>)
      return &write_real<Number>;
    else
      return &write_integer<Number>;
  });
}

ElementText::ElementText(Form form, FlatType array)
    : form_(form),
      array_(std::move(array)),
      writer_(writer_of(*array_.type)),
      part_(text::complex_part(*array_.type)),
      at_(array_.dims.size()) {
  for (const std::uint64_t dim : array_.dims) count_ *= dim;
}

Result<std::string> ElementText::empty(const FlatType& array) {
  format::Dataspace space;
  space.kind = format::DataspaceKind::Simple;
  space.dims = array.dims;
  return text::value_text(*array.type, space, {}, {{}, Unbounded()});
}

// Writes the brackets before an element: one for each dimension that begins with it.
void ElementText::open(std::string& out) const {
  if (form_ == Form::Csv) return;
  for (std::size_t i = at_.size(); i-- > 0 && at_[i] == 0;) out += '[';
}

// Writes the brackets and separators after an element.
void ElementText::close(std::string& out) {
  std::size_t wrapped = 0;
  for (std::size_t i = at_.size(); i-- > 0; ++wrapped) {
    if (++at_[i] < array_.dims[i]) break;
    at_[i] = 0;
  }
  if (form_ == Form::Json) {
    out.append(wrapped, ']');
    if (wrapped < at_.size()) out += ',';
  } else {
    out += wrapped > 0 || at_.size() < 2 ? '\n' : ',';
  }
}

Result<std::size_t> ElementText::add(ByteSpan data, const text::ValueContext& values, std::size_t most,
                                     std::string& out) {
  const std::size_t size = array_.type->size;
  const bool csv = form_ == Form::Csv;
  const Writer part = part_ != nullptr ? writer_of(*part_) : nullptr;
  const std::size_t before = out.size(), given = data.size();
  for (; data.size() >= size && out.size() - before < most; data = data.subspan(size)) {
    open(out);
    if (writer_ != nullptr) {
      writer_(data.data(), csv, out);
    } else if (csv && part != nullptr) {
      part(data.data(), csv, out);
      std::string imaginary;
      part(data.data() + part_->size, csv, imaginary);
      if (!imaginary.starts_with('-')) out += '+';
      out += imaginary + 'j';
    } else {
      H5_TRY(text::append_json(*array_.type, data.first(size), values, out));
    }
    close(out);
  }
  H5_TRY(values.budget.spend(limits::kStepsPerTextByte * (out.size() - before)));
  return given - data.size();
}

}  // namespace h5mount::serve
