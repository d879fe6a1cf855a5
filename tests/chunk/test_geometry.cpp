// The limits of chunk sizes, tested on both sides.
#include <gtest/gtest.h>

#include "h5mount/base/limits.h"
#include "h5mount/chunk/chunk_index.h"

namespace h5mount::test {
namespace {

Result<chunk::ChunkGeometry> geometry(std::uint8_t layout_version, std::uint64_t chunk_bytes) {
  format::Dataspace space;
  space.kind = format::DataspaceKind::Simple;
  space.dims = space.max_dims = {1};
  format::DataLayout layout;
  layout.version = layout_version;
  layout.cls = format::LayoutClass::Chunked;
  layout.element_size = 1;
  layout.chunk_dims = {chunk_bytes};
  return chunk::ChunkGeometry::make(space, layout, false);
}

TEST(ChunkGeometry, ChunksAreAsLargeAsTheLimit) {
  for (const auto& [version, limit] :
       {std::pair{std::uint8_t{4}, limits::kMaxChunkBytes}, {std::uint8_t{5}, limits::kMaxLargeChunkBytes}}) {
    EXPECT_TRUE(geometry(version, limit));
    const auto refused = geometry(version, limit + 1);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::LimitExceeded);
    EXPECT_EQ(refused.error().field(), "chunk_dims");
  }
}

}  // namespace
}  // namespace h5mount::test
