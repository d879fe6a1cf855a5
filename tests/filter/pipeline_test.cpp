#include <zlib.h>

#include "bytes.h"

namespace h5mount {
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

TEST(FilterPipeline, MaskBitsSkipFilters) {
  const Bytes data = test::random_bytes(64, 3);
  EXPECT_EQ(*decode({kDeflate}, data, 64, 1), data);
  EXPECT_EQ(*decode({kDeflate, kNobody}, deflated(data), 64, 2), data);
  EXPECT_EQ(*decode({kNobody, kDeflate}, data, 64, 3), data);
}

TEST(FilterPipeline, AMissingFilterIsNamedAndOnlyWhenNeeded) {
  const FilterSpec specs[] = {kDeflate, kNobody};
  const auto pipeline = FilterPipeline::make(specs, 64);
  ASSERT_TRUE(pipeline);
  ASSERT_TRUE((*pipeline)->missing());
  EXPECT_NE((*pipeline)->missing()->text().find("9999 (mystery)"), std::string::npos);
  EXPECT_EQ(decode({kDeflate, kNobody}, Bytes(9), 64).error().code(), ErrorCode::UnsupportedFeature);
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
    if (result) {  // bits that carry no meaning
      EXPECT_EQ(*result, data) << at;
    }
  }
  EXPECT_TRUE(decode({kDeflate}, deflated({}), 0));
}

TEST(Shuffle, ClientDataIsChecked) {
  EXPECT_EQ(decode({{2, "", {}}}, Bytes(4), 4).error().code(), ErrorCode::InvalidValue);
  EXPECT_EQ(decode({{2, "", {0}}}, Bytes(4), 4).error().code(), ErrorCode::InvalidValue);
  EXPECT_TRUE(decode({{2, "", {0xffffffff}}}, Bytes(4), 4));
}

}  // namespace
}  // namespace h5mount
