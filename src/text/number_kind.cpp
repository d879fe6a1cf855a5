#include "h5mount/text/number_kind.h"

#include <bit>

#include "h5mount/text/value_text.h"

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
  if (type.cls != format::DatatypeClass::Float || !whole) return std::nullopt;
  if (is_ieee(type, 4, 8, 23)) return NumberType{NumberKind::F32, big};
  return is_ieee(type, 8, 11, 52) ? std::optional(NumberType{NumberKind::F64, big}) : std::nullopt;
}

}  // namespace h5mount::text
