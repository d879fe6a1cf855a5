#include "type_codec.h"

#include "h5mount/base/checked.h"
#include "h5mount/base/limits.h"

namespace h5mount::join {

namespace {

using format::Datatype;
using format::DatatypeClass;

bool has_base(DatatypeClass cls) {
  using enum DatatypeClass;
  return cls == Enum || cls == VariableLength || cls == Array || cls == Complex;
}

class TypeReader {
 public:
  explicit TypeReader(CardReader& from) : from_(from) {}

  // NOLINTNEXTLINE(misc-no-recursion): bounded by kMaxDatatypeDepth
  format::DatatypePtr read() {
    from_.require(depth_ < limits::kMaxDatatypeDepth && nodes_ < limits::kMaxDatatypeNodes);
    ++depth_, ++nodes_;
    auto type = std::make_shared<Datatype>();
    read_numbers(*type);
    if (from_.ok() && has_base(type->cls)) type->base = read();
    if (from_.ok() && type->base) inherit(*type, *type->base);
    if (from_.ok() && type->cls == DatatypeClass::Compound) read_members(*type);
    if (from_.ok()) read_rest(*type);
    --depth_;
    return from_.ok() ? type : nullptr;
  }

 private:
  void read_numbers(Datatype& type) {
    type.cls = from_.code(DatatypeClass::Complex);
    type.version = from_.code(std::uint8_t{5});
    type.size = from_.number_as<std::uint32_t>();
    from_.require(type.version >= 1 && type.size > 0);
    type.order = from_.code(format::ByteOrder::Vax);
    type.bit_offset = from_.number_as<std::uint16_t>();
    type.bit_precision = from_.number_as<std::uint16_t>();
    type.low_pad = from_.flag();
    type.high_pad = from_.flag();
    type.is_signed = from_.flag();
    using enum DatatypeClass;
    const std::uint64_t bits = std::uint64_t{8} * type.size;
    from_.require(type.bit_offset + std::uint64_t{type.bit_precision} <= bits);
    from_.require(type.bit_precision > 0 ||
                  (type.cls != Integer && type.cls != Float && type.cls != Bitfield));
    if (type.cls == Float) read_float(type, bits);
    type.padding = from_.code(format::StringPadding::SpacePad);
    type.charset = from_.code(format::CharacterSet::Utf8);
    type.reference = from_.code(format::ReferenceKind::Attribute);
    type.variable_string = from_.flag();
    type.tag = from_.text();
    type.has_variable_part = type.cls == VariableLength;
    type.has_reference = type.cls == Reference;
    // A length, an address of two bytes at least, an index.
    constexpr std::uint32_t kLeastSequence = 4 + 2 + 4;
    from_.require(type.cls != VariableLength || type.size >= kLeastSequence);
  }

  void read_float(Datatype& type, std::uint64_t bits) {
    type.normalization = from_.code(format::MantissaNormalization::Implied);
    type.sign_location = from_.byte();
    type.exponent_location = from_.byte();
    type.exponent_size = from_.byte();
    type.mantissa_location = from_.byte();
    type.mantissa_size = from_.byte();
    type.exponent_bias = from_.number_as<std::uint32_t>();
    from_.require(type.sign_location < bits && type.exponent_size > 0 && type.exponent_size <= 32 &&
                  type.mantissa_size > 0 &&
                  std::uint64_t{type.exponent_location} + type.exponent_size <= bits &&
                  std::uint64_t{type.mantissa_location} + type.mantissa_size <= bits);
    from_.require(type.order != format::ByteOrder::Vax || type.size % 2 == 0);
  }

  // NOLINTNEXTLINE(misc-no-recursion): bounded by kMaxDatatypeDepth
  void read_members(Datatype& type) {
    const std::size_t count = from_.count();
    from_.require(count > 0 && count <= limits::kMaxDatatypeNodes);
    for (std::size_t i = 0; i < count && from_.ok(); ++i) {
      format::CompoundMember member;
      member.name = from_.text();
      member.offset = from_.number_as<std::uint32_t>();
      member.type = read();
      if (!member.type) return;
      from_.require(range_within(member.offset, member.type->size, type.size));
      inherit(type, *member.type);
      type.members.push_back(std::move(member));
    }
  }

  void read_rest(Datatype& type) {
    if (type.cls == DatatypeClass::Enum) {
      const std::size_t count = from_.count();
      from_.require(type.base->cls == DatatypeClass::Integer && type.base->size == type.size &&
                    count <= limits::kMaxDatatypeNodes);
      for (std::size_t i = 0; i < count && from_.ok(); ++i) {
        format::EnumMember member{from_.text(), {}};
        const ByteSpan value = from_.bytes();
        from_.require(value.size() == type.base->size);
        member.value.assign(value.begin(), value.end());
        type.enum_members.push_back(std::move(member));
      }
    }
    if (type.cls == DatatypeClass::Array) {
      const std::size_t rank = from_.count();
      from_.require(rank > 0 && rank <= limits::kMaxRank);
      std::optional<std::uint64_t> bytes = type.base->size;
      for (std::size_t i = 0; i < rank && from_.ok(); ++i) {
        type.dims.push_back(from_.number_as<std::uint32_t>());
        bytes = bytes ? checked_mul(*bytes, type.dims.back()) : std::nullopt;
      }
      from_.require(bytes == type.size);
    }
    if (type.cls == DatatypeClass::Complex)
      from_.require(type.base->cls == DatatypeClass::Float &&
                    type.size == 2 * std::uint64_t{type.base->size});
  }

  static void inherit(Datatype& type, const Datatype& part) {
    type.has_variable_part = type.has_variable_part || part.has_variable_part;
    type.has_reference = type.has_reference || part.has_reference;
  }

  CardReader& from_;
  unsigned depth_ = 0, nodes_ = 0;
};

}  // namespace

// NOLINTNEXTLINE(misc-no-recursion): types nest no deeper than kMaxDatatypeDepth
void write_type(const Datatype& type, CardWriter& to) {
  to.code(type.cls);
  to.byte(type.version);
  to.number(type.size);
  to.code(type.order);
  to.number(type.bit_offset);
  to.number(type.bit_precision);
  to.code(type.low_pad);
  to.code(type.high_pad);
  to.code(type.is_signed);
  if (type.cls == DatatypeClass::Float) {
    to.code(type.normalization);
    to.byte(type.sign_location);
    to.byte(type.exponent_location);
    to.byte(type.exponent_size);
    to.byte(type.mantissa_location);
    to.byte(type.mantissa_size);
    to.number(type.exponent_bias);
  }
  to.code(type.padding);
  to.code(type.charset);
  to.code(type.reference);
  to.code(type.variable_string);
  to.text(type.tag);
  if (has_base(type.cls)) write_type(*type.base, to);
  if (type.cls == DatatypeClass::Compound) {
    to.number(type.members.size());
    for (const format::CompoundMember& member : type.members) {
      to.text(member.name);
      to.number(member.offset);
      write_type(*member.type, to);
    }
  }
  if (type.cls == DatatypeClass::Enum) {
    to.number(type.enum_members.size());
    for (const format::EnumMember& member : type.enum_members) {
      to.text(member.name);
      to.bytes(member.value);
    }
  }
  if (type.cls == DatatypeClass::Array) {
    to.number(type.dims.size());
    for (const std::uint32_t extent : type.dims) to.number(extent);
  }
}

format::DatatypePtr read_type(CardReader& from) {
  return TypeReader(from).read();
}

}  // namespace h5mount::join
