#include <gtest/gtest.h>

#include "../../src/view/zarr/stored_codec.h"

namespace h5mount::test {
namespace {

using view::StoredCompressor;

object::DatasetDescription compressed_by(std::uint16_t filter) {
  auto type = std::make_shared<format::Datatype>();
  type->size = 4;
  object::DatasetDescription out;
  out.type = type;
  out.element_size = 4;
  out.layout.cls = format::LayoutClass::Chunked;
  out.layout.chunk_dims = {1000};
  out.pipeline.filters.emplace_back().id = filter;
  return out;
}

TEST(StoredCodec, FramesAreAsLongAsIsToldBefore) {
  for (const auto compressor : {StoredCompressor::None, StoredCompressor::Zlib, StoredCompressor::Blosc,
                                StoredCompressor::Zstd, StoredCompressor::Lz4}) {
    for (const std::size_t bytes : {0, 1, 14, 15, 16, 269, 270, 65'535, 65'536, 131'072, 131'073}) {
      std::string out;
      ASSERT_TRUE(append_frame(compressor, 4, std::vector<std::byte>(bytes), out));
      EXPECT_EQ(out.size(), view::frame_size(compressor, bytes).value_or(0)) << bytes;
    }
  }
}

TEST(StoredCodec, Bzip2HasItsStreamsInsteadOfFrames) {
  const auto codec = view::stored_codec(compressed_by(307));
  if (!codec) GTEST_SKIP() << "built without libbz2";
  EXPECT_EQ(codec->compressor, StoredCompressor::Bzip2);
  EXPECT_EQ(codec->compressor_json(), R"({"id":"bz2","level":9})");
  for (const std::size_t bytes : {1, 4'000, 2'000'000}) {
    std::string out;
    ASSERT_TRUE(append_frame(codec->compressor, 4, std::vector<std::byte>(bytes), out));
    EXPECT_EQ(out.substr(0, 4), "BZh9");
    EXPECT_LT(out.size(), 100U);
  }
}

}  // namespace
}  // namespace h5mount::test
