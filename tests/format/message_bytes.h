// Messages as literal bytes, and checks that apply to every decoder.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "h5mount/format/cursor.h"

namespace h5mount::test {

using Bytes = std::vector<std::byte>;
inline constexpr std::uint64_t kAt = 0x1000;  // file offset of the message

inline Bytes bytes(std::initializer_list<int> values) {
  Bytes out;
  for (const int v : values) out.push_back(static_cast<std::byte>(v));
  return out;
}

inline Bytes joined(std::initializer_list<Bytes> parts) {
  Bytes out;
  for (const Bytes& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

inline Bytes repeated(const Bytes& part, std::size_t times) {
  Bytes out;
  for (std::size_t i = 0; i < times; ++i) out.insert(out.end(), part.begin(), part.end());
  return out;
}

inline Bytes little(std::uint64_t value, std::size_t width) {
  Bytes out;
  for (std::size_t i = 0; i < width; ++i) out.push_back(static_cast<std::byte>(value >> (8 * i)));
  return out;
}

template <class Decode>
auto decode_all(const Bytes& whole, Decode decode) {
  format::Cursor cursor(whole, kAt, "Test", {});
  return decode(cursor);
}

// Decodes `whole` cut at every length: each must be an error, and no read may exceed the cut.
template <class Decode>
void expect_every_cut_to_fail(const Bytes& whole, Decode decode) {
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const Bytes part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
    EXPECT_FALSE(decode_all(part, decode)) << "cut at " << n;
  }
}

// One changed byte of a valid message and the expected error: code, field, and offset of the field.
struct Lie {
  std::string what;
  Bytes whole;
  std::size_t at;
  int value;
  ErrorCode code;
  std::string field;
  std::size_t field_at;
};

// Expects that a message is rejected.
template <class Decode>
void expect_refused_whole(const Bytes& whole, ErrorCode code, std::string_view field, std::size_t field_at,
                          Decode decode) {
  const auto refused = decode_all(whole, decode);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), code) << refused.error().text();
  EXPECT_EQ(refused.error().field(), field) << refused.error().text();
  EXPECT_EQ(refused.error().offset(), kAt + field_at) << refused.error().text();
}

template <class Decode>
void expect_refusal(const Lie& lie, Decode decode) {
  EXPECT_TRUE(decode_all(lie.whole, decode)) << lie.what << ": not sound to begin with";
  Bytes lying = lie.whole;
  lying.at(lie.at) = static_cast<std::byte>(lie.value);
  const auto refused = decode_all(lying, decode);
  ASSERT_FALSE(refused) << lie.what;
  EXPECT_EQ(refused.error().code(), lie.code) << lie.what << ": " << refused.error().text();
  EXPECT_EQ(refused.error().structure(), "Test") << lie.what << ": " << refused.error().text();
  EXPECT_EQ(refused.error().field(), lie.field) << lie.what << ": " << refused.error().text();
  EXPECT_EQ(refused.error().offset(), kAt + lie.field_at) << lie.what << ": " << refused.error().text();
}

}  // namespace h5mount::test
