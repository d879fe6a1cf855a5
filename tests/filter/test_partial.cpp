// Decoding in parts: boxes equal the same parts of the whole chunk, and only the blocks they touch are
// decoded.
#include "vectors.h"

#include "cut_box.h"

namespace h5mount::filter {
namespace {

using namespace test;

TEST(PartialChunk, AnyBoxEqualsThatPartOfTheChunk) {
  Random random(3);
  int boxes = 0;
  for (const Vector& vector : all_vectors()) {
    if (!vector.available()) continue;
    SCOPED_TRACE(vector.name);
    const auto pipeline = FilterPipeline::make(vector.specs, vector.chunk_bytes);
    const auto partial = (*pipeline)->open_partial(vector.stored, vector.mask, vector.chunk_bytes);
    ASSERT_TRUE(partial);
    if (*partial == nullptr) continue;
    EXPECT_TRUE((*pipeline)->may_decode_partially());
    const auto whole = decode(vector.specs, vector.stored, vector.chunk_bytes, vector.mask);
    ASSERT_TRUE(whole);
    for (int round = 0; round < 60; ++round, ++boxes) {
      std::vector<std::uint64_t> start, count;
      for (const std::uint64_t extent : vector.shape) {
        start.push_back(round == 0 ? 0 : random.below(extent));
        count.push_back(round == 0 ? extent : 1 + random.below(extent - start.back()));
      }
      const ChunkBox box{vector.shape, start, count, vector.element_bytes};
      const Bytes wanted = cut_box(*whole, box);
      Bytes out(wanted.size());
      const std::uint64_t before = filter_counters().blocks_decoded;
      const auto read = (*partial)->read_box(box, out);
      ASSERT_TRUE(read) << read.error().text();
      ASSERT_EQ(out, wanted);
      EXPECT_LE((*partial)->blocks_of(box), (*partial)->block_count());
      // One more for the chunks' offsets and, with delta, the first block of each inner chunk.
      EXPECT_LE(filter_counters().blocks_decoded - before, 2 * (*partial)->blocks_of(box) + 1);
    }
  }
  EXPECT_GT(boxes, 0);
}

TEST(PartialChunk, AShapeOtherThanTheFramesIsRead) {
  for (const Vector& vector : all_vectors()) {
    if (!vector.available() || vector.specs.back().id != 32026) continue;
    SCOPED_TRACE(vector.name);
    const auto pipeline = FilterPipeline::make(vector.specs, vector.chunk_bytes);
    const auto partial = (*pipeline)->open_partial(vector.stored, vector.mask, vector.chunk_bytes);
    ASSERT_TRUE(partial);
    if (*partial == nullptr) continue;
    const auto whole = decode(vector.specs, vector.stored, vector.chunk_bytes, vector.mask);
    const std::uint64_t dims[] = {vector.chunk_bytes};
    const std::uint64_t start[] = {vector.chunk_bytes / 3};
    const std::uint64_t count[] = {vector.chunk_bytes / 2};
    Bytes out(count[0]);
    const ChunkBox box{dims, start, count, 1};
    ASSERT_TRUE((*partial)->read_box(box, out));
    EXPECT_EQ(out, cut_box(*whole, box));
  }
}

TEST(PartialChunk, OneRowCostsOnlyItsBlocks) {
  int rows = 0;
  for (const Vector& vector : all_vectors()) {
    if (!vector.available() || vector.specs.back().id != 32026 || vector.shape.size() < 2) continue;
    SCOPED_TRACE(vector.name);
    const auto pipeline = FilterPipeline::make(vector.specs, vector.chunk_bytes);
    const auto partial = *(*pipeline)->open_partial(vector.stored, vector.mask, vector.chunk_bytes);
    if (partial == nullptr || partial->block_count() < 4) continue;
    const std::vector<std::uint64_t> start(vector.shape.size());
    std::vector<std::uint64_t> count = vector.shape;
    count[0] = 1;
    const ChunkBox box{vector.shape, start, count, vector.element_bytes};
    Bytes out(vector.chunk_bytes / vector.shape[0]);
    const std::uint64_t before = filter_counters().blocks_decoded;
    ASSERT_TRUE(partial->read_box(box, out));
    const std::uint64_t decoded = filter_counters().blocks_decoded - before;
    EXPECT_LE(decoded, partial->blocks_of(box) + 1);  // the chunks' offsets may be a block of their own
    if (decoded > 0 && partial->blocks_of(box) * 2 <= partial->block_count()) ++rows;
  }
  EXPECT_GE(rows, 1);
}

TEST(PartialChunk, FiltersWithoutPartialDecodingReturnNull) {
  const FilterSpec specs[] = {{2, "", {4}}, {1, "", {6}}};
  const auto pipeline = FilterPipeline::make(specs, 64);
  EXPECT_FALSE((*pipeline)->may_decode_partially());
  const auto partial = (*pipeline)->open_partial(Bytes(10), 0, 64);
  ASSERT_TRUE(partial);
  EXPECT_EQ(*partial, nullptr);
}

}  // namespace
}  // namespace h5mount::filter
