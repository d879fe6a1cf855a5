// What a disk does not give: bytes of data and structures that cannot be read.
#include <gtest/gtest.h>

#include <algorithm>

#include "h5mount/io/remarks.h"
#include "salvaged_sample.h"
#include "support/faulty_source.h"

namespace h5mount::salvage {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr const char* kPlain = "f.create_dataset('plain', data=np.full(40000, 3, 'u1'), fillvalue=9)\n";
// The index lies far behind the header, in other pages.
constexpr const char* kLateIndex =
    "d = f.create_dataset('late', (4000,), 'i8', chunks=(100,), compression=1)\n"
    "for i in range(100): f.create_group('g%d' % i)\n"
    "f.flush()\n"
    "d[:] = np.arange(4000)\n";

Salvaged salvaged_with_bad_byte(const std::vector<std::byte>& bytes, std::uint64_t bad, bool fill) {
  const auto source = std::make_shared<test::FaultySource>(bytes);
  source->bad_byte = bad;
  auto out = salvage_source(source, {.fill = fill, .threads = 2, .progress = {}});
  EXPECT_TRUE(out) << (out ? "" : out.error().text());
  return out ? *std::move(out) : Salvaged{};
}

// The dataset's file at `path`, of a contiguous or chunked dataset without filters; bytes that cannot be read
// are left as 0xEE.
std::vector<std::byte> data_of(const std::shared_ptr<io::ByteSource>& source, std::string_view path) {
  const object::DatasetDescription d = described(source, path);
  std::vector<std::byte> image(static_cast<std::size_t>(d.image_bytes), std::byte{0xEE});
  if (d.layout.cls == format::LayoutClass::Contiguous) {
    (void)source->read_at(d.layout.address, image);
    return image;
  }
  const auto file = metadata::FileMetadata::open(source, {}).value();
  const auto geometry = chunk::ChunkGeometry::make(d.space, d.layout, false).value();
  const auto index = chunk::open_chunk_index(file, d.layout, geometry).value();
  const std::size_t row = static_cast<std::size_t>(geometry.chunk_dims[1] * geometry.element_size);
  (void)index->for_each([&](std::span<const std::uint64_t> scaled, const chunk::ChunkRecord& record) {
    std::vector<std::byte> chunk(static_cast<std::size_t>(record.stored_size), std::byte{0xEE});
    (void)source->read_at(record.address, chunk);
    const std::uint64_t x = scaled[1] * geometry.chunk_dims[1];
    for (std::uint64_t i = 0; i < geometry.chunk_dims[0]; ++i) {
      const std::uint64_t y = scaled[0] * geometry.chunk_dims[0] + i;
      if (y >= geometry.dims[0]) break;
      const std::uint64_t inside =
          std::min(geometry.chunk_dims[1], geometry.dims[1] - x) * geometry.element_size;
      std::copy_n(
          chunk.begin() + static_cast<std::ptrdiff_t>(i * row), inside,
          image.begin() + static_cast<std::ptrdiff_t>((y * geometry.dims[1] + x) * geometry.element_size));
    }
    return true;
  });
  return image;
}

// Expects that the images differ in bytes that the finding calls missing only, in as many as it calls filled,
// and that none of these is as it was: the data have no fill value.
void expect_filled(const std::vector<std::byte>& given, const std::vector<std::byte>& whole, std::byte fill,
                   const Finding& told) {
  ASSERT_EQ(given.size(), whole.size());
  std::uint64_t filled = 0;
  for (std::uint64_t i = 0; i < given.size(); ++i) {
    const bool missing = std::ranges::any_of(
        told.missing, [&](const ByteRange& range) { return range.begin <= i && i < range.end; });
    filled += given[i] != whole[i];
    if (given[i] == whole[i]) continue;
    ASSERT_TRUE(missing) << i << " " << told.json();
    ASSERT_EQ(given[i], fill) << i;
  }
  EXPECT_EQ(filled, told.filled) << told.json();
}

class UnreadTest : public SalvageTest {};
INSTANTIATE_TEST_SUITE_P(Versions, UnreadTest, testing::Values("earliest", "latest"));

TEST_P(UnreadTest, APageOfContiguousDataIsFilledAndNamed) {
  const auto bytes = test::written_with_h5py(kPlain, GetParam());
  ASSERT_FALSE(bytes.empty());
  const auto source = io::make_memory_source(bytes);
  const std::uint64_t begin = data_address_of(bytes, "plain");
  const std::uint64_t bad = begin + 20'000, page = bad / kPage * kPage - begin;
  const Salvaged shown = salvaged_with_bad_byte(bytes, bad, true);
  ASSERT_EQ(shown.report.findings.size(), 1U);
  const Finding& told = shown.report.findings[0];
  EXPECT_EQ(told.address, address_of(bytes, "plain"));
  EXPECT_EQ(told.certainty, Certainty::Plausible);
  EXPECT_EQ(told.found_by, "its header; some of its bytes cannot be read");
  ASSERT_EQ(told.missing.size(), 1U) << told.json();
  EXPECT_EQ(told.missing[0].begin, page);
  EXPECT_EQ(told.missing[0].end, page + kPage);
  EXPECT_EQ(told.filled, kPage);
  ASSERT_EQ(shown.report.unreadable.size(), 1U);
  expect_filled(data_of(shown.source, "plain"), data_of(source, "plain"), std::byte{9}, told);
}

// Nothing else is wrong with the file: without `fill` reading them is an error as ever.
TEST_P(UnreadTest, WhatCannotBeReadIsAnErrorUnlessItIsToBeFilled) {
  const auto bytes = test::written_with_h5py(kPlain, GetParam());
  ASSERT_FALSE(bytes.empty());
  const std::uint64_t bad = data_address_of(bytes, "plain") + 20'000;
  const Salvaged shown = salvaged_with_bad_byte(bytes, bad, false);
  for (const Finding& told : shown.report.findings) EXPECT_EQ(told.filled, 0U);
  EXPECT_EQ(described(shown.source, "plain").layout.address, bad - 20'000);
  std::vector<std::byte> byte(1);
  EXPECT_FALSE(shown.source->read_at(bad, byte));
  EXPECT_TRUE(shown.source->read_at(bad - 1, byte));
  EXPECT_TRUE(salvaged_with_bad_byte(bytes, bad, true).report.changed);
}

TEST_P(UnreadTest, ACompressedChunkIsFilledAndNamed) {
  const auto bytes = sample();
  std::uint64_t bad = 0;
  for_each_chunk(bytes, "g/fixed", [&](std::uint64_t number, const chunk::ChunkRecord& record) {
    if (number == 7) bad = record.address + record.stored_size / 2;
  });
  const Salvaged shown = salvaged_with_bad_byte(bytes, bad, true);
  expect_chunks(shown, "g/fixed", 39, 39);
  ASSERT_EQ(shown.report.findings.size(), 1U) << "what lies in the same page and can be read is no loss";
  const Finding& told = shown.report.findings[0];
  ASSERT_EQ(told.missing.size(), 1U) << told.json();
  EXPECT_EQ(told.missing[0].begin, 5600U);
  EXPECT_EQ(told.missing[0].end, 6400U);
  EXPECT_EQ(told.filled, 800U);
}

// Chunks that reach over the extent have bytes that are none of the dataset's.
TEST_P(UnreadTest, APageOfAPlainChunkIsFilledAndNamed) {
  const auto bytes = test::written_with_h5py(
      "f.create_dataset('tiles', data=np.full((250, 250), 3, 'u1'), chunks=(100, 100), "
      "maxshape=(None, None))\n",
      GetParam());
  ASSERT_FALSE(bytes.empty());
  const auto source = io::make_memory_source(bytes);
  const auto whole = data_of(source, "tiles");
  unsigned chunks = 0;
  for_each_chunk(bytes, "tiles", [&](std::uint64_t, const chunk::ChunkRecord& record) {
    ++chunks;
    for (const std::uint64_t place : {std::uint64_t{100}, record.stored_size / 2, record.stored_size - 1}) {
      const Salvaged shown = salvaged_with_bad_byte(bytes, record.address + place, true);
      if (shown.report.findings.empty()) {
        EXPECT_EQ(data_of(shown.source, "tiles"), whole) << place;
        continue;
      }
      ASSERT_EQ(shown.report.findings.size(), 1U);
      EXPECT_LE(shown.report.findings[0].filled, kPage);
      expect_filled(data_of(shown.source, "tiles"), whole, std::byte{0}, shown.report.findings[0]);
    }
  });
  EXPECT_EQ(chunks, 9U);
}

// The whole of a damaged file is swept, so that it is known.
TEST(Unread, OfADamagedFileTheyAreNamedAndErrors) {
  auto bytes = test::written_with_h5py(kScript);
  for (const std::size_t at : test::places_of(bytes, "FAHD")) overwrite(bytes, at);
  const std::uint64_t begin = data_address_of(bytes, "plain");
  const std::uint64_t plain = address_of(bytes, "plain");
  const Salvaged shown = salvaged_with_bad_byte(bytes, begin + 100, false);
  const auto told = std::ranges::find(shown.report.findings, plain, &Finding::address);
  ASSERT_NE(told, shown.report.findings.end());
  EXPECT_FALSE(told->missing.empty());
  EXPECT_EQ(told->filled, 0U);
  EXPECT_TRUE(io::remarks_of(shown.source.get())->lacks_bytes(plain));
  std::vector<std::byte> byte(1);
  EXPECT_FALSE(shown.source->read_at(begin + 100, byte));
  EXPECT_TRUE(shown.source->read_at(begin + 101, byte));
}

// A structure that cannot be read is as one that is damaged.
TEST(Unread, AnIndexThatCannotBeReadIsRebuilt) {
  const auto bytes = test::written_with_h5py(kLateIndex);
  const auto at = test::places_of(bytes, "FAHD");
  ASSERT_EQ(at.size(), 1U);
  const Salvaged shown = salvaged_with_bad_byte(bytes, at[0] + 8, false);
  EXPECT_TRUE(shown.report.changed);
  expect_chunks(shown, "late", 40, 40);
  const auto told = std::ranges::find(shown.report.findings, address_of(bytes, "late"), &Finding::address);
  ASSERT_NE(told, shown.report.findings.end());
  EXPECT_TRUE(told->missing.empty()) << told->json();
}

}  // namespace
}  // namespace h5mount::salvage
