// Slices, as NumPy's basic indexing defines them, and members of compounds.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <optional>

#include "arrays.h"
#include "every_type.h"

namespace h5mount::test {
namespace {

using Bound = std::optional<std::int64_t>;

// One item of a selection. An index has only `start`, and keeps no dimension.
struct Item {
  bool index = false;
  Bound start = {}, stop = {}, step = {};

  std::string text() const {
    const auto number = [](const Bound& bound) { return bound ? fmt::format("{}", *bound) : std::string(); };
    if (index) return number(start);
    return number(start) + ":" + number(stop) + (step ? ":" + number(step) : "");
  }
  // The places that it selects, by going through all of them.
  std::vector<std::int64_t> places(std::int64_t extent) const {
    const auto from_start = [&](const Bound& bound, std::int64_t otherwise) {
      const std::int64_t place = bound.value_or(otherwise);
      return place < 0 ? place + extent : place;
    };
    if (index) return {from_start(start, 0)};
    const std::int64_t begin = std::max<std::int64_t>(from_start(start, 0), 0),
                       end = from_start(stop, extent);
    std::vector<std::int64_t> out;
    for (std::int64_t place = begin; place < std::min(end, extent); ++place)
      if ((place - begin) % step.value_or(1) == 0) out.push_back(place);
    return out;
  }
};

view::ComputedFilePtr selected(std::string_view path, const std::string& selection,
                               std::string_view view = "") {
  SCOPED_TRACE(selection);
  return arrays().open(view, path, view::derive_selection(selection));
}

TEST(Slices, OfALineWithAllBoundsAndSteps) {
  std::vector<Bound> bounds{std::nullopt};
  for (std::int64_t bound = -9; bound <= 9; ++bound) bounds.push_back(bound);
  for (const Bound& start : bounds)
    for (const Bound& stop : bounds)
      for (const Bound step : {Bound(), Bound(1), Bound(2), Bound(3), Bound(7), Bound(100)}) {
        const Item item{false, start, stop, step};
        std::string wanted;
        for (const std::int64_t place : item.places(7)) wanted += static_cast<char>(place);
        const auto file = selected("line", item.text());
        ASSERT_EQ(all_of(*file), wanted) << item.text();
        ASSERT_EQ(file->size(), wanted.size()) << item.text();
      }
  for (std::int64_t place = -7; place < 7; ++place)
    EXPECT_EQ(all_of(*selected("line", fmt::format("{}", place))),
              std::string(1, static_cast<char>(place < 0 ? place + 7 : place)));
}

Item random_item(std::mt19937_64& random, std::int64_t extent) {
  const auto below = [&](std::int64_t count) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(count));
  };
  if (below(3) == 0) return {true, below(2 * extent) - extent};
  const auto bound = [&] { return below(3) == 0 ? Bound() : Bound(below(3 * extent) - extent); };
  return {false, bound(), bound(), below(2) == 0 ? Bound() : Bound(1 + below(4))};
}

// Of a cube in chunks and of one in a piece; element [i, j, k] is 100 i + 10 j + k.
TEST(Slices, OfCubesAtRandom) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 150; ++round) {
    const Item items[] = {random_item(random, 4), random_item(random, 5), random_item(random, 6)};
    std::string wanted;
    for (const std::int64_t i : items[0].places(4))
      for (const std::int64_t j : items[1].places(5))
        for (const std::int64_t k : items[2].places(6))
          wanted += number(static_cast<std::uint64_t>(100 * i + 10 * j + k), 2);
    const std::string text = items[0].text() + "," + items[1].text() + "," + items[2].text();
    SCOPED_TRACE(text);
    for (const char* path : {"cube", "whole_cube"}) {
      const auto file = selected(path, text);
      ASSERT_EQ(all_of(*file), wanted);
      if (round % 10 == 0) expect_file(*file, wanted);
    }
  }
}

TEST(Slices, DimensionsThatAreNotNamedAreWhole) {
  const auto cube = [](const std::string& selection) { return all_of(*selected("cube", selection)); };
  EXPECT_EQ(cube("1"), cube("1,:,:"));
  EXPECT_EQ(cube("..."), cube(":,:,:"));
  EXPECT_EQ(cube("...,0"), cube(":,:,0"));
  EXPECT_EQ(cube("2,...,-1"), cube("2,:,5"));
  EXPECT_EQ(cube("1,2,...,3"), cube("1,2,3"));
  EXPECT_EQ(cube("1,2,3"), number(123, 2));
}

TEST(Slices, WhatIsNoSelectionIsNone) {
  for (const char* text : {"", "4", "-5", "::0", "::-1", "0:1:2:3", "01", "+1", " 1", "1 ", "0,0,0,0",
                           "...,...", "a", "1.0", "0,", ",0", "--1", "1:a"}) {
    const auto part = view::derive_selection(text)->open(arrays().reader("cube"));
    ASSERT_FALSE(part) << text;
    EXPECT_EQ(part.error().code(), ErrorCode::NotFound) << text;
  }
}

TEST(Slices, AreDatasetsForOtherViews) {
  const auto npy = selected("whole_cube", "1,::2,-2:", ".npy");
  const std::string whole = all_of(*npy);
  EXPECT_NE(whole.find("'shape': (3, 2, )"), std::string::npos);
  EXPECT_EQ(whole.substr(4096), numbers({104, 105, 124, 125, 144, 145}, 2));
  expect_file(*selected("whole_cube", "1,::2,-2:", ".csv"), "0,1\n104,105\n124,125\n144,145\n");
  expect_file(*selected("cube", "3,1:3,2", ".ndjson"), "{\"value\":312   }\n{\"value\":322   }\n");
}

view::DerivationPtr member(std::vector<std::string> path) {
  return view::derive_member(std::move(path));
}

TEST(Fields, AreTheBytesOfAMember) {
  const ViewFile& file = every_type();
  expect_file(*file.open("", "table", member({"id"})), numbers({0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD}, 4));
  expect_file(*file.open("", "table", member({"p", "x"})), numbers({0, 0xFFFF, 0xFFFE}, 2));
  expect_file(*file.open("", "table", member({"p", "y"})),
              numbers({0x3F000000, 0x3FC00000, 0x40200000}, 4, Order::Big));
  expect_file(*file.open("", "table", member({"v"})), std::string("\0\x80\1\x81\2\x82", 6));
  expect_file(*file.open("", "table", member({"name"})), std::string("one\0\0\0a,b", 9));
  std::string points;  // as they are in the rows, from byte 4 on
  for (std::size_t row = 0; row < 3; ++row) points += table_rows().substr(26 * row + 4, 12);
  expect_file(*file.open("", "table", member({"p"})), points);
  expect_file(*file.open("", "one_row", member({"p", "x"})), number(0xFFFF, 2));
  expect_file(*file.open("", "odd_names", member({"new\nline"})), "\3");
}

TEST(Fields, AreDatasetsForOtherViews) {
  const ViewFile& file = every_type();
  expect_file(*file.open(".csv", "table", member({"p", "y"})), "value\n0.5\n1.5\n2.5\n");
  expect_file(*file.open(".csv", "table", member({"p"})), "x,y\n0,0.5\n-1,1.5\n-2,2.5\n");
  EXPECT_EQ(all_of(*file.open(".npy", "table", member({"v"}))).substr(4096),
            std::string("\0\x80\1\x81\2\x82", 6));
}

TEST(Fields, ThereAreNoOthers) {
  for (const std::vector<std::string>& path : {std::vector<std::string>{"none"}, {"p", "z"}, {"id", "x"}})
    EXPECT_FALSE(member(path)->open(every_type().reader("table")));
  EXPECT_FALSE(member({"x"})->open(every_type().reader("scalar")));
}

}  // namespace
}  // namespace h5mount::test
