#include "h5mount/text/number_kind.h"

#include <bit>

namespace h5mount::text {

std::optional<NumberType> number_type(const format::Datatype& type) {
  const bool big = type.order == format::ByteOrder::Big;
  if (type.order != format::ByteOrder::Little && !big) return std::nullopt;
  const bool whole = type.bit_offset == 0 && type.bit_precision == 8 * type.size;
  if (type.cls == format::DatatypeClass::Integer && whole && std::has_single_bit(type.size) &&
      type.size <= 8) {
    const auto power = static_cast<unsigned>(std::countr_zero(type.size));
    const auto first = type.is_signed ? NumberKind::I8 : NumberKind::U8;
    return NumberType{static_cast<NumberKind>(static_cast<unsigned>(first) + power), big};
  }
  if (type.cls != format::DatatypeClass::Float || !whole || (type.size != 4 && type.size != 8))
    return std::nullopt;
  const bool single = type.size == 4;
  const bool ieee = type.normalization == format::MantissaNormalization::Implied &&
                    type.exponent_size == (single ? 8 : 11) && type.mantissa_size == (single ? 23 : 52) &&
                    type.mantissa_location == 0 && type.exponent_location == (single ? 23 : 52) &&
                    type.sign_location == (single ? 31 : 63) && type.exponent_bias == (single ? 127 : 1023);
  if (!ieee) return std::nullopt;
  return NumberType{single ? NumberKind::F32 : NumberKind::F64, big};
}

}  // namespace h5mount::text
