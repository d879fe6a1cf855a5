// Where structures may begin.
#include "find/scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "find/sweep.h"
#include "h5mount/base/checksum.h"
#include "support/faulty_source.h"

namespace h5mount::salvage {
namespace {

std::vector<std::byte> bytes_of(std::string text) {
  text.append(kScanMargin, '\0');
  return {reinterpret_cast<const std::byte*>(text.data()),
          reinterpret_cast<const std::byte*>(text.data()) + text.size()};
}

std::vector<std::pair<std::size_t, Kind>> scanned(const std::vector<std::byte>& bytes,
                                                  std::size_t begin = 0) {
  std::vector<std::pair<std::size_t, Kind>> out;
  scan(bytes, begin, bytes.size() - kScanMargin,
       [&](std::size_t at, Kind kind) { out.emplace_back(at, kind); });
  return out;
}

TEST(Scan, FindsSignaturesAtAnyOffset) {
  for (std::size_t before = 0; before < 40; ++before) {
    const auto bytes = bytes_of(std::string(before, 'X') + "FADB" + std::string(7, 'Y') + "SNOD");
    const auto found = scanned(bytes);
    ASSERT_EQ(found.size(), 2U) << before;
    EXPECT_EQ(found[0], std::pair(before, Kind::FixedData));
    EXPECT_EQ(found[1], std::pair(before + 11, Kind::SymbolNode));
  }
}

TEST(Scan, LooksAtItsRangeOnly) {
  const auto bytes = bytes_of("OHDR....OHDR");
  EXPECT_EQ(scanned(bytes, 1), (std::vector<std::pair<std::size_t, Kind>>{{8, Kind::Header2}}));
}

TEST(Scan, SuperblocksAreFoundByTheirWholeSignature) {
  EXPECT_EQ(scanned(bytes_of("...\x89HDF\r\n\x1a\n")).size(), 1U);
  EXPECT_TRUE(scanned(bytes_of("...\x89HDF\r\n\x1a\r")).empty());
}

// A header of one dataspace message of 8 bytes and a NIL message.
std::string header1(std::uint16_t type = 1, std::uint16_t size = 8) {
  std::string out("\x01\0\x02\0\x01\0\0\0\x18\0\0\0\0\0\0\0", 16);
  out.append(reinterpret_cast<const char*>(&type), 2).append(reinterpret_cast<const char*>(&size), 2);
  out.append(4, '\0').append(8, '\1').append(std::string("\0\0\0\0\0\0\0\0", 8));
  return out;
}

TEST(Scan, OldHeadersAreKnownByTheirForm) {
  EXPECT_EQ(scanned(bytes_of("abc" + header1())),
            (std::vector<std::pair<std::size_t, Kind>>{{3, Kind::Header1}}));
  EXPECT_TRUE(has_form_of_header1(bytes_of(header1())));
  EXPECT_FALSE(has_form_of_header1(bytes_of(header1(0x19)))) << "an unknown message";
  EXPECT_FALSE(has_form_of_header1(bytes_of(header1(1, 9)))) << "not a multiple of 8";
  EXPECT_FALSE(has_form_of_header1(bytes_of(header1(1, 24)))) << "beyond the header";
  EXPECT_FALSE(has_form_of_header1(bytes_of(header1(0x0C)))) << "attributes alone are no object";
}

TEST(Scan, NewHeadersAreProvenByTheirChecksum) {
  std::string header("OHDR\x02\0\x08", 7);
  header.append(8, '\0');
  const std::uint32_t sum = lookup3_checksum(as_bytes(header));
  header.append(reinterpret_cast<const char*>(&sum), 4);
  EXPECT_EQ(proven_header2_bytes(as_bytes(header)), header.size());
  for (std::size_t i = 4; i < header.size(); ++i) {
    std::string changed = header;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_EQ(proven_header2_bytes(as_bytes(changed)), 0U) << i;
  }
}

// Structures at the edges of what is read at once, and of the ranges.
TEST(Sweep, FindsWhatBeginsInItsRangesInOrder) {
  constexpr std::uint64_t kPiece = 4U << 20;
  std::vector<std::byte> bytes(3 * kPiece + 1000, std::byte{'x'});
  const std::vector<std::uint64_t> places = {0,          kPiece - 2,     kPiece + 4,           kPiece + 100,
                                             2 * kPiece, 2 * kPiece + 9, 3 * kPiece + 1000 - 4};
  for (const std::uint64_t at : places) std::memcpy(&bytes[at], "SNOD", 4);
  const auto source = io::make_memory_source(std::move(bytes));
  const auto swept_in = [&](const std::vector<Range>& ranges) {
    std::vector<std::uint64_t> out;
    const auto swept = sweep(*source, ranges, {.fill = false, .threads = 3, .progress = {}});
    EXPECT_TRUE(swept);
    if (swept) std::ranges::transform(swept->found, std::back_inserter(out), Found::place);
    return std::pair(out, swept ? swept->bytes : 0);
  };
  EXPECT_EQ(swept_in({{0, source->size()}}), std::pair(places, source->size()));
  const auto [some, bytes_of_some] = swept_in({{1, 1},
                                               {1, kPiece - 1},
                                               {kPiece, kPiece + 5},
                                               {kPiece + 6, 2 * kPiece},
                                               {2 * kPiece + 1, 3 * kPiece}});
  EXPECT_EQ(some, (std::vector{places[1], places[2], places[3], places[5]}));
  EXPECT_EQ(bytes_of_some, 3 * kPiece - 4);
}

// Of some ranges only that is wanted whether they can be read.
TEST(Sweep, FindsNothingInWhatIsOnlyRead) {
  std::vector<std::byte> bytes(100'000, std::byte{'x'});
  for (const std::uint64_t at : {100, 20'000, 50'000}) std::memcpy(&bytes[at], "SNOD", 4);
  test::FaultySource source(std::move(bytes));
  source.bad_byte = 20'004;
  UsedRanges used;
  used.add(10'000, 30'000);
  used.settle();
  const auto swept =
      sweep(source, {{0, source.size()}}, {.fill = true, .threads = 1, .progress = {}}, {&used, 5000});
  ASSERT_TRUE(swept) << swept.error().text();
  std::vector<std::uint64_t> found;
  std::ranges::transform(swept->found, std::back_inserter(found), Found::place);
  EXPECT_EQ(found, (std::vector<std::uint64_t>{100, 50'000}));
  ASSERT_EQ(swept->unreadable.size(), 1U);
  EXPECT_LE(swept->unreadable[0].begin, 20'004U);
  EXPECT_GT(swept->unreadable[0].end, 20'004U);
}

// A page of the source cannot be read: it is passed over, and all others are looked at.
TEST(Sweep, GoesOnPastWhatCannotBeRead) {
  constexpr std::uint64_t kPiece = 4U << 20, kPage = 4096, kBad = kPiece + 3 * kPage + 17;
  std::vector<std::byte> bytes(2 * kPiece + 1000, std::byte{'x'});
  const std::vector<std::uint64_t> places = {10, kPiece + 2 * kPage, kPiece + 4 * kPage, 2 * kPiece + 500};
  for (const std::uint64_t at : places) std::memcpy(&bytes[at], "SNOD", 4);
  std::memcpy(&bytes[kBad - 8], "SNOD", 4);
  test::FaultySource source(std::move(bytes));
  source.bad_byte = kBad;
  const auto swept = sweep(source, {{0, source.size()}}, {.fill = false, .threads = 2, .progress = {}});
  ASSERT_TRUE(swept) << swept.error().text();
  std::vector<std::uint64_t> found;
  std::ranges::transform(swept->found, std::back_inserter(found), Found::place);
  EXPECT_EQ(found, places);
  EXPECT_EQ(swept->bytes, source.size());
  ASSERT_EQ(swept->unreadable.size(), 1U);
  EXPECT_EQ(swept->unreadable[0].begin, kPiece + 3 * kPage);
  EXPECT_EQ(swept->unreadable[0].end, kPiece + 4 * kPage);
  EXPECT_TRUE(swept->why_unreadable);
}

}  // namespace
}  // namespace h5mount::salvage
