// Rule 4: packed numbers and fill values.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "cards.h"
#include "h5mount/text/value_text.h"

namespace h5mount::join::test {

namespace {

constexpr std::optional<std::uint64_t> kNone;

MemberCard of(DatatypePtr type, const Packed& how = {}) {
  return packed(series(1, std::move(type)), how);
}
PlanPtr pair(MemberCard a, MemberCard b, const Options& options = along("time")) {
  return planned({daily("a.nc", {0}, std::move(a)), daily("b.nc", {1}, std::move(b))}, options);
}
std::string type_name(const PlannedMember& member) {
  return member.error ? member.error->text() : text::datatype_text(*member.type);
}

TEST(PlanPacking, EqualPackingsStayRaw) {
  const Packed how = {.scale = 0.01, .offset = 273.15, .fills = {bits(-32768)}};
  const auto plan = pair(of(whole(2), how), of(whole(2), how));
  const PlannedMember& member = *plan->find("t2m");
  EXPECT_EQ(type_name(member), "<i2");
  EXPECT_FALSE(member.unpacked);
  ASSERT_EQ(member.treatments.size(), 1U);
  EXPECT_TRUE(member.treatments[0].nothing());
  EXPECT_TRUE(member.attributes_gone.empty());
  EXPECT_TRUE(member.fill_value.empty());
  // Attributes count by value: floats and doubles of one number are one packing.
  const auto other = pair(of(whole(2), {.scale = 0.5, .singles = true}), of(whole(2), {.scale = 0.5}));
  EXPECT_EQ(type_name(*other->find("t2m")), "<i2");
  // Wider raw numbers have a wider _FillValue.
  const auto wider = pair(of(whole(2), how), of(whole(4), how));
  EXPECT_EQ(type_name(*wider->find("t2m")), "<i4");
  EXPECT_EQ(wider->find("t2m")->fill_value.size(), 4U);
}

TEST(PlanPacking, Case4APackingPerFile) {
  const auto plan = pair(of(whole(2), {.scale = 0.01, .offset = 273.0, .fills = {bits(-1)}}),
                         of(whole(2), {.scale = 0.02, .offset = 270.0}));
  const PlannedMember& member = *plan->find("t2m");
  EXPECT_EQ(type_name(member), "<f8");
  EXPECT_TRUE(member.unpacked);
  EXPECT_EQ(treatment(member, 0).unpack->shown, NumberKind::F64);
  EXPECT_EQ(treatment(member, 1).unpack->scale, 0.02);
  EXPECT_EQ(member.attributes_gone, (std::vector<std::string>{"_FillValue", "add_offset", "scale_factor"}));
  EXPECT_TRUE(member.attributes_differ.empty());
  const auto refused =
      pair(of(whole(2), {.scale = 0.01}), of(whole(2), {.scale = 0.02}), along("time", Conflict::Refuse));
  EXPECT_NE(text(refused->find("t2m")->error)
                .find("a.nc and b.nc pack numbers or mark missing ones differently "
                      "(join_conflict=decode unpacks them)"),
            std::string::npos);
}

TEST(PlanPacking, Case9SinglePrecisionWhereAllIs) {
  const auto shown = [](MemberCard a, MemberCard b) {
    return type_name(*pair(std::move(a), std::move(b))->find("t2m"));
  };
  const Packed one = {.scale = 0.25, .singles = true}, other = {.scale = 0.5, .singles = true};
  EXPECT_EQ(shown(of(whole(2), one), of(whole(2), other)), "<f4");
  EXPECT_EQ(shown(of(whole(2), one), of(kF4, other)), "<f4");
  EXPECT_EQ(shown(of(whole(4), one), of(whole(2), other)), "<f8");
  EXPECT_EQ(shown(of(whole(2), one), of(whole(2), {.scale = 0.5})), "<f8");
  // Case 11: a packed file beside an unpacked one.
  EXPECT_EQ(shown(of(whole(2), one), of(kF4)), "<f4");
  EXPECT_EQ(shown(of(whole(2), one), of(kF8)), "<f8");
  EXPECT_EQ(shown(of(whole(2), one), of(whole(2))), "<f8");
  EXPECT_NE(shown(of(whole(2), one), of(whole(8))).find("b.nc has integers of 64 bits and a.nc packed"),
            std::string::npos);
  // What is double for one file is double for all: each product is rounded in the type of the result.
  const auto plan = pair(of(whole(2), one), of(kF8));
  EXPECT_EQ(treatment(*plan->find("t2m"), 0).unpack->shown, NumberKind::F64);
  EXPECT_TRUE(treatment(*plan->find("t2m"), 1).nothing());
}

TEST(PlanPacking, Case11MissingOnesOfUnpackedFilesAreNaN) {
  const auto plan = pair(of(whole(2), {.scale = 0.5}), of(whole(2), {.fills = {bits(-9)}}));
  const PlannedMember& member = *plan->find("t2m");
  const auto& unpack = *treatment(member, 1).unpack;
  EXPECT_EQ(unpack.scale, 1.0);
  EXPECT_FALSE(unpack.offset);
  EXPECT_EQ(unpack.shown, NumberKind::F64);
  EXPECT_EQ(unpack.fills, (std::vector<std::uint64_t>{bits(-9)}));
}

TEST(PlanPacking, Case5FillsAloneDifferOnFloats) {
  const auto plan =
      planned({daily("a.nc", {0}, of(kF4)), daily("b.nc", {1}, of(kF4, {.fills = {bits(-999.0)}})),
               daily("c.nc", {2}, of(kF4, {.fills = {bits(-1.0)}}))});
  const PlannedMember& member = *plan->find("t2m");
  EXPECT_EQ(type_name(member), "<f4");
  EXPECT_TRUE(member.unpacked);
  ASSERT_TRUE(treatment(member, 0).fill);
  EXPECT_EQ(treatment(member, 0).fill->own, kNone);
  EXPECT_EQ(treatment(member, 0).fill->joined, bits(-999.0));
  EXPECT_TRUE(treatment(member, 1).nothing());
  EXPECT_EQ(treatment(member, 2).fill->own, bits(-1.0));
  // -999 as float32: C479C000.
  EXPECT_EQ(member.fill_value,
            (std::vector<std::byte>{std::byte{0}, std::byte{0xC0}, std::byte{0x79}, std::byte{0xC4}}));
}

TEST(PlanPacking, Case5FillsAloneDifferOnIntegers) {
  const auto plan = pair(of(whole(2), {.fills = {bits(-1)}}), of(whole(2), {.fills = {bits(-2)}}));
  const PlannedMember& member = *plan->find("t2m");
  EXPECT_EQ(type_name(member), "<f8");
  EXPECT_EQ(treatment(member, 1).unpack->scale, 1.0);
  const auto large = pair(of(whole(8), {.fills = {bits(-1)}}), of(whole(8), {.fills = {bits(-2)}}));
  EXPECT_EQ(type_name(*large->find("t2m")), "<i8");
  EXPECT_EQ(treatment(*large->find("t2m"), 1).fill->own, bits(-2));
  EXPECT_EQ(treatment(*large->find("t2m"), 1).fill->joined, bits(-1));
  // Bounds that differ mark values that no fill can stand for.
  const auto bounded = pair(of(whole(8), {.most = bits(5)}), of(whole(8)));
  EXPECT_NE(type_name(*bounded->find("t2m")).find("integers of 64 bits cannot be NaN"), std::string::npos);
}

TEST(PlanPacking, AFillThatAnotherFilesNumbersCannotBe) {
  // 1e20 is no float32: missing values of both become NaN instead.
  const auto plan = pair(of(kF8, {.fills = {bits(1e20)}}), of(kF4, {.fills = {bits(double{1e20F})}}));
  const PlannedMember& member = *plan->find("t2m");
  EXPECT_EQ(type_name(member), "<f8");
  EXPECT_EQ(treatment(member, 0).unpack->shown, NumberKind::F64);
  EXPECT_EQ(treatment(member, 1).unpack->shown, NumberKind::F32);
  EXPECT_TRUE(member.fill_value.empty());
}

TEST(PlanPacking, Case6And7SeveralFills) {
  // The same fills in another order, and once more, are the same.
  const auto same = pair(of(kF4, {.fills = {bits(-1.0), bits(-2.0)}}),
                         of(kF4, {.fills = {bits(-2.0), bits(-1.0), bits(-1.0)}}));
  EXPECT_TRUE(treatment(*same->find("t2m"), 1).nothing());
  const auto other = pair(of(kF4, {.fills = {bits(-1.0), bits(-2.0)}}), of(kF4, {.fills = {bits(-1.0)}}));
  EXPECT_EQ(type_name(*other->find("t2m")), "<f4");
  EXPECT_TRUE(treatment(*other->find("t2m"), 0).unpack);
  EXPECT_TRUE(treatment(*other->find("t2m"), 1).unpack);
}

TEST(PlanPacking, Case8Unsigned) {
  MemberCard byte = of(whole(1), {.fills = {255}});
  byte.packing->read_as = byte.packing->shown = NumberKind::U8;
  set(byte, "_Unsigned", "true");
  const auto same = pair(byte, byte);
  EXPECT_EQ(type_name(*same->find("t2m")), "|i1");
  EXPECT_TRUE(treatment(*same->find("t2m"), 0).nothing());
  // Beside true unsigned ones it is read as such; the fill is that of both.
  const auto mixed = pair(byte, of(whole(1, false), {.fills = {255}}));
  const PlannedMember& member = *mixed->find("t2m");
  EXPECT_EQ(type_name(member), "|u1");
  EXPECT_EQ(treatment(member, 0).unpack->shown, NumberKind::U8);
  EXPECT_TRUE(treatment(member, 1).nothing());
  EXPECT_EQ(member.attributes_gone, (std::vector<std::string>{"_Unsigned"}));
  EXPECT_EQ(member.fill_value, (std::vector<std::byte>{std::byte{255}}));
  // Beside wider ones: what is read, not what is stored, is widened.
  MemberCard half = of(whole(2), {.fills = {255}});
  half.packing->read_as = half.packing->shown = NumberKind::U16;
  EXPECT_EQ(type_name(*pair(byte, half)->find("t2m")), "<u2");
}

TEST(PlanPacking, Case10ScalesThatAreNone) {
  MemberCard zero = of(whole(2), {.scale = 0.0});
  zero.packing_sound = false;
  EXPECT_FALSE(pair(zero, zero)->find("t2m")->error);
  const auto plan = pair(zero, of(whole(2), {.scale = 0.5}));
  EXPECT_NE(type_name(*plan->find("t2m")).find("scale_factor or add_offset of a.nc or b.nc is no number, 0"),
            std::string::npos);
  MemberCard vector = of(whole(2)), other = of(whole(2));
  vector.packing_sound = other.packing_sound = false;
  set(vector, "scale_factor", "1 2"), set(other, "scale_factor", "1 3");
  EXPECT_FALSE(pair(vector, vector)->find("t2m")->error);
  EXPECT_TRUE(pair(vector, other)->find("t2m")->error);
}

TEST(PlanPacking, BoundsThatDiffer) {
  const auto plan = pair(of(kF4, {.least = bits(0.0)}), of(kF4, {.least = bits(1.0)}));
  EXPECT_EQ(treatment(*plan->find("t2m"), 0).unpack->least, bits(0.0));
  EXPECT_EQ(type_name(*plan->find("t2m")), "<f4");
}

TEST(PlanPacking, NaNIsMissingWhateverIsSaid) {
  const auto plan = pair(of(kF4, {.fills = {bits(std::nan(""))}}), of(kF4), along("time", Conflict::Refuse));
  const PlannedMember& member = *plan->find("t2m");
  ASSERT_FALSE(member.error) << text(member.error);
  EXPECT_FALSE(member.unpacked);
  EXPECT_TRUE(treatment(member, 1).nothing());
  // Beside a number that stands for missing ones, all become NaN.
  const auto mixed = pair(of(kF4, {.fills = {bits(std::nan(""))}}), of(kF4, {.fills = {bits(-1.0)}}));
  EXPECT_TRUE(treatment(*mixed->find("t2m"), 1).unpack);
  EXPECT_FALSE(treatment(*mixed->find("t2m"), 1).fill);
}

TEST(PlanPacking, NumbersThatCannotBeUnpacked) {
  const auto half = dataset::float_type(2, format::ByteOrder::Little);
  MemberCard a = series(1, half), b = series(1, half);
  set(a, "_FillValue", "-1"), set(b, "_FillValue", "-2");
  EXPECT_FALSE(pair(a, a)->find("t2m")->error);
  EXPECT_NE(type_name(*pair(a, b)->find("t2m")).find("in a type that cannot be unpacked"), std::string::npos);
}

}  // namespace

}  // namespace h5mount::join::test
