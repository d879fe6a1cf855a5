// Rules 8 and 9: chunks, and new axes. The rows that are told of files.
#include <gtest/gtest.h>

#include <cstring>

#include "cards.h"
#include "h5mount/text/value_text.h"

namespace h5mount::join::test {

namespace {

using Lengths = std::vector<std::uint64_t>;

MemberCard grid(std::uint64_t records, Lengths chunk, std::string_view filters = "deflate") {
  MemberCard out = variable("t2m", kF4, {records, 512, 1024}, {"time", "", ""});
  return chunk.empty() ? out : chunked(std::move(out), std::move(chunk), filters);
}
std::vector<double> days(double first, std::uint64_t count) {
  std::vector<double> out;
  for (std::uint64_t i = 0; i < count; ++i) out.push_back(first + static_cast<double>(i));
  return out;
}
// Of files of those lengths and cards.
PlanPtr chunks_of(const std::vector<std::pair<std::uint64_t, MemberCard>>& cards) {
  std::vector<FileCardPtr> files;
  double first = 0;
  for (const auto& [length, card] : cards) {
    files.push_back(daily("f" + std::to_string(files.size()), days(first, length), card));
    first += static_cast<double>(length);
  }
  return planned(files);
}

TEST(PlanChunks, StoredWhereAllAgree) {
  const auto plan =
      chunks_of({{4, grid(4, {2, 512, 1024})}, {6, grid(6, {2, 512, 1024})}, {3, grid(3, {2, 512, 1024})}});
  EXPECT_TRUE(plan->find("t2m")->stored);
  EXPECT_EQ(plan->find("t2m")->chunk, (Lengths{2, 512, 1024}));
  // A part in the middle that ends within a chunk; case 3: chunks longer than files.
  EXPECT_FALSE(chunks_of({{3, grid(3, {2, 512, 1024})}, {4, grid(4, {2, 512, 1024})}})->find("t2m")->stored);
  EXPECT_FALSE(
      chunks_of({{30, grid(30, {1024, 512, 1024})}, {30, grid(30, {1024, 512, 1024})}})->find("t2m")->stored);
  // Another codec; another fill of chunks that are not there; another packing.
  EXPECT_FALSE(
      chunks_of({{2, grid(2, {2, 512, 1024})}, {2, grid(2, {2, 512, 1024}, "zstd")}})->find("t2m")->stored);
  MemberCard filled = grid(2, {2, 512, 1024});
  filled.fill = {std::byte{1}};
  EXPECT_FALSE(chunks_of({{2, grid(2, {2, 512, 1024})}, {2, filled}})->find("t2m")->stored);
  EXPECT_FALSE(chunks_of({{2, grid(2, {2, 512, 1024})}, {2, packed(grid(2, {2, 512, 1024}), {.scale = 0.5})}})
                   ->find("t2m")
                   ->stored);
  // Small ones that are very many: netCDF's chunks of one record.
  const auto fine = chunks_of({{30, grid(30, {1, 64, 64})}, {30, grid(30, {1, 64, 64})}});
  EXPECT_FALSE(fine->find("t2m")->stored);
  EXPECT_GT(fine->find("t2m")->chunk[0], 1U);
  EXPECT_TRUE(chunks_of({{3, grid(3, {1, 64, 64})}, {3, grid(3, {1, 64, 64})}})->find("t2m")->stored);
}

TEST(PlanChunks, Case1TheCommonDivisor) {
  // 61 divides no year; 2 MiB a place.
  const auto years = chunks_of({{365, grid(365, {61, 512, 1024})}, {366, grid(366, {61, 512, 1024})}});
  EXPECT_EQ(years->find("t2m")->chunk, (Lengths{61, 512, 1024}));
  EXPECT_FALSE(years->find("t2m")->stored);
  const auto two = chunks_of({{12, grid(12, {12, 512, 1024})}, {8, grid(8, {8, 512, 1024})}});
  EXPECT_EQ(two->find("t2m")->chunk[0], 4U);
}

TEST(PlanChunks, Case2OtherwiseOfAGoodSize) {
  const auto flat = [](std::uint64_t records) {
    return variable("t2m", kF4, {records, 256, 1024}, {"time", "", ""});
  };
  // 1 MiB a place. Files of unequal lengths: 8 MiB.
  EXPECT_EQ(chunks_of({{30, flat(30)}, {31, flat(31)}, {30, flat(30)}})->find("t2m")->chunk,
            (Lengths{8, 256, 1024}));
  // Equal ones: at their borders.
  EXPECT_EQ(chunks_of({{3, flat(3)}, {3, flat(3)}, {1, flat(1)}})->find("t2m")->chunk[0], 6U);
  EXPECT_EQ(chunks_of({{12, flat(12)}, {12, flat(12)}})->find("t2m")->chunk[0], 12U);
  EXPECT_EQ(chunks_of({{30, flat(30)}, {30, flat(30)}})->find("t2m")->chunk[0], 15U);
  // Of more than 16 MiB a place the inner dimensions are cut.
  const auto wide = chunks_of({{1, variable("t2m", kF8, {1, 8192, 8192}, {"time", "", ""})},
                               {1, variable("t2m", kF8, {1, 8192, 8192}, {"time", "", ""})}});
  EXPECT_EQ(wide->find("t2m")->chunk, (Lengths{1, 256, 8192}));
  // Small chunks of files are a part of large ones.
  const auto small = chunks_of({{365, chunked(variable("t2m", kF8, {365}, {"time"}), {7})},
                                {366, chunked(variable("t2m", kF8, {366}, {"time"}), {14})}});
  EXPECT_EQ(small->find("t2m")->chunk[0], 731U);  // all of it
}

TEST(PlanChunks, Case3ChunksLongerThanFiles) {
  // 1,024 places of 2 MiB are not read at once where files have 30: 8 MiB are.
  const auto plan = chunks_of({{30, grid(30, {1024, 512, 1024})},
                               {31, grid(31, {1024, 512, 1024})},
                               {3, grid(3, {1024, 512, 1024})}});
  EXPECT_EQ(plan->find("t2m")->chunk[0], 4U);
}

// ---- rule 9

Options new_axis(Axis::Source source = Axis::Source::Pattern) {
  Options out = along("+run");
  out.axis.source = source;
  out.axis.text = "x";
  return out;
}
Label whole_label(std::int64_t value) {
  return {Label::Kind::Number, Number{true, value, 0}, std::to_string(value)};
}
File run(std::string name, Label label) {
  MemberCard scale = variable("x", kF4, {3}, {"x"});
  scale.is_scale = scale.is_coordinate = true;
  scale.values = scale.decoded = digest("x");
  File out(std::move(name));
  return out.add(scale).add(variable("y", kF4, {3}, {"x"})).label(std::move(label));
}

TEST(PlanNewAxis, StacksDatasetsAndKeepsEqualScales) {
  const auto plan = planned({run("b", whole_label(10)), run("a", whole_label(9))}, new_axis());
  ASSERT_FALSE(plan->error) << text(plan->error);
  EXPECT_EQ(names(*plan), (std::vector<std::string>{"a", "b"}));
  const PlannedMember& member = *plan->find("y");
  EXPECT_TRUE(member.added_axis);
  EXPECT_EQ(member.axis, 0U);
  EXPECT_EQ(member.space.dims, (Lengths{2, 3}));
  EXPECT_EQ(member.scales, (std::vector<std::string>{"run", "x"}));
  EXPECT_EQ(*member.starts, (Lengths{0, 1, 2}));
  EXPECT_EQ(member.chunk.size(), 2U);
  EXPECT_FALSE(plan->find("x")->axis);
  const PlannedMember& coordinate = *plan->find("run");
  EXPECT_EQ(text::datatype_text(*coordinate.type), "<i8");
  ASSERT_EQ(coordinate.made.size(), 16U);
  EXPECT_EQ(coordinate.made[0], std::byte{9});
  EXPECT_EQ(coordinate.made[8], std::byte{10});
  EXPECT_EQ(coordinate.scales, (std::vector<std::string>{"run"}));
  EXPECT_EQ(plan->files[1].position, 1U);
}

TEST(PlanNewAxis, AScaleThatDiffersHasTheAxisAndIsNoIndex) {
  FileCard other = *FileCardPtr(run("b", whole_label(2)));
  for (MemberCardPtr& member : other.members)
    if (member->path == "x") {
      MemberCard changed = *member;
      changed.values = changed.decoded = digest("others");
      member = std::make_shared<MemberCard>(changed);
    }
  const auto plan = planned({run("a", whole_label(1)), std::make_shared<FileCard>(other)}, new_axis());
  EXPECT_EQ(plan->find("x")->space.dims, (Lengths{2, 3}));
  EXPECT_EQ(plan->find("x")->scales, (std::vector<std::string>{"run", ""}));
  EXPECT_EQ(plan->find("y")->scales, (std::vector<std::string>{"run", ""}));
}

TEST(PlanNewAxis, FormsOfTheCoordinate) {
  Label real = {Label::Kind::Number, Number{false, 0, 0.5}, "0.5"};
  const auto mixed = planned({run("a", whole_label(1)), run("b", real)}, new_axis());
  EXPECT_EQ(text::datatype_text(*mixed->find("run")->type), "<f8");
  EXPECT_EQ(names(*mixed), (std::vector<std::string>{"b", "a"}));
  Label words = {Label::Kind::Text, {}, "control"};
  const auto texts = planned({run("a", whole_label(1)), run("b", words)}, new_axis());
  EXPECT_EQ(texts->find("run")->texts, (std::vector<std::string>{"1", "control"}));
  Label date = {Label::Kind::Time, Number{true, 86400, 0}, "19700102"};
  const auto dates = planned({run("a", date)}, new_axis(Axis::Source::Date));
  EXPECT_EQ(dates->find("run")->attributes_set[1].second, "seconds since 1970-01-01");
  const auto paths = planned({run("d/10.x.nc", {}), run("d/9.nc", {})}, along("+run"));
  EXPECT_EQ(paths->find("run")->texts, (std::vector<std::string>{"d/9", "d/10.x"}));
}

TEST(PlanNewAxis, WhatIsRefused) {
  EXPECT_NE(text(planned({run("a", whole_label(1)), run("b", whole_label(1))}, new_axis())->error)
                .find("a and b have the same value on the new axis run: '1'"),
            std::string::npos);
  EXPECT_EQ(text(planned({File("a").add(group("run")).add(variable("y", kF4, {}))}, along("+run"))->error),
            "a has a member /run already (join=+NAME with another name)");
  File unnamed("odd.nc");
  const auto plan = planned({run("a", whole_label(1)), unnamed}, new_axis());
  ASSERT_EQ(plan->left_out.size(), 1U);
  EXPECT_EQ(plan->left_out[0].why.text(), "its name does not match 'x'");
}

// ---- rows

TEST(PlanRows, EveryFileAndVariableIsInThem) {
  const Packed half = {.scale = 0.5, .fills = {bits(-1)}};
  File broken("broken.nc");
  broken.card().error = Error(ErrorCode::BadSignature, "no HDF5 file");
  MemberCard extra = variable("extra", kF4, {1}, {"time"});
  set(extra, "units", "m");
  const auto plan = planned({daily("a.nc", {0, 1}, packed(series(2, whole(2)), half)),
                             daily("b.nc", {2}, series(1)).add(extra), broken});
  std::vector<std::string> rows;
  for_each_row(*plan, [&](const FileRow& row) {
    const auto place = [](const std::optional<std::uint64_t>& at) { return at ? std::to_string(*at) : "-"; };
    rows.push_back(std::string(row.file) + " " + std::string(row.path) + " " + place(row.position) + " " +
                   place(row.length) + (row.first ? " first " : " ") + row.packing + " " + row.units + " " +
                   row.converted + " " + row.error);
    return true;
  });
  const std::vector<std::string> expected = {
      "a.nc extra 0 2   gap ",
      "a.nc t2m 0 2 first {\"scale_factor\":0.5,\"missing\":[-1]}  unpacked,type ",
      "a.nc time 0 2 first  days since 2000-01-01  ",
      "b.nc extra 2 1 first  m  ",
      "b.nc t2m 2 1   type ",
      "b.nc time 2 1  days since 2000-01-01  ",
      "broken.nc  - -    no HDF5 file"};
  EXPECT_EQ(rows, expected);
  std::size_t visited = 0;
  for_each_row(*plan, [&](const FileRow&) { return ++visited < 2; });
  EXPECT_EQ(visited, 2U);
}

}  // namespace

}  // namespace h5mount::join::test
