#include "h5mount/text/value_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace h5mount::text {
namespace {

template <class... Bytes>
std::vector<std::byte> bytes(Bytes... values) {
  return {static_cast<std::byte>(values)...};
}

std::string json(const format::Datatype& type, ByteSpan element) {
  std::string out;
  const Status status = append_json(type, element, ValueContext{{}, Unbounded()}, out);
  return status ? out : "error: " + status.error().text();
}

format::Datatype integer(std::uint32_t size, bool is_signed,
                         format::ByteOrder order = format::ByteOrder::Little) {
  format::Datatype type;
  type.size = size;
  type.bit_precision = static_cast<std::uint16_t>(8 * size);
  type.is_signed = is_signed;
  type.order = order;
  return type;
}

format::Datatype floating(std::uint32_t size, unsigned exponent, unsigned mantissa, std::uint32_t bias,
                          format::ByteOrder order = format::ByteOrder::Little) {
  format::Datatype type;
  type.cls = format::DatatypeClass::Float;
  type.size = size;
  type.order = order;
  type.bit_precision = static_cast<std::uint16_t>(1 + exponent + mantissa);
  type.normalization = format::MantissaNormalization::Implied;
  type.exponent_size = static_cast<std::uint8_t>(exponent);
  type.mantissa_size = static_cast<std::uint8_t>(mantissa);
  type.exponent_location = static_cast<std::uint8_t>(mantissa);
  type.sign_location = static_cast<std::uint8_t>(exponent + mantissa);
  type.exponent_bias = bias;
  return type;
}

std::string of_double(double value) {
  std::vector<std::byte> element(8);
  std::memcpy(element.data(), &value, 8);
  return json(floating(8, 11, 52, 1023), element);
}

TEST(Integers, EverySizeOrderAndPrecision) {
  EXPECT_EQ(json(integer(1, true), bytes(0xFF)), "-1");
  EXPECT_EQ(json(integer(2, false, format::ByteOrder::Big), bytes(0x01, 0x02)), "258");
  EXPECT_EQ(json(integer(8, false), std::vector<std::byte>(8, std::byte{0xFF})), "18446744073709551615");
  EXPECT_EQ(json(integer(16, false), std::vector<std::byte>(16, std::byte{0xFF})),
            "340282366920938463463374607431768211455");
  EXPECT_EQ(json(integer(16, true), std::vector<std::byte>(16, std::byte{0xFF})), "-1");
  format::Datatype part = integer(2, true);
  part.bit_precision = 5;
  part.bit_offset = 2;
  EXPECT_EQ(json(part, bytes(0xFC, 0xFF)), "-1");
  EXPECT_EQ(datatype_text(part), "int(<i2,precision=5,offset=2)");
  EXPECT_EQ(datatype_text(integer(4, true)), "<i4");
  EXPECT_EQ(datatype_text(integer(1, false)), "|u1");
}

TEST(Floats, ShortestAndAlwaysRecognisable) {
  EXPECT_EQ(of_double(1), "1.0");
  EXPECT_EQ(of_double(0.1), "0.1");
  EXPECT_EQ(of_double(-0.0), "-0.0");
  EXPECT_EQ(of_double(1e22), "1e+22");
  EXPECT_EQ(of_double(__builtin_nan("")), "NaN");
  EXPECT_EQ(of_double(-__builtin_inf()), "-Infinity");
  EXPECT_EQ(json(floating(2, 5, 10, 15), bytes(0x66, 0x2E)), "0.1");
  EXPECT_EQ(json(floating(2, 5, 10, 15, format::ByteOrder::Big), bytes(0x7B, 0xFF)), "65504.0");
  EXPECT_EQ(json(floating(2, 5, 10, 15), bytes(0x01, 0x00)), "6e-08");
  EXPECT_EQ(json(floating(2, 8, 7, 127), bytes(0x80, 0xBF)), "-1.0");
}

// The shortest decimal of a narrow format is another number to a reader of doubles; whole numbers are the
// same to every reader.
TEST(Floats, WholeNumbersOfEveryWidthAreWrittenInFull) {
  EXPECT_EQ(json(floating(2, 5, 10, 15), bytes(0xE3, 0x70)), "10008.0");
  EXPECT_EQ(json(floating(2, 5, 10, 15), bytes(0x55, 0x35)), "0.3333");
  EXPECT_EQ(json(floating(2, 8, 7, 127), bytes(0x0C, 0x40)), "2.19");
  EXPECT_EQ(json(floating(2, 8, 7, 127), bytes(0x7F, 0x47)), "65280.0");
  EXPECT_EQ(json(floating(2, 8, 7, 127), bytes(0x00, 0xDA)), "-9007199254740992.0");
  EXPECT_EQ(json(floating(2, 8, 7, 127), bytes(0x01, 0x5A)), "9.1e+15");
  EXPECT_EQ(json(floating(1, 4, 3, 7), bytes(0x77)), "240.0");
  EXPECT_EQ(json(floating(1, 5, 2, 15), bytes(0xFB)), "-57344.0");
  const float epoch = 1700000128, below = 0.1F;
  std::vector<std::byte> single(4);
  std::memcpy(single.data(), &epoch, 4);
  EXPECT_EQ(json(floating(4, 8, 23, 127), single), "1700000128.0");
  std::memcpy(single.data(), &below, 4);
  EXPECT_EQ(json(floating(4, 8, 23, 127), single), "0.1");
  // 100,000 as a quadruple, whose number is not native.
  std::vector<std::byte> quad(16);
  quad[15] = std::byte{0x40};
  quad[14] = std::byte{0x0F};
  quad[13] = std::byte{0x86};
  quad[12] = std::byte{0xA0};
  EXPECT_EQ(json(floating(16, 15, 112, 16383), quad), "100000.0");
  EXPECT_EQ(of_double(1e6), "1000000.0");
}

TEST(Floats, WideOnesAndVax) {
  std::vector<std::byte> quad(16);
  quad[15] = std::byte{0x3F};
  quad[14] = std::byte{0xFF};
  EXPECT_EQ(json(floating(16, 15, 112, 16383), quad), "1.0");
  quad[0] = std::byte{1};
  EXPECT_EQ(json(floating(16, 15, 112, 16383), quad), "1.0000000000000000000000000000000002");
  // 1.0 in VAX F: exponent 129 with a hidden bit worth one half; words in reverse order.
  EXPECT_EQ(json(floating(4, 8, 23, 129, format::ByteOrder::Vax), bytes(0x80, 0x40, 0, 0)), "1.0");
  EXPECT_EQ(json(floating(4, 8, 23, 129, format::ByteOrder::Vax), bytes(0x00, 0x80, 0, 0)), "NaN");
}

TEST(Floats, AsLongDoubles) {
  const auto vax = floating(4, 8, 23, 129, format::ByteOrder::Vax);
  EXPECT_EQ(long_double_of(vax, bytes(0x80, 0x40, 0, 0)), 1.0L);
  EXPECT_EQ(long_double_of(vax, bytes(0x80, 0xC1, 0, 0)), -4.0L);
  EXPECT_EQ(long_double_of(vax, bytes(0, 0, 1, 0)), 0.0L);
  EXPECT_TRUE(std::isnan(long_double_of(vax, bytes(0x00, 0x80, 0, 0))));
  const auto half = floating(2, 5, 10, 15);
  EXPECT_EQ(long_double_of(half, bytes(0x01, 0)), 0x1p-24L);
  EXPECT_EQ(long_double_of(half, bytes(0, 0xFC)), -std::numeric_limits<long double>::infinity());
  // Bits beyond the 64th are cut.
  std::vector<std::byte> quad(16);
  quad[15] = std::byte{0x3F};
  quad[14] = std::byte{0xFF};
  quad[0] = std::byte{1};
  EXPECT_EQ(long_double_of(floating(16, 15, 112, 16383), quad), 1.0L);
}

TEST(Strings, EscapesAndBytesThatAreNoText) {
  std::string out;
  append_json_string("a\"\\\n\x01\xFFz\xC3\xA9\xED\xA0\x80", out);
  EXPECT_EQ(out, "\"a\\\"\\\\\\n\\u0001\\udcffz\xC3\xA9\\udced\\udca0\\udc80\"");
}

TEST(Strings, PaddingGoes) {
  format::Datatype type;
  type.cls = format::DatatypeClass::String;
  type.size = 4;
  format::Dataspace scalar;
  const auto text = [&](format::StringPadding padding, std::string_view stored) {
    type.padding = padding;
    return value_text(type, scalar, as_bytes(stored), ValueContext{{}, Unbounded()}).value();
  };
  EXPECT_EQ(text(format::StringPadding::NullTerminate, std::string_view("a\0b ", 4)), "a");
  EXPECT_EQ(text(format::StringPadding::NullPad, std::string_view("a\0b\0", 4)), std::string("a\0b", 3));
  EXPECT_EQ(text(format::StringPadding::SpacePad, "ab  "), "ab");
}

TEST(Values, NestedArraysAndNull) {
  format::Dataspace space{
      .kind = format::DataspaceKind::Simple, .dims = {2, 2}, .max_dims = {2, 2}, .max_below = {}};
  EXPECT_EQ(value_text(integer(1, false), space, bytes(1, 2, 3, 4), ValueContext{{}, Unbounded()}).value(),
            "[[1,2],[3,4]]");
  EXPECT_FALSE(
      value_text(integer(1, false), space, bytes(1, 2, 3), ValueContext{{}, Unbounded()}).has_value());
  space.dims = {2, 0};
  EXPECT_EQ(value_text(integer(1, false), space, {}, ValueContext{{}, Unbounded()}).value(), "[[],[]]");
  space.dims = {std::uint64_t{1} << 40, 0};
  EXPECT_FALSE(value_text(integer(1, false), space, {}, ValueContext{{}, Unbounded()}).has_value());
  space.kind = format::DataspaceKind::Null;
  EXPECT_EQ(value_text(integer(1, false), space, {}, ValueContext{{}, Unbounded()}).value(), "null");
}

TEST(Values, EnumsCompoundsAndReferences) {
  format::Datatype boolean = integer(1, true);
  boolean.cls = format::DatatypeClass::Enum;
  boolean.base = std::make_shared<format::Datatype>(integer(1, true));
  boolean.enum_members = {{"FALSE", bytes(0)}, {"TRUE", bytes(1)}};
  EXPECT_EQ(datatype_text(boolean), "|b1");
  EXPECT_EQ(json(boolean, bytes(1)), "\"TRUE\"");
  EXPECT_EQ(json(boolean, bytes(7)), "7");
  boolean.enum_members[0].name = "A";
  EXPECT_EQ(datatype_text(boolean), "enum(<i1){\"A\":0,\"TRUE\":1}");

  format::Datatype compound;
  compound.cls = format::DatatypeClass::Compound;
  compound.size = 4;
  compound.members = {{"x", 0, std::make_shared<format::Datatype>(integer(1, true))},
                      {"y", 2, std::make_shared<format::Datatype>(integer(2, true, format::ByteOrder::Big))}};
  EXPECT_EQ(datatype_text(compound), R"({"x":"|i1","y@2":">i2","@size":4})");
  EXPECT_EQ(json(compound, bytes(1, 0, 0, 2)), "{\"x\":1,\"y\":2}");

  format::Datatype reference;
  reference.cls = format::DatatypeClass::Reference;
  reference.size = 8;
  EXPECT_EQ(json(reference, bytes(0x30, 2, 0, 0, 0, 0, 0, 0)), "\"0x230\"");
  EXPECT_EQ(json(reference, bytes(0, 0, 0, 0, 0, 0, 0, 0)), "null");
}

// What a reference leads to may be nowhere; its neighbours are told all the same.
TEST(Values, AReferenceToNothingIsNullAndCostsNothingElse) {
  format::Datatype reference;
  reference.cls = format::DatatypeClass::Reference;
  reference.reference = format::ReferenceKind::Region2;
  reference.size = 12;
  format::Datatype row;
  row.cls = format::DatatypeClass::Compound;
  row.size = 14;
  row.members = {{"a", 0, std::make_shared<format::Datatype>(integer(1, true))},
                 {"to", 1, std::make_shared<format::Datatype>(reference)},
                 {"b", 13, std::make_shared<format::Datatype>(integer(1, true))}};
  // No kind has the number 9.
  const std::vector<std::byte> element = bytes(1, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2);
  EXPECT_EQ(json(row, element), R"({"a":1,"to":null,"b":2})");
  std::string proven;
  EXPECT_FALSE(append_json(row, element, ValueContext{{.proves_references = true}, Unbounded()}, proven));
}

format::Datatype compound_of(std::uint32_t size, std::vector<format::CompoundMember> members) {
  format::Datatype compound;
  compound.cls = format::DatatypeClass::Compound;
  compound.size = size;
  compound.members = std::move(members);
  return compound;
}

TEST(Compounds, PaddingIsToldAndNoNameIsTakenForIt) {
  const auto byte = std::make_shared<format::Datatype>(integer(1, false));
  EXPECT_EQ(datatype_text(compound_of(2, {{"a", 0, byte}, {"b", 1, byte}})), R"({"a":"|u1","b":"|u1"})");
  EXPECT_EQ(datatype_text(compound_of(3, {{"a", 0, byte}, {"b", 1, byte}})),
            R"({"a":"|u1","b":"|u1","@size":3})");
  // From the first gap on every member has its offset, so that a reader need not know from which member it is
  // counted.
  EXPECT_EQ(datatype_text(compound_of(4, {{"a", 0, byte}, {"b", 2, byte}, {"c", 3, byte}})),
            R"({"a":"|u1","b@2":"|u1","c@3":"|u1","@size":4})");
  EXPECT_EQ(datatype_text(compound_of(2, {{"b", 1, byte}, {"a", 0, byte}})),
            R"({"b@1":"|u1","a@0":"|u1","@size":2})");
  EXPECT_EQ(datatype_text(compound_of(2, {{"a@4", 0, byte}, {"@size", 1, byte}})),
            R"({"a%404":"|u1","%40size":"|u1"})");
  EXPECT_EQ(datatype_text(compound_of(3, {{"100%", 0, byte}, {"%40", 1, byte}, {"%2540", 2, byte}})),
            R"({"100%":"|u1","%2540":"|u1","%252540":"|u1"})");
  const auto inner = std::make_shared<format::Datatype>(compound_of(2, {{"x", 1, byte}}));
  EXPECT_EQ(datatype_text(compound_of(2, {{"in", 0, inner}})), R"({"in":{"x@1":"|u1","@size":2}})");
}

TEST(Values, ATextThatIsTooLongEndsThere) {
  constexpr std::size_t kElements = 1000;
  format::Dataspace space{
      .kind = format::DataspaceKind::Simple, .dims = {kElements}, .max_dims = {kElements}, .max_below = {}};
  const std::vector<std::byte> ones(kElements, std::byte{1});
  const auto at_most = [&](std::size_t most) {
    return value_text(integer(1, false), space, ones, ValueContext{{}, Unbounded()}, most);
  };
  constexpr std::size_t kText = 2 * kElements + 1;
  EXPECT_EQ(value_text_size(integer(1, false), space, ones, ValueContext{{}, Unbounded()}).value(), kText);
  EXPECT_EQ(at_most(kText).value().size(), kText);
  ASSERT_FALSE(at_most(kText - 1));
  EXPECT_EQ(at_most(kText - 1).error().code(), ErrorCode::TooLarge);
}

TEST(Values, AReferenceBehindTheBoundIsNotLookedUp) {
  format::Datatype reference;
  reference.cls = format::DatatypeClass::Reference;
  reference.size = 8;
  constexpr std::size_t kElements = 1000;
  const format::Dataspace space{
      .kind = format::DataspaceKind::Simple, .dims = {kElements}, .max_dims = {kElements}, .max_below = {}};
  std::size_t looked_up = 0;
  const auto path_of = [&](std::uint64_t) {
    ++looked_up;
    return std::string(98, 'p');
  };
  Unbounded budget;
  const ValueContext context{{.path_of = path_of}, budget};
  const std::vector<std::byte> data(8 * kElements, std::byte{1});
  EXPECT_FALSE(value_text(reference, space, data, context, 1000));
  EXPECT_LE(looked_up, 11U);
  EXPECT_EQ(value_text_size(reference, space, data, context).value(), kElements * 101 + 1);
}

TEST(Integers, OneTooWideToBeWrittenOutIsHexadecimal) {
  format::Datatype type = integer(8193, false);
  type.bit_precision = 0;  // as in times
  EXPECT_TRUE(json(type, std::vector<std::byte>(8193, std::byte{0xFF})).starts_with("\"0xffff"));
  type.size = 8192;
  EXPECT_EQ(json(type, std::vector<std::byte>(8192)), "0");
}

}  // namespace
}  // namespace h5mount::text
