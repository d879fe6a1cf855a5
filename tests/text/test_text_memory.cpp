// What the text of a value takes of memory: as much as the value needs, whatever it may take.
#include <gtest/gtest.h>

#include "h5mount/text/value_text.h"
#include "support/large_allocations.h"

namespace h5mount::text {
namespace {

constexpr std::size_t kMost = 16U << 20;

format::Datatype byte_type() {
  format::Datatype type;
  type.size = 1;
  type.bit_precision = 8;
  return type;
}

format::Dataspace vector_of(std::uint64_t length) {
  format::Dataspace space;
  space.kind = format::DataspaceKind::Simple;
  space.dims = space.max_dims = {length};
  return space;
}

std::string text_of(std::uint64_t length) {
  const std::vector<std::byte> data(static_cast<std::size_t>(length), std::byte{200});
  auto text = value_text(byte_type(), vector_of(length), data, ValueContext{{}, Unbounded()}, kMost);
  EXPECT_TRUE(text) << text.error().text();
  return text ? *std::move(text) : "";
}

TEST(TextMemory, AShortValueTakesLittle) {
  const std::uint64_t before = test::large_allocations();
  for (std::uint64_t length = 0; length < 100; ++length) {
    const std::string text = text_of(length);
    EXPECT_GE(text.size(), 2 + length);
    EXPECT_LE(text.capacity(), 1024U);
  }
  EXPECT_EQ(test::large_allocations() - before, 0U);
}

TEST(TextMemory, ALongValueIsNotHeldTwice) {
  const std::string text = text_of(3U << 20);
  EXPECT_EQ(text.size(), 1 + 4 * (3U << 20));
  EXPECT_EQ(text.capacity(), kMost);
}

TEST(TextMemory, AValueOfMediumLengthTakesAtMostTwiceThat) {
  const std::string text = text_of(100'000);
  EXPECT_EQ(text.size(), 400'001U);
  EXPECT_LT(text.capacity(), 2 * text.size());
}

}  // namespace
}  // namespace h5mount::text
