#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>

#include "../../src/view/numpy_strings.h"

namespace h5mount::test {
namespace {

using format::Datatype;
using format::DatatypeClass;
using format::DatatypePtr;
using format::StringPadding;
using view::NumpyStrings;

DatatypePtr string_type(std::uint32_t bytes, StringPadding padding) {
  auto type = std::make_shared<Datatype>();
  type->cls = DatatypeClass::String;
  type->size = bytes;
  type->padding = padding;
  return type;
}

DatatypePtr array_of(const DatatypePtr& base, std::uint32_t items) {
  auto type = std::make_shared<Datatype>();
  type->cls = DatatypeClass::Array;
  type->base = base;
  type->dims = {items};
  type->size = items * base->size;
  return type;
}

DatatypePtr compound(std::uint32_t bytes, const std::vector<std::pair<std::uint32_t, DatatypePtr>>& members) {
  auto type = std::make_shared<Datatype>();
  type->cls = DatatypeClass::Compound;
  type->size = bytes;
  for (const auto& [offset, member] : members)
    type->members.push_back({"m" + std::to_string(offset), offset, member});
  return type;
}

std::string cleared(const Datatype& type, std::string bytes) {
  const auto strings = NumpyStrings::in(type);
  if (strings) strings->clear(std::as_writable_bytes(std::span(bytes)));
  std::ranges::replace(bytes, '\0', '.');
  return bytes;
}

TEST(NumpyStrings, EndAtTheFirstNulOrBeforeTheSpacesThatPadThem) {
  using namespace std::string_literals;
  EXPECT_EQ(cleared(*string_type(5, StringPadding::NullTerminate), "ab\0XYab   abcde\0XXXX"s),
            "ab...ab   abcde.....");
  EXPECT_EQ(cleared(*string_type(5, StringPadding::NullPad), "ab\0XYab   "s), "ab.XYab   ");
  EXPECT_EQ(cleared(*string_type(5, StringPadding::SpacePad), "ab\0XY a b      a\0   "s),
            "ab.XY a b......a....");
}

TEST(NumpyStrings, TypesWithoutThemCostNothing) {
  EXPECT_EQ(NumpyStrings::in(*string_type(5, StringPadding::NullPad)), nullptr);
  EXPECT_EQ(NumpyStrings::in(*string_type(1, StringPadding::NullTerminate)), nullptr);
  EXPECT_EQ(NumpyStrings::in(*array_of(string_type(3, StringPadding::NullPad), 4)), nullptr);
  EXPECT_NE(NumpyStrings::in(*string_type(1, StringPadding::SpacePad)), nullptr);
}

TEST(NumpyStrings, AreFoundInArraysOfCompoundsOfArrays) {
  using namespace std::string_literals;
  const auto text = string_type(3, StringPadding::NullTerminate);
  const auto row = compound(9, {{1, array_of(text, 2)}, {7, string_type(2, StringPadding::NullPad)}});
  const auto rows = compound(20, {{1, array_of(row, 2)}});
  const std::string one = "#a\0Xbcd\0Y"s;
  EXPECT_EQ(cleared(*rows, "#" + one + one + "#" + "#" + one + one + "#"),
            "##a..bcd.Y#a..bcd.Y###a..bcd.Y#a..bcd.Y#");
}

TEST(NumpyStrings, ElementsThatCannotBeReadWholeAreRefused) {
  const auto largest = static_cast<std::uint32_t>(NumpyStrings::kMaxElementBytes);
  EXPECT_TRUE(NumpyStrings::check_size(*string_type(largest, StringPadding::NullTerminate)));
  const auto refused = NumpyStrings::check_size(*string_type(largest + 1, StringPadding::NullTerminate));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::UnsupportedFeature);
  EXPECT_TRUE(NumpyStrings::check_size(*string_type(largest + 1, StringPadding::NullPad)));
}

TEST(NumpyStrings, ChangedBytesReachTheirWholeElements) {
  const auto strings = NumpyStrings::in(*string_type(5, StringPadding::NullTerminate));
  const dataset::ByteRange range = strings->whole_elements({7, 11});
  EXPECT_EQ(range.begin, 5U);
  EXPECT_EQ(range.end, 15U);
  EXPECT_EQ(strings->whole_elements({0, format::kUnlimited}).end, format::kUnlimited);
}

}  // namespace
}  // namespace h5mount::test
