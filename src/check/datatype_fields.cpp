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

// The bits of each class's bit field that have a meaning; of references the kind, and the version of its
// encoding.
constexpr std::uint32_t kKnownBits[] = {0x0F,   0xFF7F, 0x01,   0xFF,   0x07, 0xFF,
                                        0xFFFF, 0xFF,   0xFFFF, 0x0FFF, 0,    0x07};

class DatatypeFields {
 public:
  explicit DatatypeFields(Fields& message) : message_(message) {}

  // Returns the type's size in bytes.
  std::uint64_t check() {  // NOLINT(misc-no-recursion)
    if (++nodes_ > limits::kMaxDatatypeNodes || depth_ >= limits::kMaxDatatypeDepth) {
      message_.rest("nesting");
      return 0;
    }
    const Field head = message_.u8("class_and_version"), bits = message_.uint(3, "class_bit_field");
    const std::uint64_t cls = head & 0x0F;
    if (cls >= std::size(kKnownBits) || !message_.ok()) return 0;
    bits.want_flags(kKnownBits[cls]);
    const Field size = message_.u32("size");
    if (cls == static_cast<std::uint64_t>(DatatypeClass::VariableLength))
      size.want_equal(4ULL + message_.sizes().offsets + 4, "is a length and a place in the global heap");
    ++depth_;
    check_properties(static_cast<DatatypeClass>(cls), head >> 4, bits, size);
    --depth_;
    return size;
  }

 private:
  void check_properties(DatatypeClass cls, std::uint64_t version,  // NOLINT(misc-no-recursion)
                        const Field& bits, std::uint64_t size) {
    switch (cls) {
      case DatatypeClass::Integer:
      case DatatypeClass::Bitfield:
        message_.u16("bit_offset");
        [[fallthrough]];
      case DatatypeClass::Time:
        message_.u16("bit_precision");
        return;
      case DatatypeClass::Float:
        return check_float(bits);
      case DatatypeClass::String:
      case DatatypeClass::Reference:
        return;
      case DatatypeClass::Opaque:
        if ((bits & 0xFF) == 0) return;
        bits.want((bits & 0xFF) % 8 == 0, "the length of the tag is no multiple of 8");
        return message_.padded_text(bits & 0xFF, "tag");
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
  void check_float(const Field& bits) {
    const Field offset = message_.u16("bit_offset"), precision = message_.u16("bit_precision");
    const std::uint64_t sign = bits >> 8 & 0xFF;
    const Field exponent = message_.u8("exponent_location");
    const std::uint64_t exponent_bits = message_.u8("exponent_size");
    const Field mantissa = message_.u8("mantissa_location");
    const std::uint64_t mantissa_bits = message_.u8("mantissa_size");
    message_.u32("exponent_bias");
    if (!message_.ok()) return;
    const auto inside = [&](std::uint64_t at, std::uint64_t count) {
      return at >= offset && at + count <= offset + precision;
    };
    exponent.want(inside(exponent, exponent_bits), "lies outside the value's bits");
    mantissa.want(inside(mantissa, mantissa_bits), "lies outside the value's bits");
    bits.want(inside(sign, 1), "the sign lies outside the value's bits");
    mantissa.want(exponent + exponent_bits <= mantissa || mantissa + mantissa_bits <= exponent,
                  "mantissa and exponent overlap");
    const auto apart = [&](std::uint64_t at, std::uint64_t count) { return sign < at || sign >= at + count; };
    bits.want(apart(exponent, exponent_bits) && apart(mantissa, mantissa_bits),
              "the sign is a bit of the exponent or mantissa");
  }

  void check_name(std::uint64_t version, std::set<std::string>& names) {
    const std::string name(message_.c_string("name"));
    const Field field = message_.last();
    field.want(!name.empty(), "is empty");
    field.want(names.insert(name).second, "another member has this name");
    if (version < 3 && (name.size() + 1) % 8 != 0) message_.zeros(8 - (name.size() + 1) % 8, "name_padding");
  }

  void check_compound(std::uint64_t version, std::uint64_t count,  // NOLINT(misc-no-recursion)
                      std::uint64_t size) {
    const std::uint64_t width = version < 3 ? 4 : divide_up(static_cast<unsigned>(std::bit_width(size)), 8);
    std::set<std::string> names;
    Ranges members;
    for (std::uint64_t i = 0; i < count && message_.ok(); ++i) {
      check_name(version, names);
      const Field offset = message_.uint(width, "member_offset");
      const std::uint64_t times = version == 1 ? check_member_dims() : 1;
      offset.want(members.add(offset, check() * times), "the member overlaps another one");
    }
  }

  std::uint64_t check_member_dims() {
    const Field rank = message_.u8("dimensionality");
    message_.zeros(3, "reserved");
    message_.bytes(4, "permutation");
    message_.zeros(4, "reserved_2");
    std::uint64_t times = 1;
    for (unsigned i = 0; i < 4; ++i) {
      const Field dim = message_.u32("dimension_size");
      if (i < rank) times = checked_mul(times, dim).value_or(~0ULL);
    }
    return std::min<std::uint64_t>(times, UINT32_MAX);
  }

  void check_enum(std::uint64_t version, std::uint64_t count) {  // NOLINT(misc-no-recursion)
    const std::uint64_t size = check();
    std::set<std::string> names, values;
    for (std::uint64_t i = 0; i < count && message_.ok(); ++i) check_name(version, names);
    for (std::uint64_t i = 0; i < count && message_.ok() && size > 0; ++i) {
      const std::string value(as_text(message_.bytes(size, "member_value")));
      message_.last().want(values.insert(value).second, "another member has this value");
    }
  }

  void check_array(std::uint64_t version) {  // NOLINT(misc-no-recursion)
    const Field rank = message_.u8("dimensionality");
    if (version < 3) message_.zeros(3, "reserved");
    for (unsigned i = 0; i < rank && message_.ok(); ++i) message_.u32("dimension_size");
    if (version < 3)
      for (unsigned i = 0; i < rank && message_.ok(); ++i) message_.u32("permutation");
    check();
  }

  Fields& message_;
  unsigned nodes_ = 0, depth_ = 0;
};

}  // namespace

void check_datatype_fields(Fields& message) {
  DatatypeFields(message).check();
}

}  // namespace h5mount::check
