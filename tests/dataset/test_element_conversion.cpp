#include "convert/element_conversion.h"
#include "convert/type_conversion.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace h5mount::dataset {
namespace {

format::DatatypePtr integer(std::uint32_t size, bool is_signed,
                            format::ByteOrder order = format::ByteOrder::Little) {
  auto t = std::make_shared<format::Datatype>();
  t->cls = format::DatatypeClass::Integer;
  t->size = size;
  t->bit_precision = static_cast<std::uint16_t>(8 * size);
  t->is_signed = is_signed;
  t->order = order;
  return t;
}

format::DatatypePtr floating(std::uint32_t size, format::ByteOrder order = format::ByteOrder::Little) {
  auto t = std::make_shared<format::Datatype>();
  t->cls = format::DatatypeClass::Float;
  t->size = size;
  t->order = order;
  t->bit_precision = static_cast<std::uint16_t>(8 * size);
  t->normalization = format::MantissaNormalization::Implied;
  t->mantissa_size = size == 8 ? 52 : size == 4 ? 23 : 10;
  t->exponent_size = size == 8 ? 11 : size == 4 ? 8 : 5;
  t->exponent_location = t->mantissa_size;
  t->sign_location = static_cast<std::uint8_t>(8 * size - 1);
  t->exponent_bias = size == 8 ? 1023 : size == 4 ? 127 : 15;
  return t;
}

template <class To, class From>
To converted(const format::DatatypePtr& from, const format::DatatypePtr& to, From value) {
  const auto c = ElementConversion::make(from, to);
  EXPECT_TRUE(c);
  To out{};
  c->convert(1, std::as_bytes(std::span(&value, 1)), std::as_writable_bytes(std::span(&out, 1)));
  return out;
}

TEST(ElementConversion, IntegersClip) {
  EXPECT_EQ((converted<std::int8_t, std::int32_t>(integer(4, true), integer(1, true), 1000)), 127);
  EXPECT_EQ((converted<std::int8_t, std::int32_t>(integer(4, true), integer(1, true), -1000)), -128);
  EXPECT_EQ((converted<std::uint16_t, std::int32_t>(integer(4, true), integer(2, false), -5)), 0);
  EXPECT_EQ((converted<std::int64_t, std::uint32_t>(integer(4, false), integer(8, true), 4000000000U)),
            4000000000LL);
  EXPECT_EQ((converted<std::uint16_t, std::uint16_t>(integer(2, false),
                                                     integer(2, false, format::ByteOrder::Big), 0x1234)),
            0x3412);
}

TEST(ElementConversion, FloatsAndIntegers) {
  EXPECT_EQ((converted<double, std::int32_t>(integer(4, true), floating(8), -7)), -7.0);
  EXPECT_EQ((converted<std::int32_t, double>(floating(8), integer(4, true), -7.9)), -7);
  EXPECT_EQ((converted<std::int32_t, double>(floating(8), integer(4, true), 1e300)),
            std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ((converted<float, double>(floating(8), floating(4), 0.1)), 0.1F);
  EXPECT_EQ((converted<double, float>(floating(4), floating(8), 0.1F)), static_cast<double>(0.1F));
  EXPECT_TRUE(std::isnan(converted<float, double>(floating(8), floating(4), std::nan(""))));
  EXPECT_EQ((converted<std::uint16_t, float>(floating(4), floating(2), 1.5F)), 0x3E00);
  EXPECT_EQ((converted<std::uint16_t, float>(floating(4), floating(2), 1e9F)), 0x7C00);  // infinity
  EXPECT_EQ((converted<std::uint16_t, float>(floating(4), floating(2), 5.9604645e-8F)),
            0x0001);  // least subnormal
  EXPECT_EQ((converted<float, std::uint16_t>(floating(2), floating(4), 0x0001)), 5.9604645e-8F);
}

TEST(ElementConversion, SameTypeIsTheBytes) {
  EXPECT_TRUE(ElementConversion::make(integer(4, true), integer(4, true))->identity());
  EXPECT_FALSE(ElementConversion::make(integer(4, true), integer(4, false))->identity());
  auto opaque = std::make_shared<format::Datatype>();
  opaque->cls = format::DatatypeClass::Opaque;
  opaque->size = 4;
  EXPECT_FALSE(ElementConversion::make(opaque, integer(4, true)));
}

TEST(ElementConversion, StringsAreCutAndPadded) {
  auto from = std::make_shared<format::Datatype>();
  from->cls = format::DatatypeClass::String;
  from->size = 6;
  from->padding = format::StringPadding::SpacePad;
  auto to = std::make_shared<format::Datatype>(*from);
  to->size = 4;
  to->padding = format::StringPadding::NullTerminate;
  const auto c = ElementConversion::make(from, to);
  ASSERT_TRUE(c);
  std::vector<std::byte> out(8);
  c->convert(2, as_bytes("ab    abcdef"), out);
  EXPECT_EQ(as_text(out), std::string_view("ab\0\0abc\0", 8));
}

format::DatatypePtr bits(std::uint32_t size, format::ByteOrder order, std::uint16_t offset = 0,
                         std::uint16_t precision = 0) {
  auto t = std::make_shared<format::Datatype>(*integer(size, false, order));
  t->cls = format::DatatypeClass::Bitfield;
  t->bit_offset = offset;
  if (precision != 0) t->bit_precision = precision;
  return t;
}

TEST(ElementConversion, BitFieldsKeepTheirLowerBits) {
  constexpr auto kBig = format::ByteOrder::Big, kLittle = format::ByteOrder::Little;
  EXPECT_EQ((converted<std::uint32_t, std::uint16_t>(bits(2, kBig), bits(4, kLittle), 0x3412)), 0x1234U);
  EXPECT_EQ((converted<std::uint8_t, std::uint16_t>(bits(2, kLittle), bits(1, kLittle), 0x1234)), 0x34U);
  EXPECT_EQ((converted<std::uint16_t, std::uint16_t>(bits(2, kLittle), bits(2, kLittle, 4, 8), 0x1234)),
            0x0340U);
  auto padded = std::make_shared<format::Datatype>(*bits(2, kLittle, 4, 8));
  padded->low_pad = padded->high_pad = true;
  EXPECT_EQ((converted<std::uint16_t, std::uint16_t>(bits(2, kLittle), padded, 0x1234)), 0xF34FU);
}

format::DatatypePtr compound(std::uint32_t size, std::vector<format::CompoundMember> members) {
  auto t = std::make_shared<format::Datatype>();
  t->cls = format::DatatypeClass::Compound;
  t->size = size;
  t->members = std::move(members);
  return t;
}

format::DatatypePtr array(format::DatatypePtr base, std::uint32_t count) {
  auto t = std::make_shared<format::Datatype>();
  t->cls = format::DatatypeClass::Array;
  t->size = base->size * count;
  t->dims = {count};
  t->base = std::move(base);
  return t;
}

TEST(TypeConversion, CompoundsByTheNamesOfTheirMembers) {
  const auto big = format::ByteOrder::Big;
  const auto from = compound(6, {{"a", 0, integer(2, true)}, {"b", 2, array(integer(2, true), 2)}});
  const auto to = compound(
      13,
      {{"b", 0, array(integer(4, true, big), 2)}, {"z", 8, integer(1, true)}, {"a", 9, integer(4, true)}});
  const auto made = TypeConversion::make(from, to, {});
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_FALSE((*made)->identity());
  const std::vector<std::int16_t> in{1, 2, -3, 4, 5, 6};
  std::vector<std::byte> out(26, std::byte{0x77});  // what the source lacks stays
  ASSERT_TRUE((*made)->convert(2, std::as_bytes(std::span(in)), out));
  const std::vector<unsigned> expected{0, 0, 0, 2, 0xFF, 0xFF, 0xFF, 0xFD, 0x77, 1, 0, 0, 0,
                                       0, 0, 0, 5, 0,    0,    0,    6,    0x77, 4, 0, 0, 0};
  for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(std::to_integer<unsigned>(out[i]), expected[i]) << i;
}

TEST(TypeConversion, WhatHasNoConversionIsUnsupported) {
  const auto no = [](const format::DatatypePtr& from, const format::DatatypePtr& to) {
    const auto made = TypeConversion::make(from, to, {});
    return !made && made.error().code() == ErrorCode::UnsupportedFeature;
  };
  EXPECT_TRUE(no(array(integer(2, true), 2), array(integer(2, true), 3)));
  EXPECT_TRUE(no(array(integer(2, true), 1), integer(2, true)));
  EXPECT_TRUE(no(compound(2, {{"a", 0, integer(2, true)}}), integer(2, true)));
  EXPECT_TRUE(
      no(compound(2, {{"a", 0, integer(2, true)}}), compound(4, {{"a", 0, array(integer(2, true), 2)}})));
  EXPECT_FALSE(no(compound(2, {{"a", 0, integer(2, true)}}), compound(2, {{"b", 0, integer(2, true)}})));
}

}  // namespace
}  // namespace h5mount::dataset
