#include "element_conversion.h"

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

}  // namespace
}  // namespace h5mount::dataset
