#include <gtest/gtest.h>

#include <cerrno>
#include <limits>

#include "h5mount/base/bytes.h"
#include "h5mount/base/checked.h"
#include "h5mount/base/checksum.h"
#include "h5mount/base/error.h"
#include "h5mount/base/log.h"

namespace h5mount {
namespace {

constexpr std::uint64_t kMaxValue = std::numeric_limits<std::uint64_t>::max();

TEST(Checked, SumsAndProductsThatDoNotFitAreNothing) {
  EXPECT_EQ(checked_add(kMaxValue - 1, 1), kMaxValue);
  EXPECT_FALSE(checked_add(kMaxValue, 1));
  EXPECT_EQ(checked_mul(kMaxValue / 3, 3), kMaxValue);
  EXPECT_FALSE(checked_mul(kMaxValue / 3 + 1, 3));
  EXPECT_EQ(checked_mul(kMaxValue, 0), 0U);
}

TEST(Checked, RangesThatWrapAreOutside) {
  EXPECT_TRUE(range_within(0, 10, 10));
  EXPECT_TRUE(range_within(10, 0, 10));
  EXPECT_FALSE(range_within(11, 0, 10));
  EXPECT_FALSE(range_within(5, 6, 10));
  EXPECT_FALSE(range_within(5, kMaxValue - 4, 10));  // the end wraps to 0
  EXPECT_FALSE(range_within(kMaxValue, 1, 10));
}

TEST(Checked, DividesUpToTheGreatestNumber) {
  EXPECT_EQ(divide_up(0, 8), 0U);
  EXPECT_EQ(divide_up(8, 8), 1U);
  EXPECT_EQ(divide_up(9, 8), 2U);
  EXPECT_EQ(divide_up(kMaxValue, 2), (std::uint64_t{1} << 63));
}

TEST(Bytes, LoadsOfEveryOrderAndWidth) {
  const std::byte stored[] = {std::byte{0x11}, std::byte{0x22}, std::byte{0x33}, std::byte{0x44},
                              std::byte{0x55}, std::byte{0x66}, std::byte{0x77}, std::byte{0x88}};
  EXPECT_EQ(load_le<std::uint16_t>(stored + 1), 0x3322U);
  EXPECT_EQ(load_be<std::uint16_t>(stored), 0x1122U);
  EXPECT_EQ(load_be<std::uint32_t>(stored), 0x11223344U);
  EXPECT_EQ(load_be<std::uint64_t>(stored), 0x1122334455667788U);
  EXPECT_EQ(load_le_width(stored, 0), 0U);
  EXPECT_EQ(load_le_width(stored, 3), 0x332211U);
  EXPECT_EQ(load_le_width(stored, 8), 0x8877665544332211U);
}

// Values of the reference implementation of lookup3, of every length around its block of 12 bytes.
TEST(Checksum, IsLookup3) {
  EXPECT_EQ(lookup3_checksum({}), 0xDEADBEEFU);
  EXPECT_EQ(lookup3_checksum({}, 0xDEADBEEF), 0xBD5B7DDEU);
  const std::string_view text = "Four score and seven years ago";
  EXPECT_EQ(lookup3_checksum(as_bytes(text)), 0x17770551U);
  EXPECT_EQ(lookup3_checksum(as_bytes(text), 1), 0xCD628161U);
}

TEST(Errors, TextNamesFieldOffsetValuesAndContext) {
  const Error error = Error(ErrorCode::OutOfRange, "FixedArrayHeader", "data_block_address", 0x1010)
                          .with_found(0x7FFF)
                          .with_expected(0x10)
                          .with_detail("beyond the end")
                          .within("ObjectHeader", 0x60)
                          .within("chunk index of /t");
  EXPECT_EQ(error.text(),
            "FixedArrayHeader.data_block_address at 0x1010: " +
                std::string(error_code_name(ErrorCode::OutOfRange)) +
                ": 0x7fff, expected 0x10, beyond the end; in ObjectHeader at 0x60; in chunk index of /t");
  EXPECT_EQ(Error(ErrorCode::NotFound, "no such link").text(), "no such link");
}

TEST(Errors, AChangedCopyLeavesTheFirstAsItWas) {
  const Error first(ErrorCode::InvalidValue, "Test", "field", 8);
  const Error second = first.with_found(5).within("place");
  EXPECT_EQ(first.text().find("place"), std::string::npos);
  EXPECT_NE(second.text().find("place"), std::string::npos);
  EXPECT_EQ(second.field(), "field");
  EXPECT_EQ(second.offset(), 8U);
}

TEST(Errors, EachHasItsErrno) {
  EXPECT_EQ(to_errno(ErrorCode::NotFound), ENOENT);
  EXPECT_EQ(to_errno(ErrorCode::AccessDenied), EACCES);
  EXPECT_EQ(to_errno(ErrorCode::TooLarge), EFBIG);
  EXPECT_EQ(to_errno(ErrorCode::Stale), ESTALE);
  EXPECT_EQ(to_errno(ErrorCode::UnsupportedFeature), EOPNOTSUPP);
  EXPECT_EQ(to_errno(ErrorCode::ChecksumMismatch), EIO);
  EXPECT_EQ(io_error(ENOSPC, "writing").errno_value(), ENOSPC);
  EXPECT_EQ(Error(ErrorCode::Io, "somewhere").errno_value(), EIO);
}

}  // namespace
}  // namespace h5mount
