// Datatype messages of every class, each then with one invalid byte; and the two limits from both sides.
#include "h5mount/base/limits.h"
#include "h5mount/format/datatype.h"
#include "message_bytes.h"

namespace h5mount::test {
namespace {

const auto decode = [](format::Cursor& c) { return format::decode_datatype(c); };

const Bytes kInt = bytes({0x10, 0x08, 0, 0, 4, 0, 0, 0, 0, 0, 32, 0});
const Bytes kBits = bytes({0x14, 0x01, 0, 0, 2, 0, 0, 0, 4, 0, 12, 0});
const Bytes kFloat = bytes({0x11, 0x20, 31, 0, 4, 0, 0, 0, 0, 0, 32, 0, 23, 8, 0, 23, 127, 0, 0, 0});
const Bytes kVax = bytes({0x31, 0x61, 31, 0, 4, 0, 0, 0, 0, 0, 32, 0, 23, 8, 0, 23, 127, 0, 0, 0});
const Bytes kTime = bytes({0x12, 0, 0, 0, 4, 0, 0, 0, 32, 0});
const Bytes kString = bytes({0x13, 0x11, 0, 0, 5, 0, 0, 0});
const Bytes kOpaque = bytes({0x15, 8, 0, 0, 2, 0, 0, 0, 'r', 'a', 'w', 0, 0, 0, 0, 0});
const Bytes kObject = bytes({0x17, 0, 0, 0, 8, 0, 0, 0});
const Bytes kRegion = bytes({0x17, 1, 0, 0, 12, 0, 0, 0});
const Bytes kEnum = joined({bytes({0x38, 2, 0, 0, 4, 0, 0, 0}), kInt, bytes({'o', 'f', 'f', 0, 'o', 'n', 0}),
                            bytes({0, 0, 0, 0, 1, 0, 0, 0})});
const Bytes kOldEnum = joined(
    {bytes({0x18, 1, 0, 0, 4, 0, 0, 0}), kInt, bytes({'o', 'n', 0, 0, 0, 0, 0, 0}), bytes({1, 0, 0, 0})});
const Bytes kSequence = joined({bytes({0x19, 0, 0, 0, 16, 0, 0, 0}), kInt});
const Bytes kText = joined({bytes({0x19, 0x11, 0x01, 0, 16, 0, 0, 0}), bytes({0x13, 0, 0, 0, 1, 0, 0, 0})});
const Bytes kArray = joined({bytes({0x3A, 0, 0, 0, 24, 0, 0, 0, 2, 2, 0, 0, 0, 3, 0, 0, 0}), kInt});
const Bytes kOldArray =
    joined({bytes({0x2A, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0}), kInt});
const Bytes kComplex = joined({bytes({0x5B, 1, 0, 0, 8, 0, 0, 0}), kFloat});
const Bytes kCompound =
    joined({bytes({0x36, 2, 0, 0, 8, 0, 0, 0}), bytes({'a', 0, 0}), kInt, bytes({'b', 0, 4}), kInt});
const Bytes kCompound2 =
    joined({bytes({0x26, 1, 0, 0, 8, 0, 0, 0}), bytes({'l', 'o', 'n', 'g', 'n', 'a', 'm', 'e', 0}),
            bytes({0, 0, 0, 0, 0, 0, 0}), bytes({4, 0, 0, 0}), kInt});
const Bytes kCompound1 = joined({bytes({0x16, 1, 0, 0, 24, 0, 0, 0}), bytes({'m', 0, 0, 0, 0, 0, 0, 0}),
                                 bytes({0, 0, 0, 0, 2, 0, 0, 0}), bytes({0, 0, 0, 0, 0, 0, 0, 0}),
                                 bytes({2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), kInt});

TEST(Datatype, EveryClassIsReadAndNoneCutShort) {
  for (const Bytes& whole :
       {kInt, kBits, kFloat, kTime, kString, kOpaque, kObject, kRegion, kEnum, kOldEnum, kSequence, kText,
        kArray, kOldArray, kComplex, kCompound, kCompound2, kCompound1}) {
    format::Cursor cursor(whole, kAt, "Test", {});
    const auto type = decode(cursor);
    ASSERT_TRUE(type) << type.error().text();
    EXPECT_EQ(cursor.remaining(), 0U);
    EXPECT_EQ(static_cast<int>((*type)->cls), static_cast<int>(whole[0]) & 15);
    EXPECT_EQ((*type)->version, static_cast<int>(whole[0]) >> 4);
    expect_every_cut_to_fail(whole, decode);
  }
}

TEST(Datatype, BitsAndFloats) {
  const format::DatatypePtr bits = *decode_all(kBits, decode);
  EXPECT_EQ(bits->order, format::ByteOrder::Big);
  EXPECT_EQ(bits->bit_offset, 4);
  EXPECT_EQ(bits->bit_precision, 12);
  const format::DatatypePtr real = *decode_all(kFloat, decode);
  EXPECT_EQ(real->normalization, format::MantissaNormalization::Implied);
  EXPECT_EQ(real->sign_location, 31);
  EXPECT_EQ(real->exponent_location, 23);
  EXPECT_EQ(real->exponent_size, 8);
  EXPECT_EQ(real->mantissa_size, 23);
  EXPECT_EQ(real->exponent_bias, 127U);
  Bytes vax = kFloat;
  vax[1] = std::byte{0x61};
  EXPECT_EQ((*decode_all(vax, decode))->order, format::ByteOrder::Vax);
}

TEST(Datatype, TextTagsAndNames) {
  const format::DatatypePtr text = *decode_all(kString, decode);
  EXPECT_EQ(text->padding, format::StringPadding::NullPad);
  EXPECT_EQ(text->charset, format::CharacterSet::Utf8);
  const format::DatatypePtr variable = *decode_all(kText, decode);
  EXPECT_TRUE(variable->variable_string);
  EXPECT_TRUE(variable->has_variable_part);
  EXPECT_EQ(variable->charset, format::CharacterSet::Utf8);
  EXPECT_EQ((*decode_all(kOpaque, decode))->tag, "raw");
  const format::DatatypePtr states = *decode_all(kEnum, decode);
  ASSERT_EQ(states->enum_members.size(), 2U);
  EXPECT_EQ(states->enum_members[0].name, "off");
  EXPECT_EQ(states->enum_members[1].name, "on");
  EXPECT_EQ(states->enum_members[1].value, bytes({1, 0, 0, 0}));
}

TEST(Datatype, MembersOfThreeVersions) {
  const format::DatatypePtr three = *decode_all(kCompound, decode);
  ASSERT_EQ(three->members.size(), 2U);
  EXPECT_EQ(three->members[1].name, "b");
  EXPECT_EQ(three->members[1].offset, 4U);
  const format::DatatypePtr two = *decode_all(kCompound2, decode);
  EXPECT_EQ(two->members.at(0).name, "longname");
  EXPECT_EQ(two->members.at(0).offset, 4U);
  const format::DatatypePtr one = *decode_all(kCompound1, decode);
  const format::DatatypePtr member =
      one->members.at(0).type;  // a member with dimensions is decoded as an array
  EXPECT_EQ(member->cls, format::DatatypeClass::Array);
  EXPECT_EQ(member->dims, (std::vector<std::uint32_t>{2, 3}));
  EXPECT_EQ(member->size, 24U);
}

TEST(Datatype, PropertiesOfPartsAreInherited) {
  const Bytes holder = joined(
      {bytes({0x36, 2, 0, 0, 24, 0, 0, 0}), bytes({'s', 0, 0}), kSequence, bytes({'r', 0, 16}), kObject});
  const format::DatatypePtr type = *decode_all(holder, decode);
  EXPECT_TRUE(type->has_variable_part);
  EXPECT_TRUE(type->has_reference);
  EXPECT_FALSE((*decode_all(kArray, decode))->has_variable_part);
}

TEST(Datatype, EachInvalidByteIsReported) {
  const auto invalid = ErrorCode::InvalidValue;
  for (const InvalidByte& one : std::initializer_list<InvalidByte>{
           {"version 0", kInt, 0, 0x00, ErrorCode::UnsupportedVersion, "version", 0},
           {"version 6", kInt, 0, 0x60, ErrorCode::UnsupportedVersion, "version", 0},
           {"class 12", kInt, 0, 0x1C, invalid, "class", 0},
           {"no size", kInt, 4, 0, invalid, "size", 4},
           {"no bits", kInt, 10, 0, invalid, "bit_precision", 10},
           {"bits beyond the element", kInt, 8, 1, invalid, "bit_precision", 10},
           {"bit field beyond", kBits, 8, 5, invalid, "bit_precision", 10},
           {"reserved byte order", kFloat, 1, 0x60, invalid, "byte_order", 1},
           {"reserved normalisation", kFloat, 1, 0x30, invalid, "mantissa_normalization", 1},
           {"sign outside", kFloat, 2, 32, invalid, "sign_location", 1},
           {"exponent outside", kFloat, 12, 25, invalid, "exponent_location", 12},
           {"no exponent", kFloat, 13, 0, invalid, "exponent_size", 13},
           {"exponent of 33 bits", kFloat, 13, 33, invalid, "exponent_size", 13},
           {"mantissa outside", kFloat, 14, 10, invalid, "mantissa_location", 14},
           {"no mantissa", kFloat, 15, 0, invalid, "mantissa_size", 15},
           {"time beyond", kTime, 8, 33, invalid, "bit_precision", 8},
           {"reference of no kind", kObject, 1, 5, invalid, "reference_kind", 1},
           {"address that does not fit", kObject, 4, 7, invalid, "size", 4},
           {"region that does not fit", kRegion, 4, 11, invalid, "size", 4},
           {"more names than fit the message", kEnum, 2, 255, ErrorCode::Truncated, "member_count", 1},
           {"neither sequence nor string", kSequence, 1, 2, invalid, "variable_length_type", 1},
           {"33 dimensions", kArray, 8, 33, ErrorCode::LimitExceeded, "dimensionality", 8},
           {"a dimension of nothing", kArray, 9, 0, invalid, "dimension_size", 9},
           {"a polar pair", kComplex, 1, 3, ErrorCode::UnsupportedFeature, "complex_form", 1},
           {"not two parts", kComplex, 4, 9, invalid, "size", 4},
           {"no members", kCompound, 1, 0, invalid, "member_count", 1},
           {"member beyond the end", kCompound, 25, 5, invalid, "member_offset", 25},
           {"odd in VAX order", kVax, 4, 5, invalid, "size", 4},
           {"a pair of integers", kComplex, 8, 0x10, invalid, "base_type", 8},
           {"an array of nothing", kCompound1, 32, 0, invalid, "dimension_size", 32},
           {"five dimensions of a member", kCompound1, 20, 5, invalid, "dimensionality", 20},
       })
    expect_rejected(one, decode);
}

// Elements have their bytes whatever these say, so that they are noted and nothing is refused.
TEST(Datatype, WhatElementsDoNotNeedIsNoted) {
  const auto ignored = ErrorCode::InvalidValue;
  struct Noted {
    InvalidByte byte;
    format::DatatypeClass cls;
    std::uint32_t size;
  };
  using format::DatatypeClass;
  for (const Noted& one : std::initializer_list<Noted>{
           {{"reserved padding", kString, 1, 0x03, ignored, "string_padding", 1}, DatatypeClass::String, 5},
           {{"reserved characters", kString, 1, 0x20, ignored, "character_set", 1}, DatatypeClass::String, 5},
           {{"an enumeration's size", kEnum, 4, 8, ignored, "size", 4}, DatatypeClass::Opaque, 8},
           {{"an enumeration of bit fields", kEnum, 8, 0x14, ignored, "base_type", 8},
            DatatypeClass::Opaque,
            4},
           {{"a sequence's size", kSequence, 4, 15, ignored, "size", 4}, DatatypeClass::VariableLength, 16},
           {{"padding of a variable string", kText, 1, 0x31, ignored, "string_padding", 1},
            DatatypeClass::VariableLength,
            16},
           {{"an array's size", kArray, 4, 25, ignored, "size", 4}, DatatypeClass::Array, 24},
       }) {
    Bytes changed = one.byte.whole;
    changed.at(one.byte.at) = static_cast<std::byte>(one.byte.value);
    const auto type = decode_all(changed, decode);
    ASSERT_TRUE(type) << one.byte.what << ": " << type.error().text();
    EXPECT_EQ((*type)->cls, one.cls) << one.byte.what;
    EXPECT_EQ((*type)->size, one.size) << one.byte.what;
    ASSERT_EQ((*type)->disagreements.size(), 1U) << one.byte.what;
    EXPECT_EQ((*type)->disagreements[0].field(), one.byte.field) << one.byte.what;
  }
}

TEST(Datatype, AnArrayOfNoDimensionsIsItsElement) {
  const auto type = decode_all(joined({bytes({0x3A, 0, 0, 0, 4, 0, 0, 0, 0}), kInt}), decode);
  ASSERT_TRUE(type) << type.error().text();
  EXPECT_EQ((*type)->cls, format::DatatypeClass::Integer);
  EXPECT_EQ((*type)->size, 4U);
  ASSERT_EQ((*type)->disagreements.size(), 1U);
  EXPECT_EQ((*type)->disagreements[0].field(), "dimensionality");
}

// The size of a part is where the next part begins, so that there it decides.
TEST(Datatype, APartOfACompoundHasItsSize) {
  for (const auto& [part, size] : {std::pair(kSequence, 15), std::pair(kArray, 25)}) {
    Bytes holder = joined({bytes({0x36, 1, 0, 0, 32, 0, 0, 0}), bytes({'s', 0, 0}), part});
    EXPECT_TRUE(decode_all(holder, decode));
    holder.at(11 + 4) = static_cast<std::byte>(size);
    const auto type = decode_all(holder, decode);
    ASSERT_FALSE(type);
    EXPECT_EQ(type.error().field(), "size");
  }
}

TEST(Datatype, NestsAsDeepAsTheLimit) {
  static_assert(limits::kMaxDatatypeDepth >= 64);

  const auto nested = [](std::size_t depth) {
    return joined({repeated(bytes({0x19, 0, 0, 0, 16, 0, 0, 0}), depth - 1), kInt});
  };
  EXPECT_TRUE(decode_all(nested(limits::kMaxDatatypeDepth), decode));
  expect_rejected_whole(nested(limits::kMaxDatatypeDepth + 1), ErrorCode::LimitExceeded, "nesting",
                        8 * limits::kMaxDatatypeDepth, decode);
}

TEST(Datatype, HasAsManyPartsAsTheLimit) {
  const Bytes member = joined({bytes({'m', 0, 0}), kInt});
  const auto compound = [&member](std::size_t members) {
    return joined({bytes({0x36}), little(members, 2), bytes({0, 4, 0, 0, 0}), repeated(member, members)});
  };
  EXPECT_TRUE(decode_all(compound(limits::kMaxDatatypeNodes - 1), decode));
  const Bytes one_more = joined({bytes({0x36, 2, 0, 0, 8, 0, 0, 0}), bytes({'x', 0, 0}),
                                 compound(limits::kMaxDatatypeNodes - 2), bytes({'y', 0, 4}), kInt});
  expect_rejected_whole(one_more, ErrorCode::LimitExceeded, "part_count", one_more.size() - kInt.size(),
                        decode);
}

}  // namespace
}  // namespace h5mount::test
