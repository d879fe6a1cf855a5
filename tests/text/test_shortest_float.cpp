// The text of floats is that of std::to_chars, with ".0" behind whole numbers; those up to 2^53 are written
// in full, larger ones with no more digits than the value needs.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "h5mount/text/shortest_float.h"

namespace h5mount::test {
namespace {

// Of the digits before an exponent: how many, without the zeros that end them.
std::size_t digits_of(std::string text) {
  text.resize(std::min(text.find('e'), text.size()));
  std::erase_if(text, [](char c) { return c < '0' || c > '9'; });
  return text.find_last_not_of('0') + 1;
}

template <class Float>
std::string expected_text(Float value) {
  char buffer[64];
  if (std::abs(value) <= std::ldexp(Float{1}, 53) && std::floor(value) == value)
    return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed, 1).ptr};
  std::string out(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
  if (std::abs(value) > std::ldexp(Float{1}, 53)) {
    const std::string shortest(
        buffer, std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr);
    if (digits_of(shortest) < digits_of(out)) return shortest;
  }
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

template <class Float>
std::string text_of(Float value) {
  char buffer[text::kFloatTextRoom];
  return {buffer, text::write_float(value, buffer)};
}

template <class Float, class Bits>
void compare_with_to_chars() {
  using Limits = std::numeric_limits<Float>;
  std::mt19937_64 random(20);
  for (const Float value :
       {Float{0}, -Float{0}, Float{1}, Float(-0.1), Float(1e15), Float(1e16), Float(1e22), Float(123456e-10),
        Float(0.0001), Float(0.00001), Limits::max(), Limits::lowest(), Limits::min(), Limits::denorm_min()})
    EXPECT_EQ(text_of(value), expected_text(value));
  for (int i = 0; i < 200'000; ++i) {
    const auto bits = random();
    const Float values[] = {
        std::bit_cast<Float>(static_cast<Bits>(bits)),         // any
        static_cast<Float>(bits >> (bits % 64)),               // whole
        static_cast<Float>(static_cast<std::int32_t>(bits)) /  // few digits
            static_cast<Float>(std::pow(10.0, static_cast<double>(bits % 13))),
    };
    for (const Float value : values)
      if (std::isfinite(value)) ASSERT_EQ(text_of(value), expected_text(value));
  }
}

TEST(ShortestFloat, IsThatOfToChars) {
  compare_with_to_chars<double, std::uint64_t>();
  compare_with_to_chars<float, std::uint32_t>();
}

TEST(ShortestFloat, LargeWholeNumbersHaveNoMoreDigitsThanTheyNeed) {
  EXPECT_EQ(text_of(784746197155102720000.0), "7.847461971551027e+20");
  EXPECT_EQ(text_of(-1152921504606846976.0), "-1.152921504606847e+18");
  EXPECT_EQ(text_of(1e22), "1e+22");
  EXPECT_EQ(text_of(1e22F), "1e+22");
  EXPECT_EQ(text_of(9007200328482816.0F), "9.0072e+15");
}

TEST(ShortestFloat, WholeNumbersUpTo2To53AreWrittenInFull) {
  EXPECT_EQ(text_of(9007199254740992.0), "9007199254740992.0");
  EXPECT_EQ(text_of(-9007199254740992.0F), "-9007199254740992.0");
  EXPECT_EQ(text_of(1700000128.0F), "1700000128.0");
  EXPECT_EQ(text_of(123456790528.0F), "123456790528.0");
  EXPECT_EQ(text_of(16777300.0F), "16777300.0");
  EXPECT_EQ(text_of(1e5), "100000.0");
  EXPECT_EQ(text_of(-1e15F), "-999999986991104.0");
  EXPECT_EQ(text_of(1500.0), "1500.0");
  EXPECT_EQ(text_of(0.1F), "0.1");
  EXPECT_EQ(text_of(16777216.5), "16777216.5");
}

}  // namespace
}  // namespace h5mount::test
