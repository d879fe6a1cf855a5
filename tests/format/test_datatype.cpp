// Datatype messages of every class, each then with one lying byte; and the two limits from both sides.
#include "h5mount/base/limits.h"
#include "h5mount/format/datatype.h"
#include "message_bytes.h"

namespace h5mount::test {
namespace {

const auto decode = [](Cursor& c) { return decode_datatype(c, FileSizes{}); };

const Bytes kInt = bytes({0x10, 0x08, 0, 0, 4, 0, 0, 0, 0, 0, 32, 0});
const Bytes kBits = bytes({0x14, 0x01, 0, 0, 2, 0, 0, 0, 4, 0, 12, 0});
const Bytes kFloat = bytes({0x11, 0x20, 31, 0, 4, 0, 0, 0, 0, 0, 32, 0, 23, 8, 0, 23, 127, 0, 0, 0});
const Bytes kTime = bytes({0x12, 0, 0, 0, 4, 0, 0, 0, 32, 0});
const Bytes kString = bytes({0x13, 0x11, 0, 0, 5, 0, 0, 0});
const Bytes kOpaque = bytes({0x15, 8, 0, 0, 2, 0, 0, 0, 'r', 'a', 'w', 0, 0, 0, 0, 0});
const Bytes kObject = bytes({0x17, 0, 0, 0, 8, 0, 0, 0});
const Bytes kRegion = bytes({0x17, 1, 0, 0, 12, 0, 0, 0});
const Bytes kEnum = joined({bytes({0x38, 2, 0, 0, 4, 0, 0, 0}), kInt, bytes({'o', 'f', 'f', 0, 'o', 'n', 0}),
                            bytes({0, 0, 0, 0, 1, 0, 0, 0})});
const Bytes kOldEnum = joined({bytes({0x18, 1, 0, 0, 4, 0, 0, 0}), kInt, bytes({'o', 'n', 0, 0, 0, 0, 0, 0}),
                               bytes({1, 0, 0, 0})});
const Bytes kSequence = joined({bytes({0x19, 0, 0, 0, 16, 0, 0, 0}), kInt});
const Bytes kText = joined({bytes({0x19, 0x11, 0x01, 0, 16, 0, 0, 0}), bytes({0x13, 0, 0, 0, 1, 0, 0, 0})});
const Bytes kArray = joined({bytes({0x3A, 0, 0, 0, 24, 0, 0, 0, 2, 2, 0, 0, 0, 3, 0, 0, 0}), kInt});
const Bytes kOldArray = joined({bytes({0x2A, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0}), kInt});
const Bytes kComplex = joined({bytes({0x5B, 1, 0, 0, 8, 0, 0, 0}), kFloat});
const Bytes kCompound = joined({bytes({0x36, 2, 0, 0, 8, 0, 0, 0}), bytes({'a', 0, 0}), kInt, bytes({'b', 0, 4}), kInt});
const Bytes kCompound2 = joined({bytes({0x26, 1, 0, 0, 8, 0, 0, 0}), bytes({'l', 'o', 'n', 'g', 'n', 'a', 'm', 'e', 0}),
                                 bytes({0, 0, 0, 0, 0, 0, 0}), bytes({4, 0, 0, 0}), kInt});
const Bytes kCompound1 = joined({bytes({0x16, 1, 0, 0, 24, 0, 0, 0}), bytes({'m', 0, 0, 0, 0, 0, 0, 0}),
                                 bytes({0, 0, 0, 0, 2, 0, 0, 0}), bytes({0, 0, 0, 0, 0, 0, 0, 0}),
                                 bytes({2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), kInt});

TEST(Datatype, EveryClassIsReadAndNoneCutShort) {
  for (const Bytes& whole : {kInt, kBits, kFloat, kTime, kString, kOpaque, kObject, kRegion, kEnum, kOldEnum, kSequence,
                             kText, kArray, kOldArray, kComplex, kCompound, kCompound2, kCompound1}) {
    Cursor cursor(whole, kAt, "Test");
    const auto type = decode(cursor);
    ASSERT_TRUE(type) << type.error().text();
    EXPECT_EQ(cursor.remaining(), 0U);
    EXPECT_EQ(static_cast<int>((*type)->cls), static_cast<int>(whole[0]) & 15);
    EXPECT_EQ((*type)->version, static_cast<int>(whole[0]) >> 4);
    expect_every_cut_to_fail(whole, decode);
  }
}

TEST(Datatype, BitsAndFloats) {
  const DatatypePtr bits = *decode_all(kBits, decode);
  EXPECT_EQ(bits->order, ByteOrder::Big);
  EXPECT_EQ(bits->bit_offset, 4);
  EXPECT_EQ(bits->bit_precision, 12);
  const DatatypePtr real = *decode_all(kFloat, decode);
  EXPECT_EQ(real->normalization, MantissaNormalization::Implied);
  EXPECT_EQ(real->sign_location, 31);
  EXPECT_EQ(real->exponent_location, 23);
  EXPECT_EQ(real->exponent_size, 8);
  EXPECT_EQ(real->mantissa_size, 23);
  EXPECT_EQ(real->exponent_bias, 127U);
  Bytes vax = kFloat;
  vax[1] = std::byte{0x61};
  EXPECT_EQ((*decode_all(vax, decode))->order, ByteOrder::Vax);
}

TEST(Datatype, TextTagsAndNames) {
  const DatatypePtr text = *decode_all(kString, decode);
  EXPECT_EQ(text->padding, StringPadding::NullPad);
  EXPECT_EQ(text->charset, CharacterSet::Utf8);
  const DatatypePtr variable = *decode_all(kText, decode);
  EXPECT_TRUE(variable->variable_string);
  EXPECT_TRUE(variable->has_variable_part);
  EXPECT_EQ(variable->charset, CharacterSet::Utf8);
  EXPECT_EQ((*decode_all(kOpaque, decode))->tag, "raw");
  const DatatypePtr states = *decode_all(kEnum, decode);
  ASSERT_EQ(states->enum_members.size(), 2U);
  EXPECT_EQ(states->enum_members[0].name, "off");
  EXPECT_EQ(states->enum_members[1].name, "on");
  EXPECT_EQ(states->enum_members[1].value, bytes({1, 0, 0, 0}));
}

TEST(Datatype, MembersOfThreeVersions) {
  const DatatypePtr three = *decode_all(kCompound, decode);
  ASSERT_EQ(three->members.size(), 2U);
  EXPECT_EQ(three->members[1].name, "b");
  EXPECT_EQ(three->members[1].offset, 4U);
  const DatatypePtr two = *decode_all(kCompound2, decode);
  EXPECT_EQ(two->members.at(0).name, "longname");
  EXPECT_EQ(two->members.at(0).offset, 4U);
  const DatatypePtr one = *decode_all(kCompound1, decode);
  const DatatypePtr member = one->members.at(0).type;  // its dimensions make it an array
  EXPECT_EQ(member->cls, DatatypeClass::Array);
  EXPECT_EQ(member->dims, (std::vector<std::uint32_t>{2, 3}));
  EXPECT_EQ(member->size, 24U);
}

TEST(Datatype, WhatAPartHasTheWholeHas) {
  const Bytes holder = joined({bytes({0x36, 2, 0, 0, 24, 0, 0, 0}), bytes({'s', 0, 0}), kSequence,
                               bytes({'r', 0, 16}), kObject});
  const DatatypePtr type = *decode_all(holder, decode);
  EXPECT_TRUE(type->has_variable_part);
  EXPECT_TRUE(type->has_reference);
  EXPECT_FALSE((*decode_all(kArray, decode))->has_variable_part);
}

TEST(Datatype, EachLieIsNamed) {
  const auto invalid = ErrorCode::InvalidValue;
  for (const Lie& lie : std::initializer_list<Lie>{
           {"version 0", kInt, 0, 0x00, ErrorCode::UnsupportedVersion, "version"},
           {"version 6", kInt, 0, 0x60, ErrorCode::UnsupportedVersion, "version"},
           {"class 12", kInt, 0, 0x1C, invalid, "class"},
           {"no size", kInt, 4, 0, invalid, "size"},
           {"no bits", kInt, 10, 0, invalid, "bit_precision"},
           {"bits beyond the element", kInt, 8, 1, invalid, "bit_precision"},
           {"bit field beyond", kBits, 8, 5, invalid, "bit_precision"},
           {"reserved byte order", kFloat, 1, 0x60, invalid, "byte_order"},
           {"reserved normalisation", kFloat, 1, 0x30, invalid, "mantissa_normalization"},
           {"sign outside", kFloat, 2, 32, invalid, "sign_location"},
           {"exponent outside", kFloat, 12, 25, invalid, "exponent_location"},
           {"no exponent", kFloat, 13, 0, invalid, "exponent_size"},
           {"exponent of 33 bits", kFloat, 13, 33, invalid, "exponent_size"},
           {"mantissa outside", kFloat, 14, 10, invalid, "mantissa_location"},
           {"no mantissa", kFloat, 15, 0, invalid, "mantissa_size"},
           {"time beyond", kTime, 8, 33, invalid, "bit_precision"},
           {"reserved padding", kString, 1, 0x03, invalid, "string_padding"},
           {"reserved characters", kString, 1, 0x20, invalid, "character_set"},
           {"reference of no kind", kObject, 1, 5, invalid, "reference_kind"},
           {"address that does not fit", kObject, 4, 7, invalid, "size"},
           {"region that does not fit", kRegion, 4, 11, invalid, "size"},
           {"enumeration of another size", kEnum, 4, 8, invalid, "size"},
           {"more names than there is room for", kEnum, 2, 255, ErrorCode::Truncated, "member_count"},
           {"neither sequence nor string", kSequence, 1, 2, invalid, "variable_length_type"},
           {"no room for the heap's place", kSequence, 4, 15, invalid, "size"},
           {"reserved padding of a string", kText, 1, 0x31, invalid, "string_padding"},
           {"no dimensions", kArray, 8, 0, invalid, "dimensionality"},
           {"33 dimensions", kArray, 8, 33, ErrorCode::LimitExceeded, "dimensionality"},
           {"a dimension of nothing", kArray, 9, 0, invalid, "dimension_size"},
           {"not the product", kArray, 4, 25, invalid, "size"},
           {"a polar pair", kComplex, 1, 3, ErrorCode::UnsupportedFeature, "complex_form"},
           {"not two parts", kComplex, 4, 9, invalid, "size"},
           {"no members", kCompound, 1, 0, invalid, "member_count"},
           {"member beyond the end", kCompound, 25, 5, invalid, "member_offset"},
           {"five dimensions of a member", kCompound1, 20, 5, invalid, "dimensionality"},
       })
    expect_refusal(lie, decode);
}

TEST(Datatype, NestsAsDeepAsTheLimit) {
  const auto nested = [](std::size_t depth) { return joined({repeated(bytes({0x19, 0, 0, 0, 16, 0, 0, 0}), depth - 1), kInt}); };
  EXPECT_TRUE(decode_all(nested(limits::kMaxDatatypeDepth), decode));
  const auto refused = decode_all(nested(limits::kMaxDatatypeDepth + 1), decode);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::LimitExceeded);
}

TEST(Datatype, HasAsManyPartsAsTheLimit) {
  const Bytes member = joined({bytes({'m', 0, 0}), kInt});
  const auto compound = [&member](std::size_t members) {
    return joined({bytes({0x36}), little(members, 2), bytes({0, 4, 0, 0, 0}), repeated(member, members)});
  };
  EXPECT_TRUE(decode_all(compound(limits::kMaxDatatypeNodes - 1), decode));
  const Bytes one_more = joined({bytes({0x36, 2, 0, 0, 8, 0, 0, 0}), bytes({'x', 0, 0}),
                                 compound(limits::kMaxDatatypeNodes - 2), bytes({'y', 0, 4}), kInt});
  const auto refused = decode_all(one_more, decode);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::LimitExceeded);
}

}  // namespace
}  // namespace h5mount::test
