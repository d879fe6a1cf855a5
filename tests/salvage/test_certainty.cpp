// How sure salvage says that it is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "find/used_ranges.h"
#include "h5mount/io/remarks.h"
#include "salvaged_sample.h"

namespace h5mount::salvage {
namespace {

const Finding* finding_at(const Salvaged& shown, std::uint64_t address) {
  const auto at = std::ranges::find(shown.report.findings, address, &Finding::address);
  return at == shown.report.findings.end() ? nullptr : &*at;
}

class CertaintyTest : public SalvageTest {};
INSTANTIATE_TEST_SUITE_P(Versions, CertaintyTest, testing::Values("earliest", "latest"));

// A writer whose disk was full leaves such an index: nothing else says that one of the chunks has the bytes
// of another.
TEST_F(OldFormatTest, ChunksThatOverlapAreGuessed) {
  auto bytes = sample();
  EXPECT_TRUE(salvaged(bytes).report.findings.empty());
  const std::uint64_t fixed = address_of(bytes, "g/fixed");
  std::uint64_t other = 0;
  unsigned changed = 0;
  for_each_chunk(bytes, "g/fixed", [&](std::uint64_t number, const chunk::ChunkRecord& record) {
    if (number == 2) other = record.address;  // the bytes of chunk 7 end in those of chunk 3
    if (number != 7) return;
    const std::uint64_t entry[] = {record.stored_size, number * 100, 0, record.address};
    for (const std::size_t at : test::places_of(bytes, as_text(std::as_bytes(std::span(entry))))) {
      std::memcpy(&bytes[at + sizeof entry - sizeof other], &other, sizeof other);
      ++changed;
    }
  });
  ASSERT_EQ(changed, 1U);
  const Salvaged shown = salvaged(bytes);
  ASSERT_EQ(shown.report.findings.size(), 1U);
  EXPECT_EQ(shown.report.findings[0].address, fixed);
  EXPECT_EQ(shown.report.findings[0].certainty, Certainty::Guessed);
  EXPECT_EQ(shown.report.findings[0].found_by, "an index of chunks that overlap one another");
}

// As of a writer that gave the space of one dataset to another, and wrote only one of their structures.
TEST_F(OldFormatTest, DatasetsThatOverlapAreGuessed) {
  const auto whole = sample();
  std::uint64_t growing = 0;
  for_each_chunk(whole, "growing", [&](std::uint64_t number, const chunk::ChunkRecord& record) {
    if (number == 5) growing = record.address + 16;
  });
  for (const auto& [other, at] :
       {std::pair("plain", data_address_of(whole, "plain")), std::pair("growing", growing)}) {
    auto bytes = whole;
    for_each_chunk(whole, "g/fixed", [&](std::uint64_t number, const chunk::ChunkRecord& record) {
      if (number != 7) return;
      const std::uint64_t entry[] = {record.stored_size, number * 100, 0, record.address};
      const auto places = test::places_of(bytes, as_text(std::as_bytes(std::span(entry))));
      ASSERT_EQ(places.size(), 1U);
      std::memcpy(&bytes[places[0] + sizeof entry - sizeof at], &at, sizeof at);
    });
    const Salvaged shown = salvaged(bytes);
    EXPECT_EQ(shown.report.findings.size(), 2U) << other;
    for (const char* path : {"g/fixed", other}) {
      const Finding* const told = finding_at(shown, address_of(whole, path));
      ASSERT_NE(told, nullptr) << path;
      EXPECT_EQ(told->certainty, Certainty::Guessed);
      EXPECT_EQ(told->found_by, "bytes that another dataset has too");
      EXPECT_TRUE(told->missing.empty());
    }
  }
}

// Where the index of one of them is lost, its chunks are those that are found in its place.
TEST_F(LatestFormatTest, ADatasetWithARebuiltIndexThatOverlapsAnotherIsGuessed) {
  auto bytes = sample();
  const std::uint64_t plain = address_of(bytes, "plain"), growing = address_of(bytes, "growing");
  std::uint64_t chunk = 0;
  for_each_chunk(bytes, "growing", [&](std::uint64_t number, const chunk::ChunkRecord& record) {
    if (number == 100) chunk = record.address;
  });
  const auto as_bytes_of = [](const std::uint64_t& number) {
    return as_text(std::as_bytes(std::span(&number, 1)));
  };
  const std::uint64_t old = data_address_of(bytes, "plain");
  change_header(bytes, plain,
                [&](MutableByteSpan header) { replace_in(header, as_bytes_of(old), as_bytes_of(chunk)); });
  for (const std::size_t at : test::places_of(bytes, "EAHD")) overwrite(bytes, at);
  const Salvaged shown = salvaged(bytes);
  for (const std::uint64_t address : {plain, growing}) {
    const Finding* const told = finding_at(shown, address);
    ASSERT_NE(told, nullptr) << address;
    EXPECT_EQ(told->certainty, Certainty::Guessed);
    EXPECT_NE(told->found_by.find("bytes that another dataset has too"), std::string::npos) << told->found_by;
  }
}

// What several of many ranges have is kept in bounded memory, and nothing of it is left out.
TEST(UsedRanges, WhatIsSharedIsKept) {
  UsedRanges used(true);
  used.add(100, 50);
  used.add(150, 50);
  used.settle();
  EXPECT_EQ(used.shared().count(), 0U);
  used.add(140, 20);
  used.add(150, 4);
  used.settle();
  const UsedRanges some = used.shared();
  EXPECT_EQ(some.count(), 1U);
  EXPECT_TRUE(some.touches(159, 160) && some.touches(140, 141));
  EXPECT_FALSE(some.touches(0, 140) || some.touches(160, 1000));

  UsedRanges many(true);
  constexpr std::uint64_t kMany = 2 * UsedRanges::kMaxShared + 1000;
  for (int time = 0; time < 2; ++time)
    for (std::uint64_t i = 0; i < kMany; ++i) many.add(10 * i, 4);
  many.settle();
  const UsedRanges shared = many.shared();
  EXPECT_LE(shared.count(), 2 * UsedRanges::kMaxShared);
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < kMany; ++i)
    shared.within(10 * i, 10 * i + 4, [&](const Range& range) { bytes += range.end - range.begin; });
  EXPECT_EQ(bytes, 4 * kMany);
}

TEST_F(LatestFormatTest, WhatIsProvenIsCoveredByChecksums) {
  auto bytes = sample();
  const std::uint64_t fixed = address_of(bytes, "g/fixed"), growing = address_of(bytes, "growing");
  for (const char* header : {"FAHD", "EAHD"})
    for (const std::size_t at : test::places_of(bytes, header)) overwrite(bytes, at);
  const Salvaged shown = salvaged(bytes);
  ASSERT_NE(finding_at(shown, fixed), nullptr);
  EXPECT_EQ(finding_at(shown, fixed)->certainty, Certainty::Proven) << "deflate has a checksum";
  ASSERT_NE(finding_at(shown, growing), nullptr);
  EXPECT_EQ(finding_at(shown, growing)->certainty, Certainty::Plausible) << "no checksum covers its chunks";

  bytes.resize(bytes.size() + 100, std::byte{'x'});  // as of a file that its writer did not close
  const Salvaged unclosed = salvaged(bytes);
  ASSERT_NE(finding_at(unclosed, fixed), nullptr);
  EXPECT_EQ(finding_at(unclosed, fixed)->certainty, Certainty::Guessed);
  const auto told = io::remarks_of(unclosed.source.get())->remark(fixed);
  ASSERT_TRUE(told);
  EXPECT_NE(told->find("did not close"), std::string::npos) << *told;
}

// The Fletcher-32 of zeros is zero, so a page that was lost has the right one.
TEST_P(CertaintyTest, ChunksOfNothingButZerosAreGuessed) {
  auto bytes = test::written_with_h5py(
      "import numpy as np\n"
      "f.create_dataset('summed', data=np.arange(1, 4001), chunks=(100,), fletcher32=True)\n"
      "f.create_dataset('packed', data=np.arange(1, 4001), chunks=(100,), shuffle=True, "
      "fletcher32=True)\n"
      "f.create_dataset('plain', data=np.zeros(4000), chunks=(100,))\n",
      GetParam());
  EXPECT_TRUE(salvaged(bytes).report.findings.empty());
  const std::uint64_t summed = address_of(bytes, "summed"), packed = address_of(bytes, "packed");
  const auto zero = [&](const char* path, std::uint64_t first, std::uint64_t last) {
    const auto whole = bytes;
    for_each_chunk(whole, path, [&](std::uint64_t number, const chunk::ChunkRecord& record) {
      if (number >= first && number <= last)
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(record.address), record.stored_size,
                    std::byte{0});
    });
  };
  zero("summed", 10, 13);
  zero("packed", 0, 0);
  for (const bool fill : {false, true}) {
    const Salvaged shown = salvaged(bytes, fill);
    EXPECT_FALSE(shown.report.changed) << "real data are zeros too";
    ASSERT_EQ(shown.report.findings.size(), 2U);
    const Finding* const told = finding_at(shown, summed);
    ASSERT_NE(told, nullptr);
    ASSERT_EQ(told->guessed.size(), 1U) << told->json();
    EXPECT_EQ(told->guessed[0].begin, 8000U);
    EXPECT_EQ(told->guessed[0].end, 11'200U);
    EXPECT_TRUE(told->missing.empty());
    EXPECT_NE(told->certainty, Certainty::Guessed) << "the other chunks are as sure as ever";
    ASSERT_NE(finding_at(shown, packed), nullptr);
    const auto remark = io::remarks_of(shown.source.get())->remark(summed);
    ASSERT_TRUE(remark);
    EXPECT_NE(remark->find(R"("guessed":[[8000,11200]])"), std::string::npos) << *remark;
    expect_chunks(shown, "summed", 40, 40);
  }
}

// Names that changed places: the objects may be under those of others, whichever these are.
TEST_F(OldFormatTest, ObjectsOfAListOutOfOrderAreGuessed) {
  auto bytes = test::written_with_h5py(
      "import numpy as np\nfor i in range(20): f.create_dataset('name%02d' % i, data=np.arange(i + 1))\n",
      "earliest");
  const std::uint64_t third = address_of(bytes, "name03"), last = address_of(bytes, "name19");
  const auto a = test::places_of(bytes, "name03"), b = test::places_of(bytes, "name17");
  ASSERT_EQ(a.size(), 1U);
  std::swap_ranges(bytes.begin() + static_cast<std::ptrdiff_t>(a[0]),
                   bytes.begin() + static_cast<std::ptrdiff_t>(a[0]) + 6,
                   bytes.begin() + static_cast<std::ptrdiff_t>(b.at(0)));
  const Salvaged shown = salvaged(bytes);
  for (const std::uint64_t address : {third, last}) {
    const Finding* const told = finding_at(shown, address);
    ASSERT_NE(told, nullptr) << address;
    EXPECT_EQ(told->certainty, Certainty::Guessed);
    EXPECT_NE(told->found_by.find("out of order"), std::string::npos) << told->found_by;
  }
}

TEST_P(CertaintyTest, ContiguousBytesBeforeACutArePlausible) {
  auto bytes = test::written_with_h5py("import numpy as np\nf['plain'] = np.arange(5000)\n", GetParam());
  ASSERT_FALSE(bytes.empty());
  const std::uint64_t plain = address_of(bytes, "plain");
  bytes.resize(bytes.size() - 10'003);
  const Salvaged shown = salvaged(bytes);
  ASSERT_NE(finding_at(shown, plain), nullptr);
  EXPECT_EQ(finding_at(shown, plain)->certainty, Certainty::Plausible);
  EXPECT_TRUE(io::remarks_of(shown.source.get())->lacks_bytes(plain));
  const Salvaged filled = salvaged(bytes, true);
  EXPECT_FALSE(io::remarks_of(filled.source.get())->lacks_bytes(plain)) << "all of it can be read";
}

}  // namespace
}  // namespace h5mount::salvage
