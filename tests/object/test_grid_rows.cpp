#include <gtest/gtest.h>

#include <random>

#include "h5mount/object/grid_rows.h"

namespace h5mount::test {
namespace {

using object::GridRows;
using object::GridRowsPtr;

std::uint64_t product(const std::vector<std::uint64_t>& of) {
  std::uint64_t out = 1;
  for (const std::uint64_t one : of) out *= one;
  return out;
}

// Each row is one element, boxes follow each other, and runs are what boxes say.
void check(const GridRows& rows) {
  ASSERT_EQ(rows.rows(), product(rows.dims()));
  std::uint64_t next = 0;
  for (std::uint64_t i = 0; i < rows.boxes(); ++i) {
    const GridRows::Box box = rows.box(i);
    ASSERT_EQ(box.first_row, next);
    ASSERT_EQ(box.rows, product(box.count));
    ASSERT_LE(box.rows, rows.most_rows());
    const GridRows::Box same = rows.box_of_row(box.first_row + box.rows - 1);
    ASSERT_EQ(same.first_row, box.first_row);
    ASSERT_EQ(same.start, box.start);
    next += box.rows;
  }
  ASSERT_EQ(next, rows.rows());
  std::vector<bool> seen(static_cast<std::size_t>(rows.rows()));
  next = 0;
  ASSERT_TRUE(rows.for_each_run(0, rows.rows(), [&](const GridRows::Run& run) -> Status {
    EXPECT_EQ(run.row, next);
    next += run.rows;
    std::uint64_t element = 0;
    for (std::size_t i = 0; i < run.position.size(); ++i)
      element = element * rows.dims()[i] + run.position[i];
    EXPECT_EQ(element, run.element);
    for (std::uint64_t i = 0; i < run.rows; ++i) {
      EXPECT_FALSE(seen[static_cast<std::size_t>(element + i)]);
      seen[static_cast<std::size_t>(element + i)] = true;
    }
    return {};
  }));
  ASSERT_EQ(next, rows.rows());
}

TEST(GridRows, EachRowIsOneElement) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    std::vector<std::uint64_t> dims(1 + random() % 4), chunk;
    for (std::uint64_t& dim : dims) dim = 1 + random() % 40;
    if (round % 3 != 0)
      for (std::size_t i = 0; i < dims.size(); ++i) chunk.push_back(1 + random() % 50);
    check(*GridRows::in_order(dims));
    check(*GridRows::in_boxes(dims, chunk, 1 + random() % 4000));
  }
}

TEST(GridRows, BoxesCutAllDimensions) {
  const GridRowsPtr rows = GridRows::in_boxes({120, 181, 360}, {}, 28);
  EXPECT_GT(rows->boxes(), 32U);
  const GridRows::Box box = rows->box(0);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_LE(2 * box.count[i], rows->dims()[i]) << i;
  // Whole chunks, where these are small.
  const GridRows::Box chunks =
      GridRows::in_boxes({120, 181, 360}, std::vector<std::uint64_t>{1, 30, 60}, 28)->box(0);
  EXPECT_EQ(chunks.count[1] % 30, 0U);
  EXPECT_EQ(chunks.count[2] % 60, 0U);
}

TEST(GridRows, NoElements) {
  for (const GridRowsPtr& rows : {GridRows::in_order({3, 0, 2}), GridRows::in_boxes({3, 0, 2}, {}, 8)}) {
    EXPECT_EQ(rows->rows(), 0U);
    EXPECT_EQ(rows->box(0).rows, 0U);
    check(*rows);
  }
}

}  // namespace
}  // namespace h5mount::test
