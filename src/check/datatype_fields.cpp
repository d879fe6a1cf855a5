// Datatype messages: what readers do not need of them.
#include <algorithm>
#include <bit>
#include <set>
#include <string>

#include "fields.h"
#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"
#include "h5mount/format/datatype.h"

namespace h5mount::check {

namespace {

using format::DatatypeClass;

// The bits of the class bit field that have a meaning.
std::uint32_t known_bits(DatatypeClass cls) {
  switch (cls) {
    case DatatypeClass::Integer:
      return 0x0F;
    case DatatypeClass::Float:
      return 0xFF7F;
    case DatatypeClass::Time:
      return 0x01;
    case DatatypeClass::Bitfield:
    case DatatypeClass::Complex:
      return 0x07;
    case DatatypeClass::String:
    case DatatypeClass::Opaque:
    case DatatypeClass::Reference:  // the kind, and the version of its encoding
      return 0xFF;
    case DatatypeClass::Compound:
    case DatatypeClass::Enum:
      return 0xFFFF;
    case DatatypeClass::VariableLength:
      return 0x0FFF;
    case DatatypeClass::Array:
      return 0;
  }
  return 0xFF'FFFF;
}

class DatatypeFields {
 public:
  explicit DatatypeFields(Fields& message) : message_(message) {}

  // Returns the type's size in bytes.
  std::uint32_t check() {  // NOLINT(misc-no-recursion)
    if (++nodes_ > limits::kMaxDatatypeNodes || depth_ >= limits::kMaxDatatypeDepth) {
      if (message_.remaining() > 0) message_.bytes(message_.remaining(), "nesting");
      return 0;
    }
    const std::uint8_t head = message_.u8("class_and_version");
    const unsigned version = head >> 4;
    const auto cls = static_cast<DatatypeClass>(head & 0x0F);
    const auto bits = static_cast<std::uint32_t>(message_.uint(3, "class_bit_field"));
    const format::Field bit_field = message_.last();
    if ((head & 0x0F) > 11 || !message_.ok()) return 0;
    message_.want((bits & ~known_bits(cls)) == 0, "reserved bits are set");
    const std::uint32_t size = message_.u32("size");
    if (cls == DatatypeClass::VariableLength)
      message_.want_equal(4ULL + message_.sizes().offsets + 4, "is a length and a place in the global heap");
    ++depth_;
    check_properties(cls, version, bits, size, bit_field);
    --depth_;
    return size;
  }

 private:
  void check_properties(DatatypeClass cls, unsigned version, std::uint32_t bits,  // NOLINT(misc-no-recursion)
                        std::uint32_t size, const format::Field& bit_field) {
    switch (cls) {
      case DatatypeClass::Integer:
      case DatatypeClass::Bitfield:
        message_.u16("bit_offset");
        message_.u16("bit_precision");
        return;
      case DatatypeClass::Float:
        return check_float(bits, bit_field);
      case DatatypeClass::Time:
        message_.u16("bit_precision");
        return;
      case DatatypeClass::String:
      case DatatypeClass::Reference:
        return;
      case DatatypeClass::Opaque:
        return check_opaque(bits, bit_field);
      case DatatypeClass::Compound:
        return check_compound(version, bits & 0xFFFF, size);
      case DatatypeClass::Enum:
        return check_enum(version, bits & 0xFFFF);
      case DatatypeClass::Array:
        return check_array(version);
      case DatatypeClass::VariableLength:
      case DatatypeClass::Complex:
        check();
        return;
    }
  }

  // Sign, exponent and mantissa are bits of the value, each of its own.
  void check_float(std::uint32_t bits, const format::Field& bit_field) {
    const unsigned offset = message_.u16("bit_offset"), precision = message_.u16("bit_precision");
    const unsigned sign = bits >> 8 & 0xFF;
    const unsigned exponent = message_.u8("exponent_location");
    const format::Field exponent_field = message_.last();
    const unsigned exponent_bits = message_.u8("exponent_size");
    const unsigned mantissa = message_.u8("mantissa_location");
    const format::Field mantissa_field = message_.last();
    const unsigned mantissa_bits = message_.u8("mantissa_size");
    message_.u32("exponent_bias");
    const auto inside = [&](unsigned at, unsigned count) {
      return at >= offset && at + count <= offset + precision;
    };
    message_.want(inside(exponent, exponent_bits), exponent_field, "lies outside the value's bits");
    message_.want(inside(mantissa, mantissa_bits), mantissa_field, "lies outside the value's bits");
    message_.want(inside(sign, 1), bit_field, "the sign lies outside the value's bits");
    message_.want(exponent + exponent_bits <= mantissa || mantissa + mantissa_bits <= exponent,
                  mantissa_field, "mantissa and exponent overlap");
    const auto apart = [&](unsigned at, unsigned count) { return sign < at || sign >= at + count; };
    message_.want(apart(exponent, exponent_bits) && apart(mantissa, mantissa_bits), bit_field,
                  "the sign is a bit of the exponent or mantissa");
  }

  void check_opaque(std::uint32_t bits, const format::Field& bit_field) {
    const std::uint32_t length = bits & 0xFF;
    if (length == 0) return;
    message_.want(length % 8 == 0, bit_field, "the length of the tag is no multiple of 8");
    const std::string_view tag = as_text(message_.bytes(length, "tag"));
    const std::size_t end = std::min(tag.find('\0'), tag.size());
    message_.want(tag.find_first_not_of('\0', end) == std::string_view::npos, "has text behind its end");
  }

  std::string check_name(unsigned version, std::set<std::string>& names) {
    std::string name(message_.c_string("name"));
    message_.want(!name.empty(), "is empty");
    message_.want(names.insert(name).second, "another member has this name");
    if (version < 3 && (name.size() + 1) % 8 != 0) message_.zeros(8 - (name.size() + 1) % 8, "name_padding");
    return name;
  }

  void check_compound(unsigned version, std::uint32_t count,
                      std::uint32_t size) {  // NOLINT(misc-no-recursion)
    const std::size_t width =
        version < 3 ? 4 : divide_up(static_cast<std::uint64_t>(std::bit_width(size)), 8);
    std::set<std::string> names;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> taken;
    for (std::uint32_t i = 0; i < count && message_.ok(); ++i) {
      check_name(version, names);
      const std::uint64_t offset = message_.uint(width, "member_offset");
      const format::Field offset_field = message_.last();
      std::uint64_t times = 1;
      if (version == 1) times = check_member_dims();
      const std::uint64_t bytes = check() * times;
      const bool apart = std::ranges::none_of(
          taken, [&](const auto& other) { return offset < other.second && other.first < offset + bytes; });
      message_.want(apart, offset_field, "the member overlaps another one");
      taken.emplace_back(offset, offset + bytes);
      if (nodes_ > kMaxCompared) taken.clear();
    }
  }

  std::uint64_t check_member_dims() {
    const std::uint8_t rank = message_.u8("dimensionality");
    message_.zeros(3, "reserved");
    message_.bytes(4, "permutation");
    message_.zeros(4, "reserved_2");
    std::uint64_t times = 1;
    for (unsigned i = 0; i < 4; ++i) {
      const std::uint32_t dim = message_.u32("dimension_size");
      if (i < rank) times = checked_mul(times, dim).value_or(~0ULL);
    }
    return std::min<std::uint64_t>(times, UINT32_MAX);
  }

  void check_enum(unsigned version, std::uint32_t count) {  // NOLINT(misc-no-recursion)
    const std::uint32_t size = check();
    std::set<std::string> names;
    for (std::uint32_t i = 0; i < count && message_.ok(); ++i) check_name(version, names);
    std::set<std::string> values;
    for (std::uint32_t i = 0; i < count && message_.ok() && size > 0; ++i) {
      const ByteSpan value = message_.bytes(size, "member_value");
      message_.want(values.insert(std::string(as_text(value))).second, "another member has this value");
    }
  }

  void check_array(unsigned version) {  // NOLINT(misc-no-recursion)
    const std::uint8_t rank = message_.u8("dimensionality");
    if (version < 3) message_.zeros(3, "reserved");
    for (unsigned i = 0; i < rank && message_.ok(); ++i) message_.u32("dimension_size");
    if (version < 3)
      for (unsigned i = 0; i < rank && message_.ok(); ++i) message_.u32("permutation");
    check();
  }

  static constexpr unsigned kMaxCompared = 4096;  // members whose places are compared with one another

  Fields& message_;
  unsigned nodes_ = 0, depth_ = 0;
};

}  // namespace

void check_datatype_fields(Fields& message) {
  DatatypeFields(message).check();
}

}  // namespace h5mount::check
