// Which types a reader can tell apart, and which elements of the others are equal.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "diff/compare_values.h"
#include "h5mount/dataset/converted_dataset.h"

namespace h5mount::front {
namespace {

using dataset::float_type;
using dataset::integer_type;
using format::ByteOrder;
using format::Datatype;
using format::DatatypeClass;
using format::DatatypePtr;

constexpr auto kLittle = ByteOrder::Little, kBig = ByteOrder::Big;

DatatypePtr shared(Datatype type) {
  return std::make_shared<const Datatype>(std::move(type));
}

DatatypePtr integer(std::uint32_t size, bool is_signed = true, ByteOrder order = kLittle) {
  return integer_type(size, is_signed, order);
}

DatatypePtr string(std::uint32_t size, format::StringPadding padding, format::CharacterSet charset = {}) {
  Datatype type;
  type.cls = DatatypeClass::String;
  type.size = size;
  type.padding = padding;
  type.charset = charset;
  return shared(type);
}

struct Named {
  std::string name;
  std::uint32_t offset;
  DatatypePtr type;
};
DatatypePtr compound(std::uint32_t size, const std::vector<Named>& members) {
  Datatype type;
  type.cls = DatatypeClass::Compound;
  type.size = size;
  for (const Named& member : members) type.members.push_back({member.name, member.offset, member.type});
  return shared(type);
}

DatatypePtr array(const DatatypePtr& base, std::vector<std::uint32_t> dims) {
  Datatype type;
  type.cls = DatatypeClass::Array;
  type.size = base->size;
  for (const std::uint32_t dim : dims) type.size *= dim;
  type.dims = std::move(dims);
  type.base = base;
  return shared(type);
}

DatatypePtr enumeration(const DatatypePtr& base, const std::vector<std::pair<std::string, int>>& members) {
  Datatype type;
  type.cls = DatatypeClass::Enum;
  type.size = base->size;
  type.base = base;
  for (const auto& [name, value] : members)
    type.enum_members.push_back({name, std::vector<std::byte>(base->size, static_cast<std::byte>(value))});
  return shared(type);
}

DatatypePtr opaque(std::uint32_t size, std::string tag) {
  Datatype type;
  type.cls = DatatypeClass::Opaque;
  type.size = size;
  type.tag = std::move(tag);
  return shared(type);
}

template <class Value>
std::vector<std::byte> bytes_of(const std::vector<Value>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}
std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

bool same_types(const DatatypePtr& a, const DatatypePtr& b) {
  return ElementComparison::make(a, b, {}) != nullptr;
}

using Numbers = std::vector<std::uint64_t>;

// The numbers of the elements that differ; {99}: the types do.
Numbers differing(const DatatypePtr& type_a, const std::vector<std::byte>& a, const DatatypePtr& type_b,
                  const std::vector<std::byte>& b, const Tolerance& tolerance = {}) {
  const auto comparison = ElementComparison::make(type_a, type_b, tolerance);
  if (!comparison) return {99};
  const Unbounded unbounded;
  RequestBudget budget(RequestBudget::unbounded());
  const text::ValueContext context{{}, budget};
  ElementComparison::Work work{context, context};
  ElementComparison::Differing out{.most = 1000};
  const Status done = comparison->compare(a, b, 0, work, out);
  EXPECT_TRUE(done);
  EXPECT_FALSE(work.failure_a || work.failure_b);
  EXPECT_EQ(out.count, out.numbers.size());
  return out.numbers;
}
template <class Value>
Numbers differing(const DatatypePtr& type, const std::vector<Value>& a, const std::vector<Value>& b,
                  const Tolerance& tolerance = {}) {
  return differing(type, bytes_of(a), type, bytes_of(b), tolerance);
}

TEST(ElementComparison, ClassSizeAndSignAreTheTypeAndByteOrderIsNot) {
  EXPECT_TRUE(same_types(integer(4), integer(4, true, kBig)));
  EXPECT_FALSE(same_types(integer(4), integer(8)));
  EXPECT_FALSE(same_types(integer(4), integer(4, false)));
  EXPECT_FALSE(same_types(integer(4), float_type(4, kLittle)));
  EXPECT_FALSE(same_types(float_type(4, kLittle), float_type(8, kLittle)));
  EXPECT_TRUE(same_types(string(4, format::StringPadding::NullPad),
                         string(9, format::StringPadding::SpacePad, format::CharacterSet::Utf8)));
  EXPECT_FALSE(same_types(string(4, format::StringPadding::NullPad), opaque(4, "")));
  EXPECT_FALSE(same_types(opaque(4, "a"), opaque(4, "b")));
  EXPECT_FALSE(same_types(opaque(4, "a"), opaque(5, "a")));
  EXPECT_FALSE(same_types(array(integer(4), {6}), array(integer(4), {2, 3})));
  EXPECT_FALSE(same_types(array(integer(4), {6}), array(integer(8), {6})));
  EXPECT_TRUE(same_types(enumeration(integer(1), {{"A", 0}}), enumeration(integer(1), {{"B", 0}})));
  EXPECT_FALSE(same_types(enumeration(integer(1), {{"A", 0}}), integer(1)));
}

TEST(ElementComparison, MembersOfCompoundsAreNamesInTheirOrder) {
  const auto type = compound(8, {{"a", 0, integer(4)}, {"b", 4, float_type(4, kLittle)}});
  const auto padded = compound(20, {{"a", 12, integer(4, true, kBig)}, {"b", 1, float_type(4, kLittle)}});
  const auto other_order = compound(8, {{"b", 4, float_type(4, kLittle)}, {"a", 0, integer(4)}});
  const auto other_name = compound(8, {{"a", 0, integer(4)}, {"c", 4, float_type(4, kLittle)}});
  const auto other_size = compound(8, {{"a", 0, integer(2)}, {"b", 4, float_type(4, kLittle)}});
  EXPECT_TRUE(same_types(type, padded));
  EXPECT_FALSE(same_types(type, other_order));
  EXPECT_FALSE(same_types(type, other_name));
  EXPECT_FALSE(same_types(type, other_size));
  EXPECT_FALSE(same_types(type, compound(4, {{"a", 0, integer(4)}})));
  EXPECT_FALSE(ElementComparison::make(type, padded, {})->bytes_decide());
  // The bytes between members are nobody's.
  std::vector<std::byte> a = bytes_of(std::vector<std::int32_t>{7, 0}), b(20, std::byte{0x55});
  std::fill(b.begin() + 1, b.begin() + 5, std::byte{0});
  const std::byte seven[] = {std::byte{0}, std::byte{0}, std::byte{0}, std::byte{7}};
  std::copy_n(seven, 4, b.begin() + 12);
  EXPECT_EQ(differing(type, a, padded, b), Numbers());
  b[15] = std::byte{8};
  EXPECT_EQ(differing(type, a, padded, b), Numbers{0});
}

TEST(ElementComparison, NanEqualsNanAndZeroMinusZero) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const auto other_nan = std::bit_cast<double>(std::uint64_t{0xFFF8'0000'0000'0001});
  EXPECT_EQ(differing<double>(float_type(8, kLittle), {nan, 0.0, inf, nan, inf, 1},
                              {other_nan, -0.0, inf, 1, -inf, 1 + 1e-15}),
            (Numbers{3, 4, 5}));
  const Tolerance wide{.absolute = 1e300, .relative = 0.5};
  EXPECT_EQ(differing<double>(float_type(8, kLittle), {nan, inf, 1, inf, nan}, {1, 1, inf, inf, nan}, wide),
            (Numbers{0, 1, 2}));
  EXPECT_EQ(differing<float>(float_type(4, kLittle), {1.0F, -0.0F}, {1.0000001F, 0.0F}), Numbers{0});
}

TEST(ElementComparison, EitherToleranceIsEnough) {
  const auto type = float_type(8, kLittle);
  EXPECT_EQ(differing<double>(type, {100, 100, 1, 0}, {101, 99, 1.5, 0.5}, {.absolute = 0.5}),
            (Numbers{0, 1}));
  EXPECT_EQ(differing<double>(type, {100, -100, 1, 0}, {101, -101, 1.5, 0.5}, {.relative = 0.01}),
            (Numbers{2, 3}));
  EXPECT_EQ(differing<double>(type, {100, 1, 0}, {101, 1.5, 0.6}, {.absolute = 0.5, .relative = 0.01}),
            Numbers{2});
  // Relative to the first side.
  EXPECT_EQ(differing<double>(type, {2, 1}, {1, 2}, {.relative = 0.5}), Numbers{1});
}

TEST(ElementComparison, IntegersAreExactWhereTheirDifferenceIsLarge) {
  constexpr std::int64_t kLow = std::numeric_limits<std::int64_t>::min(), kHigh = -(kLow + 1);
  EXPECT_EQ(differing<std::int64_t>(integer(8), {kHigh, kLow, kLow}, {kHigh - 1, kLow + 1, kHigh}),
            (Numbers{0, 1, 2}));
  EXPECT_EQ(
      differing<std::int64_t>(integer(8), {kHigh, kLow, kLow}, {kHigh - 1, kLow + 2, kHigh}, {.absolute = 1}),
      (Numbers{1, 2}));
  EXPECT_EQ(differing<std::int64_t>(integer(8), {kLow}, {kHigh}, {.absolute = 0x1p64}), Numbers());
  EXPECT_EQ(differing<std::uint64_t>(integer(8, false), {~0ULL, ~0ULL, 0}, {~0ULL - 1, 0, ~0ULL},
                                     {.absolute = 1.5}),
            (Numbers{1, 2}));
  EXPECT_EQ(differing<std::int8_t>(integer(1), {-128, 100, 10}, {127, 110, 9}, {.relative = 0.1}),
            Numbers{0});
  EXPECT_EQ(differing<std::int32_t>(integer(4), {10, 10}, {13, 14}, {.relative = 0.3}), Numbers{1});
}

TEST(ElementComparison, PrecisionOffsetAndPaddingDoNotMatter) {
  Datatype twelve = *integer(2);
  twelve.bit_precision = 12;
  twelve.bit_offset = 4;
  const auto type = shared(twelve);
  EXPECT_EQ(differing(integer(2), bytes_of(std::vector<std::int16_t>{-2, 5, 5}), type,
                      bytes_of(std::vector<std::uint16_t>{0xFFE7, 0x005F, 0x006F})),
            Numbers{2});
  Datatype bits = *integer(2, false, kBig);
  bits.cls = DatatypeClass::Bitfield;
  Datatype little = bits;
  little.order = kLittle;
  EXPECT_EQ(differing(shared(bits), bytes_of(std::string_view("\x01\x02\x01\x02", 4)), shared(little),
                      bytes_of(std::string_view("\x02\x01\x01\x02", 4)), {.absolute = 1000}),
            Numbers{1});
}

TEST(ElementComparison, LongIntegersAndFloatsOfOtherFormats) {
  const auto wide = shared([] {
    Datatype type = *integer(8);
    type.size = 16;
    type.bit_precision = 128;
    return type;
  }());
  const std::vector<std::uint64_t> a = {0, 1, 5, 0}, b = {1, 1, 7, 0};
  EXPECT_EQ(differing(wide, a, b), (Numbers{0, 1}));
  EXPECT_EQ(differing(wide, a, b, {.absolute = 2}), Numbers());
  const auto half = float_type(2, kLittle);
  EXPECT_EQ(differing<std::uint16_t>(half, {0x3C00, 0x8000, 0x7E00, 0x0001}, {0x3C01, 0, 0x7E01, 0x0002}),
            (Numbers{0, 3}));
  EXPECT_EQ(differing<std::uint16_t>(half, {0x3C00, 0x0001}, {0x3C01, 0x0002}, {.absolute = 1e-7}),
            Numbers{0});
  Datatype extended = *float_type(8, kLittle);
  extended.size = 16;
  extended.bit_precision = 80;
  extended.sign_location = 79;
  extended.exponent_location = 64;
  extended.exponent_size = 15;
  extended.exponent_bias = 16383;
  extended.mantissa_size = 64;
  extended.normalization = format::MantissaNormalization::None;
  std::vector<std::byte> one(48), other(48);
  const long double values[] = {1.0L, -0.0L, 3.0L}, others[] = {1.0L + 0x1p-63L, 0.0L, 3.0L};
  for (std::size_t i = 0; i < 3; ++i) {
    std::memcpy(one.data() + 16 * i, &values[i], 10);
    std::memcpy(other.data() + 16 * i, &others[i], 10);
    other[16 * i + 15] = std::byte{1};
  }
  EXPECT_EQ(differing(shared(extended), one, shared(extended), other), Numbers{0});
  EXPECT_EQ(differing(shared(extended), one, shared(extended), other, {.absolute = 1e-18}), Numbers());
  Datatype quad = extended;
  quad.bit_precision = 128;
  quad.sign_location = 127;
  quad.exponent_location = 112;
  quad.mantissa_size = 112;
  quad.normalization = format::MantissaNormalization::Implied;
  std::vector<std::byte> third(16, std::byte{0x55});
  third[15] = std::byte{0x3F};
  third[14] = std::byte{0xFD};
  std::vector<std::byte> next = third;
  next[0] = std::byte{0x56};
  EXPECT_EQ(differing(shared(quad), third, shared(quad), next), Numbers{0});
  EXPECT_EQ(differing(shared(quad), third, shared(quad), third), Numbers());
  EXPECT_EQ(differing(shared(quad), third, shared(quad), next, {.relative = 1e-30}), Numbers());
  std::vector<std::byte> zero(16), minus(16);
  minus[15] = std::byte{0x80};
  EXPECT_EQ(differing(shared(quad), zero, shared(quad), minus), Numbers());
}

TEST(ElementComparison, StringsByTheirText) {
  using format::StringPadding;
  EXPECT_EQ(
      differing(string(4, StringPadding::NullTerminate), bytes_of(std::string_view("ab\0xabcdab\0\0", 12)),
                string(6, StringPadding::SpacePad), bytes_of(std::string_view("ab    abcd  abc   "))),
      Numbers{2});
}

TEST(ElementComparison, EnumerationsByNameAndUnnamedByNumber) {
  const auto a = enumeration(integer(1), {{"RED", 0}, {"GREEN", 1}});
  const auto b = enumeration(integer(1), {{"GREEN", 0}, {"RED", 1}, {"2", 5}});
  EXPECT_FALSE(ElementComparison::make(a, b, {})->bytes_decide());
  EXPECT_TRUE(ElementComparison::make(a, a, {})->bytes_decide());
  EXPECT_EQ(differing(a, bytes_of(std::vector<std::int8_t>{0, 1, 0, 7, 7, 2}), b,
                      bytes_of(std::vector<std::int8_t>{1, 0, 0, 7, 8, 5})),
            (Numbers{2, 4, 5}));
  // No tolerance makes one name another.
  EXPECT_EQ(differing(a, bytes_of(std::vector<std::int8_t>{0}), a, bytes_of(std::vector<std::int8_t>{1}),
                      {.absolute = 5}),
            Numbers{0});
}

TEST(ElementComparison, ArraysAndComplexNumbersPartByPart) {
  const auto points = array(float_type(4, kLittle), {3});
  EXPECT_EQ(differing<float>(points, {1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 2, 3, 4, 5, 6.5, 7, 8.25, 9},
                             {.absolute = 0.25}),
            Numbers{1});
  const auto long_row = array(integer(4), {700, 3});
  std::vector<std::int32_t> a(2 * 2100), b(2 * 2100);
  b[4199] = 1;
  EXPECT_EQ(differing(long_row, a, b), Numbers{1});
  Datatype complex;
  complex.cls = DatatypeClass::Complex;
  complex.size = 8;
  complex.base = float_type(4, kBig);
  EXPECT_EQ(differing<std::uint32_t>(shared(complex), {0, 0x0000803F, 0, 0}, {0x00000080, 0x0000803F, 0, 1}),
            Numbers{1});
}

TEST(ElementComparison, ManyElementsKeepTheirOrderAndTheCountIsExact) {
  std::vector<std::int32_t> a(5000), b(5000);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = i % 7 == 3 ? 1 : 0;
  const auto comparison = ElementComparison::make(integer(4), integer(4), {});
  RequestBudget budget(RequestBudget::unbounded());
  const text::ValueContext context{{}, budget};
  ElementComparison::Work work{context, context};
  ElementComparison::Differing out{.most = 3};
  ASSERT_TRUE(comparison->compare(bytes_of(a), bytes_of(b), 100, work, out));
  EXPECT_EQ(out.count, 714U);
  EXPECT_EQ(out.numbers, (Numbers{103, 110, 117}));
}

}  // namespace
}  // namespace h5mount::front
