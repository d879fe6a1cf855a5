// Parts of datasets against an image assembled element by element: every step, start and member, read whole
// and in ranges.
#include "h5mount/dataset/dataset_part.h"

#include <gtest/gtest.h>

#include "h5mount/base/row_major.h"
#include "memory_dataset.h"

namespace h5mount::test {
namespace {

using Bytes = std::vector<std::byte>;

format::DatatypePtr type_of_size(std::uint64_t bytes) {
  auto type = std::make_shared<format::Datatype>();
  type->size = static_cast<std::uint32_t>(bytes);
  return type;
}

// `steps`: the largest distance of positions.
dataset::DatasetPart random_part(const object::DatasetDescription& dataset, std::mt19937& random,
                                 std::uint64_t steps) {
  dataset::DatasetPart part;
  for (const std::uint64_t dim : dataset.space.dims) {
    dataset::DatasetPart::Axis axis;
    axis.start = random() % dim;
    axis.step = 1 + random() % steps;
    axis.count = 1 + random() % ((dim - axis.start - 1) / axis.step + 1);
    axis.dropped = axis.count == 1 && random() % 2 == 0;
    part.axes.push_back(axis);
  }
  part.type = type_of_size(1 + random() % dataset.element_size);
  part.element_offset = random() % (dataset.element_size - part.type->size + 1);
  return part;
}

Bytes expected(const MemoryDataset& dataset, const dataset::DatasetPart& part) {
  const std::vector<std::uint64_t>& dims = dataset.description().space.dims;
  Bytes out;
  std::vector<std::uint64_t> at(part.axes.size());
  do {
    std::uint64_t element = 0;
    for (std::size_t i = 0; i < at.size(); ++i)
      element = element * dims[i] + part.axes[i].start + at[i] * part.axes[i].step;
    const auto from =
        dataset.image().begin() +
        static_cast<std::ptrdiff_t>(element * dataset.description().element_size + part.element_offset);
    out.insert(out.end(), from, from + part.type->size);
  } while (next_row_major(at, [&](std::size_t i) { return part.axes[i].count; }));
  return out;
}

void check_parts(const MemoryDataset& dataset, std::mt19937& random) {
  const auto whole = dataset.open_reader(dataset.environment(64U << 10));
  for (int i = 0; i < 12; ++i) {
    const dataset::DatasetPart part = random_part(dataset.description(), random, 1 + i % 5);
    const Bytes want = expected(dataset, part);
    const auto reader = dataset::open_part(whole, part);
    ASSERT_EQ(reader->size(), want.size());
    Bytes all(want.size());
    ASSERT_TRUE(reader->read_into(0, all, Unbounded()));
    ASSERT_EQ(all, want);
    const std::size_t offset = random() % want.size(), length = 1 + random() % (want.size() - offset);
    dataset::Pieces pieces;
    ASSERT_TRUE(reader->read(offset, length, {nullptr, Unbounded()}, pieces));
    Bytes range(length);
    ASSERT_EQ(pieces.total(), length);
    ASSERT_TRUE(dataset::copy_pieces(pieces.list(), range));
    ASSERT_TRUE(std::ranges::equal(range, std::span(want).subspan(offset, length)));
  }
}

TEST(DatasetPart, EveryByteOfRandomParts) {
  std::mt19937 random(5);
  for (unsigned round = 0; round < 150; ++round) {
    const DatasetShape shape = random_shape(random, 6000);
    SCOPED_TRACE(testing::Message() << "round " << round << ": " << text_of(shape));
    check_parts(MemoryDataset(shape, round), random);
    if (HasFatalFailure()) return;
  }
}

// Columns of tiles, stored with and without filters: many places at equal distances in one chunk.
TEST(DatasetPart, ColumnsOfTiles) {
  for (const bool filtered : {false, true}) {
    const MemoryDataset dataset(
        {.dims = {150, 70}, .chunk_dims = {40, 16}, .element_size = 4, .filtered = filtered}, 1);
    const auto whole = dataset.open_reader(dataset.environment(1U << 20));
    for (std::uint64_t column = 0; column < 70; ++column) {
      for (const std::uint64_t step : {1, 2, 7, 40, 90}) {
        dataset::DatasetPart part = dataset::whole_dataset(dataset.description());
        part.axes[0] = {column % step, step, (150 - column % step - 1) / step + 1, false};
        part.axes[1] = {column, 1, 1, true};
        part.type = type_of_size(4);
        Bytes read(static_cast<std::size_t>(part.axes[0].count) * 4);
        ASSERT_TRUE(dataset::open_part(whole, part)->read_into(0, read, Unbounded()));
        ASSERT_EQ(read, expected(dataset, part)) << "column " << column << ", every " << step;
      }
    }
  }
}

}  // namespace
}  // namespace h5mount::test
