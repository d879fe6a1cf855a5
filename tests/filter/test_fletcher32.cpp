#include "fletcher32.h"

#include "bytes.h"

namespace h5mount::filter {
namespace {

using test::Bytes;

TEST(Fletcher32, AgreesWithTheDefinition) {
  for (std::size_t size = 0; size < 600; ++size) {
    const Bytes bytes = test::random_bytes(size, size);
    ASSERT_EQ(fletcher32(bytes), fletcher32_plain(bytes)) << size;
    ASSERT_EQ(fletcher32_vectors(bytes), fletcher32_plain(bytes)) << size;
  }
  for (const std::size_t size : {8191, 8192, 8193, 20'000, 1'000'001}) {
    const Bytes ones(size, std::byte{0xff});
    ASSERT_EQ(fletcher32(ones), fletcher32_plain(ones)) << size;
    ASSERT_EQ(fletcher32_vectors(ones), fletcher32_plain(ones)) << size;
    const Bytes bytes = test::random_bytes(size, size);
    ASSERT_EQ(fletcher32(bytes), fletcher32_plain(bytes)) << size;
  }
}

TEST(Fletcher32, ZerosSumToZero) {
  EXPECT_EQ(fletcher32(Bytes(1000)), 0U);
  EXPECT_EQ(fletcher32({}), 0U);
}

Bytes with_checksum(Bytes data, std::uint32_t sum) {
  for (unsigned shift = 0; shift < 32; shift += 8)
    data.push_back(static_cast<std::byte>(sum >> shift & 0xff));
  return data;
}

TEST(Fletcher32, TakesTheOldByteOrderAndRefusesAnyOther) {
  const Bytes data = test::random_bytes(101, 7);
  const std::uint32_t sum = fletcher32(data);
  const std::uint32_t old = (sum & 0x00ff00ffU) << 8 | (sum >> 8 & 0x00ff00ffU);
  EXPECT_EQ(*test::decode({{3, "", {}}}, with_checksum(data, sum), 101), data);
  EXPECT_EQ(*test::decode({{3, "", {}}}, with_checksum(data, old), 101), data);
  const auto wrong = test::decode({{3, "", {}}}, with_checksum(data, sum ^ 1), 101);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code(), ErrorCode::ChecksumMismatch);
  EXPECT_FALSE(test::decode({{3, "", {}}}, Bytes(3), 0));
}

}  // namespace
}  // namespace h5mount::filter
