#include "number_forms.h"

#include <bit>
#include <cmath>

#include "h5mount/base/text.h"
#include "h5mount/text/value_text.h"

namespace h5mount::view {

std::string base64(ByteSpan bytes, std::string_view prefix) {
  std::string out = "\"";
  out += prefix;
  append_base64(as_text(bytes), out);
  return out + '"';
}

std::optional<double> exact_double(const format::Datatype& type, ByteSpan element) {
  if (type.cls != format::DatatypeClass::Float || (type.size != 2 && type.size != 4) ||
      element.size() < type.size || text::datatype_text(type).size() != 3)
    return std::nullopt;
  // The bits of a NaN are kept where they can be.
  if (type.size == 4)
    return std::bit_cast<float>(static_cast<std::uint32_t>(text::stored_bits(type, element.data())));
  return text::double_of(type, element.first(type.size));
}

format::DatatypePtr double_type() {
  static const format::DatatypePtr type = [] {
    auto out = std::make_shared<format::Datatype>();
    out->cls = format::DatatypeClass::Float;
    out->size = 8;
    out->bit_precision = 64;
    out->normalization = format::MantissaNormalization::Implied;
    out->sign_location = 63;
    out->exponent_location = out->mantissa_size = 52;
    out->exponent_size = 11;
    out->exponent_bias = 1023;
    return out;
  }();
  return type;
}

}  // namespace h5mount::view
