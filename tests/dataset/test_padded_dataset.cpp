// Datasets that are shown with a larger extent, against an image assembled element by element.
#include "h5mount/dataset/padded_dataset.h"

#include <gtest/gtest.h>

#include "h5mount/base/row_major.h"
#include "memory_dataset.h"

namespace h5mount::test {
namespace {

using Bytes = std::vector<std::byte>;

Bytes expected(const MemoryDataset& dataset, const Coordinates& dims, const Bytes& element) {
  const Coordinates& own = dataset.description().space.dims;
  Bytes out;
  std::vector<std::uint64_t> at(dims.size());
  do {
    bool inside = true;
    for (std::size_t i = 0; i < at.size(); ++i) inside = inside && at[i] < own[i];
    const auto from = inside ? dataset.image().begin() +
                                   static_cast<std::ptrdiff_t>(row_major_number(at, own) * element.size())
                             : element.begin();
    out.insert(out.end(), from, from + static_cast<std::ptrdiff_t>(element.size()));
  } while (next_row_major(at, dims));
  return out;
}

Bytes copied(const dataset::Pieces& pieces) {
  Bytes out(static_cast<std::size_t>(pieces.total()));
  EXPECT_TRUE(dataset::copy_pieces(pieces.list(), out));
  return out;
}

TEST(PaddedDataset, HasTheElementBehindTheDatasetsOwnExtent) {
  std::mt19937 random(22);
  for (unsigned seed = 0; seed < 60; ++seed) {
    const DatasetShape shape = random_shape(random, 3000);
    SCOPED_TRACE(text_of(shape));
    const MemoryDataset dataset(shape, seed);
    Coordinates dims = shape.dims;
    for (std::uint64_t& dim : dims) dim += random() % 3 == 0 ? random() % 5 : 0;
    Bytes element(shape.element_size);
    for (std::byte& byte : element) byte = static_cast<std::byte>(random());
    auto description = dataset::PaddedDataset::describe(dataset.description(), dims);
    ASSERT_TRUE(description);
    const dataset::PaddedDataset padded(dataset.open_reader(dataset.environment(64U << 10)),
                                        *std::move(description), element);
    const Bytes want = expected(dataset, dims, element);
    ASSERT_EQ(padded.size(), want.size());
    for (int i = 0; i < 8; ++i) {
      const std::size_t begin = i == 0 ? 0 : random() % want.size();
      const std::size_t length = i == 0 ? want.size() : random() % (want.size() - begin + 1);
      dataset::Pieces pieces;
      RequestBudget budget;
      ASSERT_TRUE(padded.read(begin, length, {nullptr, budget}, pieces));
      EXPECT_EQ(copied(pieces), Bytes(want.begin() + begin, want.begin() + begin + length)) << begin;
    }
  }
}

TEST(PaddedDataset, RefusesWhatNoFileCanHold) {
  const MemoryDataset dataset({.dims = {4, 2}, .chunk_dims = {2, 2}, .element_size = 4}, 1);
  for (const Coordinates& dims : {Coordinates{1ULL << 62, 2}, Coordinates{1ULL << 60, 2}}) {
    const auto described = dataset::PaddedDataset::describe(dataset.description(), dims);
    ASSERT_FALSE(described);
    EXPECT_EQ(described.error().code(), ErrorCode::TooLarge);
  }
  EXPECT_TRUE(dataset::PaddedDataset::describe(dataset.description(), {(1ULL << 60) - 1, 2}));
}

}  // namespace
}  // namespace h5mount::test
