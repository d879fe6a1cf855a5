// Where the chunks of datasets lie, as it is told to readers of references: a row of the table of forms each.
#include <gtest/gtest.h>

#include "../../src/view/zarr/stored_codec.h"
#include "h5mount/format/filter_ids.h"
#include "h5mount/view/reference.h"
#include "view_file.h"

namespace h5mount::test {
namespace {

using dataset::StoredChunks;
using view::reference_rule;
using view::ReferenceForm;
using view::StoredCodec;
using view::StoredCompressor;
using view::ZarrEncoding;

// A dataset of four-byte integers in chunks of 1,000 elements.
object::DatasetDescription chunked(std::vector<std::uint16_t> filters = {}, std::uint32_t shuffled = 4) {
  auto type = std::make_shared<format::Datatype>();
  type->cls = format::DatatypeClass::Integer;
  type->size = 4;
  type->bit_precision = 32;
  type->is_signed = true;
  object::DatasetDescription out;
  out.type = type;
  out.element_size = 4;
  out.space.kind = format::DataspaceKind::Simple;
  out.space.dims = out.space.max_dims = {5000};
  out.image_bytes = 20'000;
  out.layout.cls = format::LayoutClass::Chunked;
  out.layout.chunk_dims = {1000};
  for (const std::uint16_t id : filters) {
    format::FilterDescription& filter = out.pipeline.filters.emplace_back();
    filter.id = id;
    if (id == format::kShuffle) filter.client_data = {shuffled};
  }
  return out;
}

ReferenceForm form(const object::DatasetDescription& dataset) {
  return reference_rule(dataset, ZarrEncoding::Stored).form;
}

TEST(ReferenceRule, ChunksThatReadersDecodeAreThoseOfTheFile) {
  using enum ReferenceForm;
  EXPECT_EQ(form(chunked()), Chunks);
  EXPECT_EQ(form(chunked({format::kDeflate})), Chunks);
  EXPECT_EQ(form(chunked({format::kShuffle, format::kDeflate})), Chunks);
  EXPECT_EQ(form(chunked({format::kShuffle, format::kDeflate, format::kFletcher32})), Chunks);
  EXPECT_EQ(form(chunked({format::kFletcher32})), Chunks);
  EXPECT_EQ(form(chunked({format::kBlosc})), Chunks);
  EXPECT_EQ(form(chunked({format::kZstd})), Chunks);
}

TEST(ReferenceRule, OtherFiltersAreDecodedForThem) {
  for (const auto& filters : std::vector<std::vector<std::uint16_t>>{
           {format::kLz4},
           {4},                                      // szip
           {5},                                      // n-bit
           {6},                                      // scale-offset
           {32'000},                                 // LZF
           {32'008},                                 // bitshuffle
           {32'026},                                 // Blosc2
           {format::kDeflate, format::kDeflate},     // two of one kind
           {format::kFletcher32, format::kDeflate},  // the checksum is compressed too
           {format::kDeflate, format::kShuffle}}) {  // the wrong order
    const auto rule = reference_rule(chunked(filters), ZarrEncoding::Stored);
    EXPECT_EQ(rule.form, ReferenceForm::Decoded) << filters[0];
    EXPECT_TRUE(rule.reason.starts_with("no codec of Zarr for filter ")) << rule.reason;
  }
  // zarrita.js takes any shuffle for one by the size of the elements.
  EXPECT_EQ(form(chunked({format::kShuffle, format::kDeflate}, 2)), ReferenceForm::Decoded);
}

TEST(ReferenceRule, OtherLayouts) {
  object::DatasetDescription dataset = chunked();
  dataset.layout.cls = format::LayoutClass::Contiguous;
  EXPECT_EQ(form(dataset), ReferenceForm::Runs);
  dataset.layout.cls = format::LayoutClass::Compact;
  EXPECT_EQ(reference_rule(dataset, ZarrEncoding::Stored).reason, "compact data");
  EXPECT_EQ(form(dataset), ReferenceForm::Made);
  dataset.layout.cls = format::LayoutClass::Virtual;
  EXPECT_EQ(form(dataset), ReferenceForm::Decoded);
  dataset.layout.cls = format::LayoutClass::Structured;
  EXPECT_EQ(form(dataset), ReferenceForm::Decoded);
}

TEST(StoredPart, IsWhatReadersDecode) {
  const StoredCodec zlib{.compressor = StoredCompressor::Zlib, .item_bytes = 4};
  const auto part = [](const StoredCodec& codec, const StoredChunks::Stored& stored) {
    const auto out = stored_part(codec, stored, 4000);
    return out ? std::pair(out->range.begin, out->range.end) : std::pair<std::uint64_t, std::uint64_t>();
  };
  using Range = std::pair<std::uint64_t, std::uint64_t>;
  EXPECT_EQ(part(zlib, {100, true, 4096}), Range(0, 100));
  EXPECT_EQ(part(zlib, {100, false, 4096}), Range());  // a filter was not applied
  EXPECT_EQ(part(zlib, {}), Range());                  // never written
  StoredCodec checked = zlib;
  checked.fletcher32 = true;
  EXPECT_EQ(part(checked, {100, true, 4096}), Range(0, 96));
  EXPECT_EQ(part(checked, {4, true, 4096}), Range());
  const StoredCodec lz4{.compressor = StoredCompressor::Lz4, .item_bytes = 4};
  EXPECT_EQ(part(lz4, {100, true, 4096}), Range(16, 100));
  EXPECT_EQ(part(lz4, {4016, true, 4096}), Range());  // LZ4 stored it as it was
}

}  // namespace
}  // namespace h5mount::test
