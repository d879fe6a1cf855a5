// Selections against brute force: the sorted list of selected linear positions.
#include "core/element_selection.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace h5mount::dataset {
namespace {

using Dims = std::vector<std::uint64_t>;

void check(const ElementSelection& s, const std::vector<std::uint64_t>& by_ordinal, std::uint64_t total) {
  ASSERT_EQ(s.count(), by_ordinal.size());
  std::map<std::uint64_t, std::uint64_t> ordinal_of;
  for (std::size_t i = 0; i < by_ordinal.size(); ++i) ordinal_of[by_ordinal[i]] = i;
  for (const auto& [begin, end] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {0, total}, {total / 3, total}, {total / 4, total / 2 + 1}, {total, total}}) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> seen;
    s.for_each_in_range(begin, end, [&](std::uint64_t linear, std::uint64_t n, std::uint64_t ordinal) {
      for (std::uint64_t k = 0; k < n; ++k) seen.emplace_back(linear + k, ordinal + k);
      return true;
    });
    std::vector<std::pair<std::uint64_t, std::uint64_t>> want;
    for (const auto& [linear, ordinal] : ordinal_of)
      if (linear >= begin && linear < end) want.emplace_back(linear, ordinal);
    EXPECT_EQ(seen, want);
  }
  const std::uint64_t n = by_ordinal.size();
  for (const auto& [begin, end] :
       std::vector<std::pair<std::uint64_t, std::uint64_t>>{{0, n}, {n / 3, n}, {n / 4, n / 2}}) {
    std::vector<std::uint64_t> seen;
    s.for_each_ordinal(begin, end, [&](std::uint64_t linear, std::uint64_t k) {
      for (std::uint64_t i = 0; i < k; ++i) seen.push_back(linear + i);
      return true;
    });
    EXPECT_EQ(seen, std::vector<std::uint64_t>(
                        by_ordinal.begin() + static_cast<std::ptrdiff_t>(begin),
                        by_ordinal.begin() + static_cast<std::ptrdiff_t>(std::max(begin, end))));
  }
}

std::vector<std::uint64_t> brute(const Dims& dims, const std::vector<std::set<std::uint64_t>>& axes) {
  std::vector<std::uint64_t> out;
  std::uint64_t total = 1;
  for (const auto d : dims) total *= d;
  for (std::uint64_t linear = 0; linear < total; ++linear) {
    std::uint64_t left = linear;
    bool in = true;
    for (std::size_t i = dims.size(); i-- > 0; left /= dims[i]) in = in && axes[i].contains(left % dims[i]);
    if (in) out.push_back(linear);
  }
  return out;
}

TEST(ElementSelection, RegularHyperslabs) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    format::Selection s;
    s.kind = format::Selection::Kind::Hyperslab;
    s.regular = true;
    Dims dims;
    std::vector<std::set<std::uint64_t>> axes;
    std::uint64_t total = 1;
    const std::size_t rank = 1 + random() % 3;
    s.rank = static_cast<std::uint32_t>(rank);
    for (std::size_t i = 0; i < rank; ++i) {
      const std::uint64_t block = 1 + random() % 3, stride = block + random() % 3, count = 1 + random() % 3;
      const std::uint64_t start = random() % 3, end = start + (count - 1) * stride + block;
      dims.push_back(end + random() % 2);
      total *= dims.back();
      s.start.push_back(start), s.stride.push_back(stride), s.count.push_back(count),
          s.block.push_back(block);
      std::set<std::uint64_t> axis;
      for (std::uint64_t c = 0; c < count; ++c)
        for (std::uint64_t b = 0; b < block; ++b) axis.insert(start + c * stride + b);
      axes.push_back(axis);
    }
    const auto made = ElementSelection::make(s, dims);
    ASSERT_TRUE(made) << made.error().text();
    check(*made, brute(dims, axes), total);
  }
}

TEST(ElementSelection, AllNoneAndScalar) {
  format::Selection all;
  all.kind = format::Selection::Kind::All;
  const auto made = ElementSelection::make(all, Dims{3, 4});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->count(), 12U);
  std::uint64_t runs = 0;
  made->for_each_in_range(0, 12, [&](std::uint64_t, std::uint64_t, std::uint64_t) { return ++runs, true; });
  EXPECT_EQ(runs, 3U);
  EXPECT_EQ(ElementSelection::make(all, Dims{})->count(), 1U);
  EXPECT_EQ(ElementSelection::make(format::Selection{}, Dims{3})->count(), 0U);
}

TEST(ElementSelection, BlocksAreASetInRowMajorOrder) {
  format::Selection s;
  s.kind = format::Selection::Kind::Hyperslab;
  s.rank = 2;
  s.blocks = {0, 5, 1, 5, 0, 1, 1, 2, 1, 2, 1, 3};  // (0,5)-(1,5), (0,1)-(1,2), overlapping (1,2)-(1,3)
  const auto made = ElementSelection::make(s, Dims{2, 6});
  ASSERT_TRUE(made);
  check(*made, {1, 2, 5, 7, 8, 9, 11}, 12);
}

TEST(ElementSelection, PointsKeepTheirOrder) {
  format::Selection s;
  s.kind = format::Selection::Kind::Points;
  s.rank = 1;
  s.points = {5, 1, 3};
  const auto made = ElementSelection::make(s, Dims{6});
  ASSERT_TRUE(made);
  check(*made, {5, 1, 3}, 6);
}

TEST(ElementSelection, OutsideTheExtentIsRefused) {
  format::Selection s;
  s.kind = format::Selection::Kind::Hyperslab;
  s.regular = true;
  s.rank = 1;
  s.start = {2}, s.stride = {2}, s.count = {3}, s.block = {2};
  EXPECT_TRUE(ElementSelection::make(s, Dims{8}));
  EXPECT_EQ(ElementSelection::make(s, Dims{7}).error().code(), ErrorCode::InvalidValue);
  s.count = {std::uint64_t{1} << 62};
  s.block = {8};
  EXPECT_FALSE(ElementSelection::make(s, Dims{8}));
  s.count = {format::kUnlimited};
  EXPECT_FALSE(ElementSelection::make(s, Dims{8}));
  s.rank = 2;
  EXPECT_FALSE(ElementSelection::make(s, Dims{8}));
}

TEST(ElementSelection, UnlimitedIsClippedWithinABlock) {
  format::Selection s;
  s.kind = format::Selection::Kind::Hyperslab;
  s.regular = true;
  s.rank = 1;
  s.start = {1}, s.stride = {5}, s.count = {format::kUnlimited}, s.block = {3};
  EXPECT_EQ(unlimited_dimension(s), 0U);
  EXPECT_EQ(slices_within(s, 0, 1), 0U);
  EXPECT_EQ(slices_within(s, 0, 3), 2U);
  EXPECT_EQ(slices_within(s, 0, 5), 3U);
  EXPECT_EQ(slices_within(s, 0, 7), 4U);
  EXPECT_EQ(extent_of_slices(s, 0, 4), 7U);
  EXPECT_EQ(extent_of_slices(s, 0, 3), 4U);
  const auto made = ElementSelection::make(s, Dims{7}, ElementSelection::Clip{0, 4});
  ASSERT_TRUE(made) << made.error().text();
  check(*made, {1, 2, 3, 6}, 7);
}

}  // namespace
}  // namespace h5mount::dataset
