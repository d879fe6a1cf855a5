// The maximum size of an attribute's value, tested on both sides.
#include <gtest/gtest.h>

#include "h5mount/base/limits.h"
#include "h5mount/object/object.h"
#include "metadata/small_file.h"

namespace h5mount::test {
namespace {

// An attribute that declares `count` one-byte integers; the values are not stored.
Error damage_of(std::uint64_t count) {
  const ByteBuilder attribute = ByteBuilder()
                                    .u8(3)
                                    .u8(0)
                                    .u16(2)
                                    .u16(12)
                                    .u16(12)
                                    .u8(0)
                                    .text("a")
                                    .u8(0)
                                    .u8(0x10)
                                    .u8(0)
                                    .u8(0)
                                    .u8(0)
                                    .u32(1)
                                    .u16(0)
                                    .u16(8)
                                    .u8(2)
                                    .u8(1)
                                    .u8(0)
                                    .u8(1)
                                    .u64(count);
  const ByteBuilder messages = message2(0x0C, attribute).add(message2(0x11, ByteBuilder().u64(0).u64(0)));
  const auto small = open_small(superblock().at(48).add(header2(messages)));
  const auto object = object::open_object(*small.file, 48);
  if (!object) return object.error();
  const auto found = object::find_attribute(*small.file, *object, "a");
  return found ? *found->damage : found.error();
}

TEST(AttributeLimits, ValuesAreAsLargeAsTheLimit) {
  // At the limit the error is the missing data.
  EXPECT_EQ(damage_of(limits::kMaxAttributeBytes).code(), ErrorCode::Truncated);
  EXPECT_EQ(damage_of(limits::kMaxAttributeBytes + 1).code(), ErrorCode::LimitExceeded);
}

}  // namespace
}  // namespace h5mount::test
