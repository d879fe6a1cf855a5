#include <gtest/gtest.h>

#include "../../src/view/zarr/stored_codec.h"
#include "h5mount/filter/filter.h"

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

// What chunks that were never written are, decoded by HDF5's filters.
TEST(StoredCodec, CompressedFramesGiveTheBytesBack) {
  struct Case {
    StoredCompressor compressor;
    std::uint16_t filter;
  };
  for (const auto [compressor, filter] :
       {Case{StoredCompressor::Zlib, 1}, Case{StoredCompressor::Bzip2, 307},
        Case{StoredCompressor::Blosc, 32'001}, Case{StoredCompressor::Zstd, 32'015}}) {
    if (!filter::filter_info(filter).available) continue;  // this build could not read the file either
    for (const std::size_t count : {1U, 2U, 4U, 100U, 1'000'000U}) {
      std::vector<std::byte> bytes(2 * count), decoded(2 * count);
      for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte{i % 2 == 0};
      std::string frame;
      ASSERT_TRUE(append_compressed(compressor, 2, bytes, frame));
      std::vector<filter::FilterSpec> specs(1);
      specs[0].id = filter;
      const auto pipeline = filter::FilterPipeline::make(specs, bytes.size());
      ASSERT_TRUE(pipeline);
      filter::FilterScratch scratch;
      const Status done = (*pipeline)->decode(as_bytes(frame), 0, decoded, scratch);
      ASSERT_TRUE(done) << filter << " " << count << ": " << done.error().text();
      EXPECT_EQ(decoded, bytes) << filter << " " << count;
      if (count > 1000) EXPECT_LT(frame.size(), bytes.size() / 100) << filter;
    }
  }
}

TEST(StoredCodec, AShuffleByAnotherSizeThanThatOfZarrsElementsIsDecoded) {
  object::DatasetDescription dataset = compressed_by(1);
  dataset.pipeline.filters.insert(dataset.pipeline.filters.begin(), 1, {});
  dataset.pipeline.filters[0].id = 2;
  dataset.pipeline.filters[0].client_data = {12};
  auto item = std::make_shared<format::Datatype>(*dataset.type);
  item->cls = format::DatatypeClass::Integer;
  item->bit_precision = 32;
  auto type = std::make_shared<format::Datatype>();
  type->cls = format::DatatypeClass::Array;
  type->size = 12;
  type->base = item;
  type->dims = {3};
  dataset.type = type;
  dataset.element_size = 12;
  EXPECT_TRUE(view::stored_codec(dataset));
  EXPECT_FALSE(view::zarr_codec(dataset, view::ZarrEncoding::Stored));
  dataset.pipeline.filters.erase(dataset.pipeline.filters.begin());
  EXPECT_TRUE(view::zarr_codec(dataset, view::ZarrEncoding::Stored));
}

}  // namespace
}  // namespace h5mount::test
