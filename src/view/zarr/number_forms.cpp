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

}  // namespace h5mount::view
