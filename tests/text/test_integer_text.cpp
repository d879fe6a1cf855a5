// Integers in decimal against std::to_chars.
#include <gtest/gtest.h>

#include <array>
#include <charconv>
#include <limits>
#include <random>
#include <string>

#include "h5mount/text/integer_text.h"

namespace h5mount::text {
namespace {

template <class Integer>
void expect_as_to_chars(Integer value) {
  std::array<char, kIntegerTextRoom> expected{};
  const auto end = std::to_chars(expected.data(), expected.data() + expected.size(), value).ptr;
  const std::string wanted(expected.data(), end);
  std::array<char, kIntegerTextRoom + 8> made{};
  made.fill('#');
  char* const written = write_integer(value, made.data());
  ASSERT_EQ(std::string(made.data(), written), wanted);
  const std::size_t room = std::max(wanted.size(), kMinIntegerRoom);
  for (std::size_t i = wanted.size(); i < room; ++i)
    ASSERT_TRUE(made[i] == ' ' || made[i] == '#') << wanted << " at " << i;
  for (std::size_t i = room; i < made.size(); ++i) ASSERT_EQ(made[i], '#') << wanted << " at " << i;
}

template <class Integer>
void expect_all_lengths() {
  using Limits = std::numeric_limits<Integer>;
  expect_as_to_chars(Limits::min());
  expect_as_to_chars(Limits::max());
  std::mt19937_64 random(1);
  for (int bits = 0; bits < 64; ++bits)
    for (int i = 0; i < 2000; ++i) expect_as_to_chars(static_cast<Integer>(random() >> bits));
  for (std::uint64_t power = 1; power != 0; power = power > ~std::uint64_t{0} / 10 ? 0 : power * 10)
    for (const std::uint64_t near : {power - 1, power, power + 1}) {
      expect_as_to_chars(static_cast<Integer>(near));
      expect_as_to_chars(static_cast<Integer>(0 - near));
    }
}

TEST(IntegerText, IsThatOfToChars) {
  expect_all_lengths<std::int8_t>();
  expect_all_lengths<std::uint8_t>();
  expect_all_lengths<std::int16_t>();
  expect_all_lengths<std::uint16_t>();
  expect_all_lengths<std::int32_t>();
  expect_all_lengths<std::uint32_t>();
  expect_all_lengths<std::int64_t>();
  expect_all_lengths<std::uint64_t>();
}

TEST(IntegerText, EveryGroupOfDigitsIsRight) {
  for (std::uint64_t four = 0; four < 10'000; ++four) {
    expect_as_to_chars(four * 10'000 + (9'999 - four));
    expect_as_to_chars(four * 1'000'000'000'000 + four);
  }
}

}  // namespace
}  // namespace h5mount::text
