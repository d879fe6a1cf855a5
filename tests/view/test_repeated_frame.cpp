// Frames around one element that is repeated, decoded by HDF5's filters.
#include <gtest/gtest.h>

#include "../../src/view/zarr/repeated_frame.h"
#include "h5mount/filter/filter.h"

namespace h5mount::test {
namespace {

using view::StoredCodec;
using view::StoredCompressor;

struct Case {
  const char* name;
  StoredCompressor compressor;
  std::uint16_t filter;
};

class RepeatedFrame : public testing::TestWithParam<Case> {};

TEST_P(RepeatedFrame, HoldsTheElementAsOftenAsAsked) {
  const auto [name, compressor, filter] = GetParam();
  constexpr std::uint16_t kLz4 = 32'004;  // what is inside frames of Blosc
  const bool known = filter::filter_info(filter).available &&
                     (compressor != StoredCompressor::Blosc || filter::filter_info(kLz4).available);
  if (!known) GTEST_SKIP() << "built without filter " << filter;
  for (const bool shuffled : {false, true})
    for (const std::size_t size : {1U, 2U, 3U, 4U, 8U, 31U, 300U, 70'000U})
      for (const std::size_t count : {1U, 2U, 3U, 7U, 64U, 1'000U, 300'001U}) {
        if (size * count > 4'000'000 || (shuffled && size > 300)) continue;
        std::vector<std::byte> element(size), expected;
        for (std::size_t i = 0; i < size; ++i) element[i] = static_cast<std::byte>(i * 37 + i / 251);
        for (std::size_t i = 0; i < count; ++i)
          expected.insert(expected.end(), element.begin(), element.end());
        const StoredCodec codec{compressor, shuffled ? size : 0, false, size};
        std::string frame;
        ASSERT_TRUE(append_repeated_frame(codec, element, count, frame)) << size << " " << count;
        std::vector<filter::FilterSpec> specs;
        if (shuffled)
          specs.emplace_back().id = 2, specs.back().client_data = {static_cast<std::uint32_t>(size)};
        specs.emplace_back().id = filter;
        const auto pipeline = filter::FilterPipeline::make(specs, expected.size());
        ASSERT_TRUE(pipeline);
        filter::FilterScratch scratch;
        std::vector<std::byte> decoded(expected.size());
        const Status done = (*pipeline)->decode(as_bytes(frame), 0, decoded, scratch);
        ASSERT_TRUE(done) << size << " " << count << ": " << done.error().text();
        ASSERT_EQ(decoded, expected) << size << " " << count;
        if (!shuffled && size <= 8 && count == 300'001)
          EXPECT_LT(frame.size(), expected.size() / 100) << size;
      }
}

INSTANTIATE_TEST_SUITE_P(Codecs, RepeatedFrame,
                         testing::Values(Case{"zlib", StoredCompressor::Zlib, 1},
                                         Case{"bzip2", StoredCompressor::Bzip2, 307},
                                         Case{"blosc", StoredCompressor::Blosc, 32'001},
                                         Case{"zstd", StoredCompressor::Zstd, 32'015}),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(RepeatedFrame, WithoutACodecIsTheElements) {
  const std::vector<std::byte> element{std::byte{'a'}, std::byte{'b'}, std::byte{'c'}};
  std::string out;
  ASSERT_TRUE(view::append_repeated_frame({.item_bytes = 3}, element, 4, out));
  EXPECT_EQ(out, "abcabcabcabc");
}

}  // namespace
}  // namespace h5mount::test
