#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <string_view>

#include "../../src/view/zarr/number_forms.h"
#include "h5mount/dataset/converted_dataset.h"

namespace h5mount::test {
namespace {

using dataset::float_type;
using format::ByteOrder;
using format::Datatype;

double value_of(std::uint32_t bytes, std::uint32_t bits) {
  std::array<std::byte, 4> little{}, big{};
  for (std::uint32_t i = 0; i < bytes; ++i)
    little[i] = big[bytes - 1 - i] = static_cast<std::byte>(bits >> (8 * i) & 0xFF);
  const auto one = view::exact_double(*float_type(bytes, ByteOrder::Little), ByteSpan(little).first(bytes));
  const auto other = view::exact_double(*float_type(bytes, ByteOrder::Big), ByteSpan(big).first(bytes));
  EXPECT_TRUE(one && other);
  if (!one || !other) return 0;
  EXPECT_EQ(std::bit_cast<std::uint64_t>(*one), std::bit_cast<std::uint64_t>(*other));
  return *one;
}

TEST(NumberForms, FloatsAreTheirExactDoubles) {
  EXPECT_EQ(value_of(4, std::bit_cast<std::uint32_t>(0.1F)), 0.10000000149011612);
  EXPECT_EQ(value_of(4, 0xFF80'0000), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(value_of(4, 0x7FC0'0000)));
}

TEST(NumberForms, HalvesAreTheirExactDoubles) {
  EXPECT_EQ(value_of(2, 0x3C00), 1.0);
  EXPECT_EQ(value_of(2, 0x2E66), 0.0999755859375);
  EXPECT_EQ(value_of(2, 0xC000), -2.0);
  EXPECT_EQ(value_of(2, 0x7BFF), 65504.0);
  EXPECT_EQ(value_of(2, 0x0400), std::ldexp(1, -14));
  EXPECT_EQ(value_of(2, 0x0001), std::ldexp(1, -24));
  EXPECT_TRUE(std::signbit(value_of(2, 0x8000)));
  EXPECT_EQ(value_of(2, 0x7C00), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(value_of(2, 0x7C01)));
}

TEST(NumberForms, OtherTypesAreNone) {
  EXPECT_FALSE(view::exact_double(*float_type(8, ByteOrder::Little), std::array<std::byte, 8>{}));
  Datatype integer;
  integer.size = 4;
  EXPECT_FALSE(view::exact_double(integer, std::array<std::byte, 4>{}));
  EXPECT_FALSE(view::exact_double(*float_type(4, ByteOrder::Little), std::array<std::byte, 3>{}));
}

// RFC 4648, 10
TEST(NumberForms, Base64) {
  const auto coded = [](std::string_view text) { return view::base64(std::as_bytes(std::span(text))); };
  EXPECT_EQ(coded(""), "\"\"");
  EXPECT_EQ(coded("f"), "\"Zg==\"");
  EXPECT_EQ(coded("fo"), "\"Zm8=\"");
  EXPECT_EQ(coded("foobar"), "\"Zm9vYmFy\"");
}

}  // namespace
}  // namespace h5mount::test
