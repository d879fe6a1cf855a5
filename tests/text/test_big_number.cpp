// Numbers of any size, held against arithmetic of 128 bits and against decimal digits.
#include "../../src/text/big_number.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>

namespace h5mount::text {
namespace {

__extension__ using Wide = unsigned __int128;

BigNumber big(Wide value) {
  std::array<std::byte, sizeof value> bytes{};
  std::memcpy(bytes.data(), &value, sizeof value);
  return BigNumber::from_little_endian(bytes);
}

std::string decimal(Wide value) {
  std::string digits;
  do digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(value % 10)));
  while ((value /= 10) != 0);
  return digits;
}

// Few bits set, many, or about a limb's width: where carries and borrows are.
Wide any(std::mt19937_64& random) {
  const Wide bits = Wide{random()} << 64 | random();
  return (random() % 2 == 0 ? bits : ~Wide{0}) >> random() % 128;
}

TEST(BigNumber, IsAsNumbersOf128Bits) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 50'000; ++i) {
    const Wide a = any(random) >> 1, b = any(random) >> 1;
    BigNumber sum = big(a);
    sum.add(big(b));
    EXPECT_EQ(sum.to_decimal(), decimal(a + b));
    BigNumber difference = big(a + b);
    difference.subtract(big(a));
    EXPECT_TRUE(difference == big(b));
    EXPECT_EQ(big(a) <=> big(b), a <=> b);
    const std::uint64_t divisor = random() >> random() % 63 | 1;
    BigNumber quotient = big(a);
    EXPECT_EQ(quotient.divide(divisor), static_cast<std::uint64_t>(a % divisor));
    EXPECT_TRUE(quotient == big(a / divisor));
    EXPECT_EQ(big(a).is_odd(), a % 2 != 0);
    EXPECT_EQ(big(a).low_bits(), static_cast<std::uint64_t>(a));
    BigNumber product = big(a >> 64);
    product.multiply(divisor);
    EXPECT_TRUE(product == big((a >> 64) * divisor));
    if (testing::Test::HasFailure()) FAIL() << decimal(a) << " and " << decimal(b);
  }
}

TEST(BigNumber, PowersOfTenAndTwo) {
  for (std::uint32_t power = 0; power < 200; ++power) {
    BigNumber number(7);
    number.multiply_by_power_of_ten(power);
    EXPECT_EQ(number.to_decimal(), "7" + std::string(power, '0'));
    BigNumber shifted(1);
    shifted.shift_left(power);
    EXPECT_EQ(shifted.bit_width(), power + 1);
    for (std::uint32_t i = 0; i < power; ++i) EXPECT_EQ(shifted.divide(2), 0U);
    EXPECT_TRUE(shifted == BigNumber(1));
  }
}

TEST(BigNumber, Zero) {
  BigNumber zero(0);
  zero.multiply(5);
  zero.multiply_by_power_of_ten(30);
  zero.shift_left(500);
  EXPECT_TRUE(zero.is_zero());
  EXPECT_EQ(zero.bit_width(), 0U);
  EXPECT_EQ(zero.to_decimal(), "0");
  EXPECT_TRUE(BigNumber::from_little_endian({}) == zero);
}

}  // namespace
}  // namespace h5mount::text
