// The formats of numbers that processors have, and code that is compiled for each of them. Pure; threads:
// any.
#pragma once

#include <cstdint>
#include <optional>

#include "h5mount/format/datatype.h"

namespace h5mount::text {

enum class NumberKind : std::uint8_t { I8, I16, I32, I64, U8, U16, U32, U64, F32, F64 };

struct NumberType {
  NumberKind kind = NumberKind::I8;
  bool big_endian = false;
};
// nullopt: another type, or a format of numbers that processors do not have.
std::optional<NumberType> number_type(const format::Datatype& type);

constexpr bool is_integer(NumberKind kind) {
  return kind < NumberKind::F32;
}
constexpr unsigned bytes_of(NumberKind kind) {
  if (kind == NumberKind::F32) return 4;
  return kind == NumberKind::F64 ? 8 : 1U << (static_cast<unsigned>(kind) % 4);
}

// Calls `use` with a number of the kind, of which only the type has meaning.
template <class Use>
auto with_number(NumberKind kind, const Use& use) {
  switch (kind) {
    case NumberKind::I8:
      return use(std::int8_t{});
    case NumberKind::I16:
      return use(std::int16_t{});
    case NumberKind::I32:
      return use(std::int32_t{});
    case NumberKind::I64:
      return use(std::int64_t{});
    case NumberKind::U8:
      return use(std::uint8_t{});
    case NumberKind::U16:
      return use(std::uint16_t{});
    case NumberKind::U32:
      return use(std::uint32_t{});
    case NumberKind::U64:
      return use(std::uint64_t{});
    case NumberKind::F32:
      return use(float{});
    case NumberKind::F64:
      break;
  }
  return use(double{});
}

}  // namespace h5mount::text
