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
struct InvalidByte {
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
void expect_rejected_whole(const Bytes& whole, ErrorCode code, std::string_view field, std::size_t field_at,
                           Decode decode) {
  const auto rejected = decode_all(whole, decode);
  ASSERT_FALSE(rejected);
  EXPECT_EQ(rejected.error().code(), code) << rejected.error().text();
  EXPECT_EQ(rejected.error().field(), field) << rejected.error().text();
  EXPECT_EQ(rejected.error().offset(), kAt + field_at) << rejected.error().text();
}

template <class Decode>
void expect_rejected(const InvalidByte& invalid, Decode decode) {
  EXPECT_TRUE(decode_all(invalid.whole, decode)) << invalid.what << ": not valid before the change";
  Bytes changed = invalid.whole;
  changed.at(invalid.at) = static_cast<std::byte>(invalid.value);
  const auto rejected = decode_all(changed, decode);
  ASSERT_FALSE(rejected) << invalid.what;
  EXPECT_EQ(rejected.error().code(), invalid.code) << invalid.what << ": " << rejected.error().text();
  EXPECT_EQ(rejected.error().structure(), "Test") << invalid.what << ": " << rejected.error().text();
  EXPECT_EQ(rejected.error().field(), invalid.field) << invalid.what << ": " << rejected.error().text();
  EXPECT_EQ(rejected.error().offset(), kAt + invalid.field_at)
      << invalid.what << ": " << rejected.error().text();
}

}  // namespace h5mount::test
