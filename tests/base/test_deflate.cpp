// Streams of zlib and gzip, whichever library reads them: what zlib makes, what is damaged, and where a
// stream ends.
#include <gtest/gtest.h>
#include <zlib.h>

#include <random>
#include <vector>

#include "h5mount/base/deflate.h"

namespace h5mount {
namespace {

using Bytes = std::vector<std::byte>;

Bytes some_text(std::size_t size) {
  std::mt19937 random(size);
  Bytes out(size);
  for (std::byte& byte : out) byte = static_cast<std::byte>(random() % 7 == 0 ? random() : 'a');
  return out;
}

Bytes zlib_stream(const Bytes& plain, int level = 6) {
  uLongf size = compressBound(plain.size());
  Bytes out(size);
  EXPECT_EQ(compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                      reinterpret_cast<const Bytef*>(plain.data()), plain.size(), level),
            Z_OK);
  out.resize(size);
  return out;
}

TEST(Deflate, WhatZlibMakesIsDecodedAtEveryLevelAndSize) {
  for (const std::size_t size : {0U, 1U, 3U, 300U, 65535U, 65536U, 200'000U})
    for (const int level : {0, 1, 6, 9}) {
      const Bytes plain = some_text(size), stream = zlib_stream(plain, level);
      Bytes out(size + 5);
      for (const std::size_t room : {size, size + 5}) {  // its own size, and more
        const Inflated done = inflate_zlib(stream, MutableByteSpan(out).first(room));
        ASSERT_EQ(done.end, InflateEnd::Whole) << size << " " << level << " " << room;
        EXPECT_EQ(done.used, stream.size());
        EXPECT_EQ(done.made, size);
        EXPECT_TRUE(std::equal(plain.begin(), plain.end(), out.begin()));
      }
      if (size == 0) continue;
      EXPECT_EQ(inflate_zlib(stream, MutableByteSpan(out).first(size - 1)).end, InflateEnd::TooLarge)
          << size << " " << level;
    }
}

TEST(Deflate, WhatFollowsAStreamIsNotItsOwn) {
  const Bytes plain = some_text(1000);
  Bytes stream = zlib_stream(plain);
  const std::size_t length = stream.size();
  stream.resize(length + 100, std::byte{0x78});
  Bytes out(1000);
  const Inflated done = inflate_zlib(stream, out);
  EXPECT_EQ(done.end, InflateEnd::Whole);
  EXPECT_EQ(done.used, length);
  EXPECT_EQ(out, plain);
}

TEST(Deflate, DamageIsToldWhereverItIs) {
  const Bytes plain = some_text(1000), stream = zlib_stream(plain);
  Bytes out(1000);
  const auto ends = [&](ByteSpan in) { return inflate_zlib(in, out).end; };
  for (std::size_t length = 0; length < stream.size(); ++length)
    EXPECT_NE(ends(ByteSpan(stream).first(length)), InflateEnd::Whole) << length;
  Bytes other = stream;
  other.back() ^= std::byte{1};  // of the checksum
  EXPECT_EQ(ends(other), InflateEnd::Damaged);
  other = stream;
  other[0] = std::byte{0x79};  // another method
  EXPECT_EQ(ends(other), InflateEnd::Damaged);
  other = stream;
  other[2] |= std::byte{6};  // a kind of block that there is not
  EXPECT_EQ(ends(other), InflateEnd::Damaged);
  EXPECT_EQ(ends(stream), InflateEnd::Whole);  // after the others
}

TEST(Deflate, GzipGivesTheTextBack) {
  for (const std::size_t size : {0U, 1U, 1000U, 200'000U}) {
    const Bytes plain = some_text(size);
    const auto member = to_gzip(as_text(plain));
    ASSERT_TRUE(member);
    EXPECT_TRUE(member->starts_with("\x1f\x8b"));
    if (size > 100) EXPECT_LT(member->size(), size);
    EXPECT_EQ(from_gzip(*member), std::string(as_text(plain)));
    std::string damaged = *member;
    damaged[damaged.size() - 5] ^= 1;  // of the checksum
    EXPECT_EQ(from_gzip(damaged), std::nullopt);
    EXPECT_EQ(from_gzip(member->substr(0, 3)), std::nullopt);
  }
}

TEST(Deflate, ZlibGivesTheBytesBack) {
  for (const std::size_t size : {0U, 1U, 1000U, 200'000U}) {
    const Bytes plain = some_text(size);
    const auto stream = to_zlib(plain);
    ASSERT_TRUE(stream);
    Bytes back(size);
    const Inflated done = inflate_zlib(as_bytes(*stream), back);
    EXPECT_EQ(done.end, InflateEnd::Whole);
    EXPECT_EQ(back, plain);
  }
}

// `printf h5mount | gzip -9n`
TEST(Deflate, WhatGzipMakesIsRead) {
  constexpr std::string_view kMember(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xcb\x30\xcd\xcd\x2f\xcd\x2b\x01\x00\xfc\x46\x49\x8d\x07\x00"
      "\x00\x00",
      27);
  EXPECT_EQ(from_gzip(kMember), "h5mount");
}

}  // namespace
}  // namespace h5mount
