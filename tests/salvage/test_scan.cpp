// Where structures may begin.
#include "scan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "h5mount/base/checksum.h"

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

}  // namespace
}  // namespace h5mount::salvage
