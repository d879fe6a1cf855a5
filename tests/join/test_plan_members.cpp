// Rules 1, 2, 3 and 6: members, shapes, types, attributes.
#include <gtest/gtest.h>

#include "cards.h"
#include "h5mount/text/value_text.h"

namespace h5mount::join::test {

namespace {

using format::ByteOrder;

// A month of a file, with members beside t2m.
File monthly(std::string name, double day, std::vector<MemberCard> members) {
  File out(std::move(name));
  out.axis("time", kF8, {day}, "days since 2000-01-01");
  for (MemberCard& member : members) out.add(std::move(member));
  return out;
}
PlanPtr two(MemberCard a, MemberCard b, const Options& options = along("time")) {
  return planned({monthly("a.nc", 0, {std::move(a)}), monthly("b.nc", 1, {std::move(b)})}, options);
}
std::string joined(DatatypePtr a, DatatypePtr b) {
  const auto plan = two(series(1, std::move(a)), series(1, std::move(b)));
  const PlannedMember& member = *plan->find("t2m");
  return member.error ? "error" : text::datatype_text(*member.type);
}
MemberCard latitude(std::string_view values, std::uint64_t length = 2) {
  MemberCard out = variable("lat", kF4, {length}, {"lat"});
  out.is_scale = out.is_coordinate = true;
  out.values = out.decoded = digest(values);
  return out;
}

DatatypePtr fixed(std::uint32_t size, format::CharacterSet charset = format::CharacterSet::Ascii,
                  format::StringPadding padding = format::StringPadding::NullPad) {
  auto out = std::make_shared<format::Datatype>();
  out->cls = format::DatatypeClass::String;
  out->size = size;
  out->charset = charset, out->padding = padding;
  return out;
}

TEST(PlanMembers, Case22TheAxisInSomeVariablesOnly) {
  MemberCard mask = variable("mask", kF4, {2});
  mask.values = mask.decoded = digest("mask");
  const auto plan = two(mask, mask);
  const PlannedMember& member = *plan->find("mask");
  EXPECT_FALSE(member.error);
  EXPECT_FALSE(member.axis);
  EXPECT_TRUE(member.compared);
  MemberCard other = mask;
  other.values = other.decoded = digest("another");
  EXPECT_EQ(text(two(mask, other)->find("mask")->error),
            "/mask: its values in a.nc and b.nc differ; without the axis they must be equal in all "
            "(join_conflict=first takes the first's, match= leaves files out)");
  EXPECT_FALSE(two(mask, other, along("time", Conflict::First))->find("mask")->error);
  EXPECT_NE(text(two(series(1), variable("t2m", kF4, {1, 1}, {"time", "time"}))->find("t2m")->error)
                .find("b.nc has the axis twice"),
            std::string::npos);
}

TEST(PlanMembers, LargeCopiesAreNotCompared) {
  MemberCard large = variable("orography", kF4, {1000, 1000});
  EXPECT_FALSE(two(large, large)->find("orography")->compared);
  MemberCard other = large;
  set(other, "long_name", "another");
  EXPECT_NE(text(two(large, other)->find("orography")->error).find("differ in its attributes"),
            std::string::npos);
  large.is_coordinate = true;
  EXPECT_NE(text(two(large, large)->find("orography")->error).find("cannot be compared"), std::string::npos);
}

TEST(PlanMembers, Case23CoordinatesThatDifferInTheLastBit) {
  const auto value = variable("t2m", kF4, {1, 2}, {"time", "lat"});
  const std::vector<FileCardPtr> cards = {monthly("a.nc", 0, {value, latitude("45.0")}),
                                          monthly("b.nc", 1, {value, latitude("45.000004")})};
  const auto plan = planned(cards);
  EXPECT_TRUE(plan->find("lat")->error);
  EXPECT_NE(text(plan->find("t2m")->error).find("/lat: its values in a.nc and b.nc differ"),
            std::string::npos);
  EXPECT_NE(text(plan->find("t2m")->error).find("the coordinate of /t2m"), std::string::npos);
  EXPECT_EQ(plan->find("t2m")->starts, nullptr);
  EXPECT_FALSE(plan->find("time")->error);
  const auto first = planned(cards, along("time", Conflict::First));
  EXPECT_FALSE(first->find("t2m")->error);
  EXPECT_EQ(first->find("lat")->from, 0U);
}

TEST(PlanMembers, Case24AVariableMissingInSomeFiles) {
  const auto with = [](MemberCard card, Gap gap = Gap::Fill) {
    Options options = along("time");
    options.gap = gap;
    return planned({monthly("a.nc", 0, {}), monthly("b.nc", 1, {std::move(card)})}, options);
  };
  const auto plan = with(series(1));
  const PlannedMember& member = *plan->find("t2m");
  ASSERT_FALSE(member.error) << text(member.error);
  EXPECT_EQ(member.from, 1U);
  EXPECT_EQ(member.missing_in, 1U);
  EXPECT_EQ(member.parts[0].treatment, PlannedMember::kGap);
  EXPECT_EQ(member.gap_fill,
            (std::vector<std::byte>{std::byte{0}, std::byte{0}, std::byte{0xC0}, std::byte{0x7F}}));
  EXPECT_EQ(*member.starts, (std::vector<std::uint64_t>{0, 1, 2}));
  EXPECT_NE(text(with(series(1), Gap::Refuse)->find("t2m")->error).find("join_gap=fill"), std::string::npos);
  EXPECT_NE(
      text(with(series(1, whole(2)))->find("t2m")->error).find("a.nc does not have it, and there is no fill"),
      std::string::npos);
  const auto filled = with(packed(series(1, whole(2, true, ByteOrder::Big)), {.fills = {bits(-2)}}));
  EXPECT_EQ(filled->find("t2m")->gap_fill, (std::vector<std::byte>{std::byte{0xFF}, std::byte{0xFE}}));
  EXPECT_TRUE(with(series(1, fixed(4)))->find("t2m")->error);
  // Of a file without records there is no gap.
  const auto empty = planned({monthly("a.nc", 0, {series(1, whole(2))}), File("b.nc").axis("time", kF8, {})},
                             by_name("time"));
  EXPECT_FALSE(empty->find("t2m")->error) << text(empty->find("t2m")->error);
}

TEST(PlanMembers, Case25ScalarInOneFileAndAlongTheAxisInAnother) {
  const auto plan = two(series(1), variable("t2m", kF4, {}));
  EXPECT_EQ(text(plan->find("t2m")->error),
            "/t2m: a.nc has the axis, b.nc does not (match= leaves files out)");
}

TEST(PlanMembers, Case21And26OtherExtentsMustBeEqual) {
  const auto at = [](std::uint64_t x, std::uint64_t time) {
    return variable("t2m", kF4, {x, time}, {"", "time"});
  };
  const auto plan = two(at(3, 1), at(3, 1));
  EXPECT_EQ(plan->find("t2m")->axis, 1U);
  EXPECT_EQ(plan->find("t2m")->space.dims, (std::vector<std::uint64_t>{3, 2}));
  EXPECT_NE(
      text(two(at(10, 1), at(12, 1))->find("t2m")->error).find("[10,1] in a.nc, [12,1] in b.nc: all extents"),
      std::string::npos);
  EXPECT_NE(text(two(at(3, 1), variable("t2m", kF4, {1, 3}, {"time", ""}))->find("t2m")->error)
                .find("the axis is dimension 1 in a.nc, 0 in b.nc"),
            std::string::npos);
  EXPECT_NE(
      text(two(series(2), series(1))->find("t2m")->error).find("in a.nc it has 2 along /time, which has 1"),
      std::string::npos);
}

TEST(PlanMembers, Case32And33KindsAndLinks) {
  const auto plan = planned({monthly("a.nc", 0, {group("g"), variable("g/x", kF4, {1}, {"time"})}),
                             monthly("b.nc", 1, {variable("g", kF4, {1}, {"time"})})});
  EXPECT_NE(text(plan->find("g")->error).find("/g: a group in a.nc, a dataset in b.nc"), std::string::npos);
  EXPECT_EQ(plan->find("g/x"), nullptr);
  MemberCard link = group("t");
  link.kind = MemberCard::Kind::SoftLink;
  link.target = "/time";
  EXPECT_FALSE(two(link, link)->find("t")->error);
  MemberCard other = link;
  other.target = "/t2m";
  EXPECT_NE(text(two(link, other)->find("t")->error).find("it leads to /time in a.nc, to /t2m in b.nc"),
            std::string::npos);
  MemberCard broken = series(1);
  broken.error = Error(ErrorCode::ChecksumMismatch, "its header is damaged");
  EXPECT_NE(
      text(two(series(1), broken)->find("t2m")->error).find("cannot be read in b.nc: its header is damaged"),
      std::string::npos);
}

TEST(PlanMembers, PlainFilesByTheNumberOfTheDimension) {
  const auto file = [](std::string name, std::uint64_t frames) {
    return File(std::move(name))
        .add(variable("a", kF4, {frames, 4}))
        .add(variable("b", kF4, {2 * frames}))
        .add(variable("scalar", kF4, {}));
  };
  const auto plan = planned({file("10.h5", 3), file("9.h5", 5)}, along(":0"));
  ASSERT_FALSE(plan->error);
  EXPECT_EQ(names(*plan), (std::vector<std::string>{"9.h5", "10.h5"}));
  EXPECT_EQ(*plan->find("a")->starts, (std::vector<std::uint64_t>{0, 5, 8}));
  EXPECT_EQ(*plan->find("b")->starts, (std::vector<std::uint64_t>{0, 10, 16}));
  EXPECT_FALSE(plan->find("scalar")->axis);
  EXPECT_EQ(planned({file("a.h5", 3), file("b.h5", 3)}, along(":1"))->find("a")->space.dims[1], 8U);
}

TEST(PlanMembers, UnionOfMembers) {
  MemberCard x = variable("x", kF4, {2}), y = variable("y", kF4, {2});
  x.values = x.decoded = digest("x");
  const auto plan = planned({File("a.h5").add(x), File("b.h5").add(x).add(y)}, along("union"));
  ASSERT_FALSE(plan->error);
  EXPECT_EQ(plan->find("x")->files, 2U);
  EXPECT_EQ(plan->find("y")->from, 1U);
  EXPECT_EQ(plan->find("y")->missing_in, 1U);
  x.values = x.decoded = digest("y");
  EXPECT_TRUE(planned({File("a.h5").add(x), File("b.h5").add(variable("x", kF4, {3}))}, along("union"))
                  ->find("x")
                  ->error);
}

TEST(PlanMembers, LengthsAreThoseOfEachFile) {
  // One card in two files, of which the second has another time.
  const auto shared = std::make_shared<const MemberCard>(series(1));
  File a("a.nc"), b("b.nc");
  a.axis("time", kF8, {0}).add(shared);
  b.axis("time", kF8, {1, 2}).add(shared);
  EXPECT_NE(text(planned({a, b})->find("t2m")->error).find("in b.nc it has 1 along /time, which has 2"),
            std::string::npos);
}

TEST(PlanMembers, GapsOfHalfAndComplexNumbers) {
  const auto gap = [](DatatypePtr type) {
    return planned({monthly("a.nc", 0, {}), monthly("b.nc", 1, {series(1, std::move(type))})})
        ->find("t2m")
        ->gap_fill;
  };
  EXPECT_EQ(gap(dataset::float_type(2, ByteOrder::Big)),
            (std::vector<std::byte>{std::byte{0x7E}, std::byte{0}}));
  auto complex = std::make_shared<format::Datatype>();
  complex->cls = format::DatatypeClass::Compound;
  complex->size = 8;
  complex->members = {{"r", 0, kF4}, {"i", 4, kF4}};
  const std::vector<std::byte> both = gap(complex);
  ASSERT_EQ(both.size(), 8U);
  EXPECT_EQ(both[3], std::byte{0x7F});
  EXPECT_EQ(both[7], std::byte{0x7F});
}

TEST(PlanMembers, Case40LargeAttributesAreNotCopied) {
  MemberCard a = series(1);
  set(a, "long_name", std::string(1'000'000, 'x'));
  const auto card = std::make_shared<const MemberCard>(a);
  File one("a.nc"), other("b.nc");
  one.axis("time", kF8, {0}).add(card);
  other.axis("time", kF8, {1}).add(card);
  const auto plan = planned({one, other});
  EXPECT_EQ(plan->find("t2m")->card, card);
  EXPECT_EQ(plan->find("t2m")->treatments.size(), 1U);
}

// ---- rule 3

TEST(PlanTypes, Case29ByteOrdersAndWidths) {
  EXPECT_EQ(joined(whole(2), whole(2, true, ByteOrder::Big)), "<i2");
  EXPECT_EQ(joined(whole(2, true, ByteOrder::Big), whole(4, true, ByteOrder::Big)), ">i4");
  EXPECT_EQ(joined(whole(2), whole(4)), "<i4");
  EXPECT_EQ(joined(whole(2), whole(2, false)), "<i4");
  EXPECT_EQ(joined(whole(8), whole(4, false)), "<i8");
  EXPECT_EQ(joined(whole(4), whole(8, false)), "error");
  EXPECT_EQ(joined(kF4, kF8), "<f8");
  EXPECT_EQ(joined(kF4, whole(2)), "<f8");
  EXPECT_EQ(joined(kF4, whole(4, false)), "<f8");
  EXPECT_EQ(joined(kF8, whole(8)), "error");
  EXPECT_EQ(joined(dataset::float_type(2, ByteOrder::Little), kF4), "<f4");
  // Whatever the order in which files come.
  const auto three = planned({monthly("a", 0, {series(1, whole(4, false))}),
                              monthly("b", 1, {series(1, whole(4))}), monthly("c", 2, {series(1, kF4)})});
  EXPECT_EQ(text::datatype_text(*three->find("t2m")->type), "<f8");
  EXPECT_NE(text(two(series(1, whole(8)), series(1, kF4))->find("t2m")->error)
                .find("a.nc has the type <i8, b.nc has <f4: no type holds both exactly"),
            std::string::npos);
}

TEST(PlanTypes, Case26Strings) {
  const auto plan = two(series(1, fixed(10)), series(1, fixed(12, format::CharacterSet::Utf8)));
  const format::Datatype& type = *plan->find("t2m")->type;
  EXPECT_EQ(type.size, 12U);
  EXPECT_EQ(type.charset, format::CharacterSet::Utf8);
  const auto padded = two(series(1, fixed(4)), series(1, fixed(4, {}, format::StringPadding::NullTerminate)));
  EXPECT_EQ(padded->find("t2m")->type->padding, format::StringPadding::NullPad);
  auto variable_length = std::make_shared<format::Datatype>();
  variable_length->cls = format::DatatypeClass::VariableLength;
  variable_length->size = 16;
  variable_length->variable_string = true;
  EXPECT_EQ(joined(fixed(4), variable_length), "error");
  EXPECT_EQ(joined(fixed(4), kF4), "error");
}

DatatypePtr enumeration(const std::vector<std::pair<std::string, int>>& names, std::uint32_t bytes = 1) {
  auto out = std::make_shared<format::Datatype>();
  out->cls = format::DatatypeClass::Enum;
  out->size = bytes;
  out->base = whole(bytes);
  for (const auto& [name, code] : names) {
    out->enum_members.push_back({name, std::vector<std::byte>(bytes, std::byte{0})});
    out->enum_members.back().value[0] = static_cast<std::byte>(code);
  }
  return out;
}

TEST(PlanTypes, Case27EnumerationsMerge) {
  EXPECT_EQ(joined(enumeration({{"A", 0}, {"B", 1}}), enumeration({{"B", 1}, {"C", 2}})),
            text::datatype_text(*enumeration({{"A", 0}, {"B", 1}, {"C", 2}})));
  EXPECT_EQ(joined(enumeration({{"A", 0}}), enumeration({{"A", 0}, {"B", 1}}, 2)),
            text::datatype_text(*enumeration({{"A", 0}, {"B", 1}}, 2)));
  EXPECT_EQ(joined(enumeration({{"A", 0}}), enumeration({{"A", 1}})), "error");
  EXPECT_EQ(joined(enumeration({{"A", 0}}), enumeration({{"B", 0}})), "error");
}

DatatypePtr compound(const std::vector<std::tuple<std::string, std::uint32_t, DatatypePtr>>& members,
                     std::uint32_t size) {
  auto out = std::make_shared<format::Datatype>();
  out->cls = format::DatatypeClass::Compound;
  out->size = size;
  for (const auto& [name, offset, type] : members) out->members.push_back({name, offset, type});
  return out;
}

TEST(PlanTypes, Case28Compounds) {
  const auto padded = compound({{"a", 0, whole(1)}, {"b", 8, kF8}}, 16);
  const auto equal = compound({{"a", 0, whole(1)}, {"b", 8, kF8}}, 16);
  const auto turned = compound({{"b", 0, kF8}, {"a", 8, whole(1)}}, 16);
  EXPECT_EQ(two(series(1, padded), series(1, equal))->find("t2m")->type->size, 16U);
  const auto plan = two(series(1, padded), series(1, turned));
  const format::Datatype& type = *plan->find("t2m")->type;
  EXPECT_EQ(type.size, 9U);
  EXPECT_EQ(type.members[0].name, "a");
  EXPECT_EQ(type.members[1].offset, 1U);
  EXPECT_EQ(joined(padded, compound({{"a", 0, whole(1)}, {"c", 8, kF8}}, 16)), "error");
  EXPECT_EQ(joined(padded, compound({{"a", 0, whole(2)}, {"b", 8, kF8}}, 16)), "error");
}

// ---- rule 6

TEST(PlanAttributes, EqualOnesAreKeptOthersNamed) {
  MemberCard a = series(1), b = series(1);
  set(a, "long_name", "temperature"), set(b, "long_name", "temperature");
  set(a, "history", "one"), set(b, "history", "two");
  set(a, "only_a", "x"), set(b, "only_b", "x");
  set(a, "_Netcdf4Dimid", "0"), set(b, "_Netcdf4Dimid", "1");
  set(a, "actual_range", "0 1"), set(b, "actual_range", "2 3");
  const auto plan = two(a, b);
  const PlannedMember& member = *plan->find("t2m");
  EXPECT_EQ(member.attributes_differ, (std::vector<std::string>{"history", "only_a", "only_b"}));
  EXPECT_EQ(member.attributes_gone, (std::vector<std::string>{"_Netcdf4Dimid", "actual_range"}));
}

TEST(PlanAttributes, RootAttributes) {
  const auto file = [](std::string name, double day, std::string_view start) {
    FileCard out = *FileCardPtr(daily(std::move(name), {day}, series(1)));
    MemberCard root = group("");
    set(root, "time_coverage_start", std::string(start));
    set(root, "title", "the same");
    out.members[0] = std::make_shared<MemberCard>(root);
    return std::make_shared<FileCard>(out);
  };
  const auto plan = planned({file("a", 0, "2000"), file("b", 1, "2001")});
  EXPECT_EQ(plan->members[0].card->path, "");
  EXPECT_TRUE(plan->members[0].attributes_differ.empty());
  EXPECT_EQ(plan->members[0].attributes_gone, (std::vector<std::string>{"time_coverage_start"}));
}

TEST(PlanAttributes, SomeMustAgree) {
  MemberCard a = series(1), b = series(1);
  set(a, "cell_methods", "time: mean"), set(b, "cell_methods", "time: maximum");
  EXPECT_NE(text(two(a, b)->find("t2m")->error).find("a.nc and b.nc differ in cell_methods"),
            std::string::npos);
}

}  // namespace

}  // namespace h5mount::join::test
