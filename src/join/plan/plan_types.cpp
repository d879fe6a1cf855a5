// Rule 3: types.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "h5mount/dataset/converted_dataset.h"
#include "h5mount/meaning/numbers.h"
#include "h5mount/text/value_text.h"
#include "planner.h"

namespace h5mount::join {

namespace {

using format::ByteOrder;
using format::Datatype;
using format::DatatypeClass;
using format::DatatypePtr;

bool same_parts(const Datatype& a, const Datatype& b) {
  return std::ranges::equal(a.members, b.members,
                            [](const auto& one, const auto& other) {
                              return one.name == other.name && one.offset == other.offset &&
                                     same_type(*one.type, *other.type);
                            }) &&
         std::ranges::equal(a.enum_members, b.enum_members,
                            [](const auto& one, const auto& other) {
                              return one.name == other.name && one.value == other.value;
                            }) &&
         (!a.base == !b.base) && (!a.base || same_type(*a.base, *b.base));
}

// A number as processors have it.
struct NumberShape {
  bool real = false, is_signed = false, big = false;
  std::uint32_t bytes = 0;
};
std::optional<NumberShape> number_shape(const Datatype& type) {
  const bool big = type.order == ByteOrder::Big;
  if (type.cls == DatatypeClass::Float && type.size == 2)
    return same_type(type, *dataset::float_type(2, type.order))
               ? std::optional(NumberShape{true, true, big, 2})
               : std::nullopt;
  const auto number = meaning::number_type(type);
  if (!number) return std::nullopt;
  return NumberShape{!meaning::is_integer(number->kind), number->kind < meaning::NumberKind::U8, big,
                     meaning::bytes_of(number->kind)};
}

// All numbers of several types.
class NumberRange {
 public:
  void add(const NumberShape& shape) {
    std::uint32_t& widest = shape.real ? real_ : shape.is_signed ? signed_ : unsigned_;
    widest = std::max(widest, shape.bytes);
    all_big_ = all_big_ && shape.big;
  }
  // Null: no type has them all.
  DatatypePtr type() const {
    const auto order = all_big_ ? ByteOrder::Big : ByteOrder::Little;
    const std::uint32_t whole = std::max(signed_, unsigned_);
    if (real_ != 0 && whole != 0) return whole > 4 ? nullptr : dataset::float_type(8, order);
    if (real_ != 0) return dataset::float_type(real_, order);
    if (signed_ == 0) return dataset::integer_type(unsigned_, false, order);
    if (signed_ > unsigned_) return dataset::integer_type(signed_, true, order);
    return unsigned_ == 8 ? nullptr : dataset::integer_type(2 * unsigned_, true, order);
  }

 private:
  std::uint32_t real_ = 0, signed_ = 0, unsigned_ = 0;
  bool all_big_ = true;
};

DatatypePtr common_of(const DatatypePtr& a, const DatatypePtr& b);

DatatypePtr common_string(const Datatype& a, const Datatype& b) {
  auto out = std::make_shared<Datatype>(a.size >= b.size ? a : b);
  if (a.charset != b.charset) out->charset = format::CharacterSet::Utf8;
  // No text that fills its element is cut to make room for a zero.
  if (a.padding != b.padding) out->padding = format::StringPadding::NullPad;
  return out;
}

std::optional<std::int64_t> code_of(const Datatype& base, const format::EnumMember& member) {
  const auto shape = number_shape(base);
  if (!shape || shape->real || member.value.size() != base.size) return std::nullopt;
  const std::uint64_t bits = text::stored_bits(base, member.value.data());
  const unsigned unused = 64 - 8 * shape->bytes;
  if (!shape->is_signed) return bits >> 63 ? std::nullopt : std::optional(static_cast<std::int64_t>(bits));
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

DatatypePtr common_enumeration(const Datatype& a, const Datatype& b) {
  const auto one = number_shape(*a.base), other = number_shape(*b.base);
  if (!one || !other || one->real || other->real) return nullptr;
  NumberRange range;
  range.add(*one), range.add(*other);
  auto out = std::make_shared<Datatype>(a);
  out->base = range.type();
  if (!out->base) return nullptr;
  out->size = out->base->size;
  out->enum_members.clear();
  std::map<std::string_view, std::int64_t> codes;
  std::map<std::int64_t, std::string_view> names;
  for (const Datatype* const type : {&a, &b})
    for (const auto& member : type->enum_members) {
      const auto code = code_of(*type->base, member);
      if (!code) return nullptr;
      const bool is_new = codes.emplace(member.name, *code).second;
      const auto name = names.emplace(*code, member.name).first;
      if (codes[member.name] != *code || (type == &b && name->second != member.name && is_new))
        return nullptr;
      if (!is_new) continue;
      format::EnumMember& added = out->enum_members.emplace_back(member.name);
      for (std::uint32_t i = 0; i < out->size; ++i)
        added.value.push_back(static_cast<std::byte>(static_cast<std::uint64_t>(*code) >> (8 * i)));
      if (out->base->order == ByteOrder::Big) std::ranges::reverse(added.value);
    }
  return out;
}

DatatypePtr common_compound(const Datatype& a, const Datatype& b) {
  if (a.members.size() != b.members.size()) return nullptr;
  std::map<std::string_view, DatatypePtr> others;
  for (const auto& member : b.members) others.emplace(member.name, member.type);
  auto out = std::make_shared<Datatype>(a);
  out->size = 0;
  for (auto& member : out->members) {
    const auto found = others.find(member.name);
    if (found == others.end()) return nullptr;
    member.type = common_of(member.type, found->second);
    if (!member.type) return nullptr;
    member.offset = out->size;
    if (__builtin_add_overflow(out->size, member.type->size, &out->size)) return nullptr;
  }
  return out;
}

// Of types that are parts of others, or no numbers; numbers only differ in byte order then. Null: there is
// none. Nesting is bounded by limits::kMaxDatatypeDepth.
DatatypePtr common_of(const DatatypePtr& a, const DatatypePtr& b) {
  if (a == b || same_type(*a, *b)) return a;
  if (a->cls != b->cls) return nullptr;
  switch (a->cls) {
    case DatatypeClass::Integer:
    case DatatypeClass::Float: {
      const auto one = number_shape(*a), other = number_shape(*b);
      const bool swapped = one && other && one->real == other->real && one->is_signed == other->is_signed &&
                           one->bytes == other->bytes;
      return swapped ? (one->big ? b : a) : nullptr;
    }
    case DatatypeClass::String:
      return common_string(*a, *b);
    case DatatypeClass::Enum:
      return common_enumeration(*a, *b);
    case DatatypeClass::Compound:
      return common_compound(*a, *b);
    case DatatypeClass::VariableLength: {
      if (!a->variable_string || !b->variable_string) return nullptr;
      auto out = std::make_shared<Datatype>(a->charset == format::CharacterSet::Utf8 ? *a : *b);
      return out;
    }
    case DatatypeClass::Array:
    case DatatypeClass::Complex: {
      if (a->dims != b->dims) return nullptr;
      auto out = std::make_shared<Datatype>(*a);
      out->base = common_of(a->base, b->base);
      if (!out->base || out->base->size != a->base->size) return nullptr;
      return out;
    }
    default:
      return nullptr;
  }
}

Error types_differ(const Planning& plan, const Gathered& in, const Variant& a, const Variant& b) {
  return cannot_join(
      fmt::format("{}: {} has the type {}, {} has {}: no type holds both exactly (match= leaves files out)",
                  shown_path(in.path), plan.name(a), text::datatype_text(*a.of().type), plan.name(b),
                  text::datatype_text(*b.of().type)));
}

// The two whose types cannot be joined, of numbers.
Error numbers_differ(const Planning& plan, const Gathered& in) {
  const auto widest = [&](auto&& of_these) {
    const Variant* out = nullptr;
    for (const Variant& one : in.variants)
      if (const auto shape = number_shape(*one.of().type); shape && of_these(*shape))
        if (!out || out->of().type->size < one.of().type->size) out = &one;
    return out;
  };
  const Variant* const real = widest([](const NumberShape& shape) { return shape.real; });
  const Variant* const whole = widest([](const NumberShape& shape) { return !shape.real; });
  if (real && whole) return types_differ(plan, in, *whole, *real);
  const auto is_signed = [](const NumberShape& shape) { return shape.is_signed; };
  return types_differ(plan, in, *widest(is_signed), *widest(std::not_fn(is_signed)));
}

}  // namespace

bool same_type(const Datatype& a, const Datatype& b) {
  if (&a == &b) return true;
  const auto fields = [](const Datatype& t) {
    return std::tie(t.cls, t.size, t.order, t.bit_offset, t.bit_precision, t.low_pad, t.high_pad, t.is_signed,
                    t.normalization, t.sign_location, t.exponent_location, t.exponent_size,
                    t.mantissa_location, t.mantissa_size, t.exponent_bias, t.padding, t.charset, t.tag,
                    t.reference, t.variable_string, t.dims);
  };
  return fields(a) == fields(b) && same_parts(a, b);
}

Result<DatatypePtr> joined_type(const Planning& plan, const Gathered& in) {
  const DatatypePtr& first = in.variants[0].of().type;
  bool all_same = true, all_numbers = true;
  NumberRange range;
  for (const Variant& one : in.variants) {
    const DatatypePtr& type = one.of().type;
    all_same = all_same && (type == first || same_type(*type, *first));
    const auto shape = number_shape(*type);
    if (shape)
      range.add(*shape);
    else
      all_numbers = false;
  }
  if (all_same) return first;
  if (all_numbers) {
    if (DatatypePtr type = range.type()) return type;
    return fail(numbers_differ(plan, in));
  }
  DatatypePtr out = first;
  for (const Variant& one : in.variants) {
    out = common_of(out, one.of().type);
    if (!out) return fail(types_differ(plan, in, in.variants[0], one));
  }
  return out;
}

}  // namespace h5mount::join
