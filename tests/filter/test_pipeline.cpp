#include <zlib.h>

#include "bytes.h"
#include "fletcher32.h"
#include "h5mount/base/limits.h"

namespace h5mount::filter {
namespace {

using test::Bytes;
using test::decode;

Bytes deflated(const Bytes& data) {
  uLongf size = compressBound(data.size());
  Bytes out(size);
  compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(data.data()),
            data.size(), 6);
  out.resize(size);
  return out;
}

const FilterSpec kDeflate{1, "deflate", {6}};
const FilterSpec kShuffle4{2, "shuffle", {4}};
const FilterSpec kNobody{9999, "mystery", {}};

TEST(FilterPipeline, NoFiltersIsACopyOfTheRightSize) {
  const Bytes data = test::random_bytes(10, 1);
  EXPECT_EQ(*decode({}, data, 10), data);
  EXPECT_EQ(decode({}, data, 11).error().code(), ErrorCode::FilterFailed);
  EXPECT_EQ(decode({}, data, 9).error().code(), ErrorCode::FilterFailed);
}

TEST(FilterPipeline, UndoesLastToFirst) {
  const Bytes data = test::random_bytes(4096, 2);
  Bytes planes(4096);
  for (std::size_t i = 0; i < 1024; ++i) {
    for (std::size_t j = 0; j < 4; ++j) planes[j * 1024 + i] = data[i * 4 + j];
  }
  EXPECT_EQ(*decode({kShuffle4, kDeflate}, deflated(planes), 4096), data);
  EXPECT_EQ(*decode({kShuffle4, kDeflate, kDeflate, kDeflate}, deflated(deflated(deflated(planes))), 4096),
            data);
}

// Nested filters: each may give somewhat more than the chunk, all together only a few times as much.
TEST(FilterPipeline, WhatNestedFiltersGiveTogetherIsBounded) {
  constexpr std::size_t kChunk = 24U << 20;
  constexpr std::uint64_t kMax = limits::kMaxDecodedTimes * kChunk + limits::kMaxDecodedExtra;
  const auto nested = [&](int times) {
    Bytes stored(kChunk);
    for (int i = 0; i < times; ++i) {
      stored = deflated(stored);
      if (i + 1 < times) stored.resize(kChunk);  // bytes after a stream are ignored
    }
    return decode(std::vector<FilterSpec>(static_cast<std::size_t>(times), kDeflate), stored, kChunk);
  };
  constexpr int kFew = static_cast<int>(kMax / kChunk);  // all but the last filter give a chunk's size
  const auto few = nested(kFew);
  EXPECT_TRUE(few) << few.error().text();
  const auto many = nested(kFew + 3);
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().code(), ErrorCode::LimitExceeded);
}

TEST(FilterPipeline, SaysHowMuchItNeedsBetweenFilters) {
  constexpr std::size_t kChunk = 1U << 20;
  const auto needs = [&](std::vector<FilterSpec> specs) {
    return (*FilterPipeline::make(specs, kChunk))->scratch_bytes(kChunk);
  };
  const FilterSpec fletcher{3, "fletcher32", {}};
  EXPECT_EQ(needs({kDeflate}), 0U);
  EXPECT_EQ(needs({kDeflate, fletcher}), 0U) << "decodes in place";
  EXPECT_GE(needs({kShuffle4, kDeflate, fletcher}), kChunk);
  EXPECT_LT(needs({kShuffle4, kDeflate, fletcher}), 2 * kChunk);
  EXPECT_GE(needs({kDeflate, kDeflate, kDeflate}), 2 * kChunk);
  EXPECT_LE(needs(std::vector<FilterSpec>(20, kDeflate)), 2 * (3 * kChunk)) << "two buffers";
}

TEST(FilterPipeline, MaskBitsSkipFilters) {
  const Bytes data = test::random_bytes(64, 3);
  EXPECT_EQ(*decode({kDeflate}, data, 64, 1), data);
  EXPECT_EQ(*decode({kDeflate, kNobody}, deflated(data), 64, 2), data);
  EXPECT_EQ(*decode({kNobody, kDeflate}, data, 64, 3), data);
}

// Writers skip optional filters chunk by chunk where they do not reduce the size.
TEST(FilterPipeline, AnyOfThreeFiltersMaySkipAChunkOfAnySize) {
  const FilterSpec specs[] = {kShuffle4, kDeflate, {3, "fletcher32", {}}};
  for (const std::size_t size : {1, 3, 4, 5, 63, 64, 65, 4097}) {
    const Bytes data = test::random_bytes(size, size);
    for (std::uint32_t mask = 0; mask < 8; ++mask) {
      Bytes stored = data;
      if ((mask & 1) == 0) {
        const std::size_t count = size / 4;  // the remainder is not shuffled
        for (std::size_t i = 0; i < count * 4; ++i) stored[i % 4 * count + i / 4] = data[i];
      }
      if ((mask & 2) == 0) stored = deflated(stored);
      if ((mask & 4) == 0) {
        const std::uint32_t sum = filter::fletcher32_plain(stored);
        for (unsigned shift = 0; shift < 32; shift += 8)
          stored.push_back(static_cast<std::byte>(sum >> shift & 0xff));
      }
      const auto decoded = decode({specs[0], specs[1], specs[2]}, stored, size, mask);
      ASSERT_TRUE(decoded) << size << ' ' << mask << ": " << decoded.error().text();
      EXPECT_EQ(*decoded, data) << size << ' ' << mask;
      // The mask is used: with deflate's bit inverted the chunk cannot be decoded.
      const auto wrong = decode({specs[0], specs[1], specs[2]}, stored, size, mask ^ 2);
      EXPECT_FALSE(wrong) << size << ' ' << mask;
    }
  }
}

// Containers store incompressible blocks uncompressed.
TEST(FilterPipeline, BlocksThatAreStoredRaw) {
  const Bytes data = test::random_bytes(100, 8);
  Bytes lz4(16);  // decoded size, block size, stored size: big-endian
  lz4[7] = lz4[11] = lz4[15] = std::byte{100};
  Bytes blosc = {std::byte{2}, std::byte{1}, std::byte{2},
                 std::byte{4}};  // version, codec's, stored, type size
  for (const unsigned value : {100U, 100U, 116U})
    blosc.insert(blosc.end(), {static_cast<std::byte>(value), std::byte{0}, std::byte{0}, std::byte{0}});
  lz4.insert(lz4.end(), data.begin(), data.end());
  blosc.insert(blosc.end(), data.begin(), data.end());
  if (filter_info(32004).available) {
    EXPECT_EQ(*decode({{32004, "", {}}}, lz4, 100), data);
  }
  EXPECT_EQ(*decode({{32001, "", {}}}, blosc, 100), data);
}

TEST(FilterPipeline, AMissingFilterIsNamedAndOnlyWhenNeeded) {
  const FilterSpec specs[] = {kDeflate, kNobody};
  const auto pipeline = FilterPipeline::make(specs, 64);
  ASSERT_TRUE(pipeline);
  ASSERT_TRUE((*pipeline)->missing());
  EXPECT_NE((*pipeline)->missing()->text().find("9999 (mystery)"), std::string::npos);
  EXPECT_EQ(decode({kDeflate, kNobody}, Bytes(9), 64).error().code(), ErrorCode::UnsupportedFeature);
}

// A chunk that skips what is missing needs the memory of the others, and is decoded.
TEST(FilterPipeline, AMissingFilterIsSkippedByItsMask) {
  const Bytes data = test::random_bytes(64, 4);
  const FilterSpec specs[] = {kNobody, kDeflate, {2, "", {}}};  // shuffle without the size of an element
  const auto pipeline = FilterPipeline::make(specs, 64);
  ASSERT_TRUE(pipeline);
  EXPECT_TRUE((*pipeline)->missing(0b000));
  EXPECT_TRUE((*pipeline)->missing(0b001));
  EXPECT_TRUE((*pipeline)->missing(0b100));
  EXPECT_FALSE((*pipeline)->missing(0b101));
  const FilterSpec twice[] = {kNobody, kDeflate, kDeflate};
  const FilterSpec known[] = {kDeflate, kDeflate};
  EXPECT_EQ((*FilterPipeline::make(twice, 64))->scratch_bytes(64),
            (*FilterPipeline::make(known, 64))->scratch_bytes(64));
  Bytes out(64);
  FilterScratch scratch;
  EXPECT_TRUE((*pipeline)->decode(deflated(data), 0b101, out, scratch));
  EXPECT_EQ(out, data);
  EXPECT_FALSE((*pipeline)->decode(deflated(data), 0b001, out, scratch));
}

TEST(FilterPipeline, SizesMustBeExact) {
  const Bytes data = test::random_bytes(64, 4);
  EXPECT_EQ(decode({kDeflate}, deflated(data), 65).error().code(), ErrorCode::FilterFailed);
  EXPECT_EQ(decode({kDeflate}, deflated(data), 63).error().code(), ErrorCode::FilterFailed);
  EXPECT_EQ(decode({kDeflate}, deflated(Bytes(100'000'000)), 64).error().code(), ErrorCode::FilterFailed);
  EXPECT_EQ(decode({kShuffle4}, data, 63).error().code(), ErrorCode::FilterFailed);
}

TEST(FilterPipeline, ThirtyTwoFiltersAreTheFormatsBound) {
  const Bytes data = test::random_bytes(64, 5);
  EXPECT_EQ(*decode(std::vector<FilterSpec>(32, {2, "", {1}}), data, 64), data);
  EXPECT_EQ(decode(std::vector<FilterSpec>(33, {2, "", {1}}), data, 64).error().code(),
            ErrorCode::LimitExceeded);
}

TEST(Deflate, DamageIsAnErrorAtEveryByte) {
  const Bytes data = test::random_bytes(300, 6);
  const Bytes good = deflated(data);
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(decode({kDeflate}, ByteSpan(good).first(length), 300)) << length;
  }
  for (std::size_t at = 0; at < good.size(); ++at) {
    Bytes bad = good;
    bad[at] ^= std::byte{0x10};
    const auto result = decode({kDeflate}, bad, 300);
    if (result) {  // unused bits
      EXPECT_EQ(*result, data) << at;
    }
  }
  EXPECT_TRUE(decode({kDeflate}, deflated({}), 0));
}

TEST(Shuffle, ClientDataIsChecked) {
  EXPECT_EQ(decode({{2, "", {}}}, Bytes(4), 4).error().code(), ErrorCode::FilterFailed);
  EXPECT_EQ(decode({{2, "", {0}}}, Bytes(4), 4).error().code(), ErrorCode::FilterFailed);
  EXPECT_TRUE(decode({{2, "", {0xffffffff}}}, Bytes(4), 4));
}

}  // namespace
}  // namespace h5mount::filter
