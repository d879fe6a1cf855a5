// check_file over files that h5py writes: nothing is found in sound ones, and planted damage is found where
// it is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "allocated_space.h"
#include "checked.h"
#include "extents.h"
#include "h5mount/base/limits.h"
#include "h5mount/check/check.h"
#include "support/every_index.h"
#include "support/faulty_source.h"
#include "support/h5py_file.h"
#include "test_paths.h"

namespace h5mount::test {
namespace {

// Where a test file has this 8-byte little-endian number.
std::size_t place_of(const std::vector<std::byte>& bytes, std::uint64_t number) {
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return all.find(std::string_view(reinterpret_cast<const char*>(&number), 8));
}

constexpr const char* kEveryStructure =
    "sys.dont_write_bytecode = True\n"
    "sys.path.insert(0, '" H5MOUNT_SOURCE_ROOT
    "/tests/check/fixtures')\n"
    "from every_structure import write\n"
    "write(f)\n";

TEST(Check, SoundFilesHaveNoFindings) {
  for (const char* libver : {"earliest", "latest"}) {
    for (const char* script : {kSmall, kEveryIndex}) {
      const std::vector<std::byte> bytes = written_with_h5py(script, libver);
      Collected report;
      const check::Totals totals = check_bytes(bytes, report);
      EXPECT_TRUE(report.findings.empty())
          << libver << ": " << report.findings[0].path << ": " << report.findings[0].error.text();
      EXPECT_GT(totals.objects, 4U);
      EXPECT_GT(totals.chunks, 9U);
      if (std::string_view(libver) == "latest") EXPECT_GT(totals.checksums, totals.objects);
    }
  }
}

// Every structure that libhdf5 writes accounts for its space; what it leaves over is less than the block that
// it takes from the file at a time.
TEST(Check, FreshFilesAreAccountedFor) {
  constexpr std::uint64_t kBlock = 2048;
  for (const char* libver : {"earliest", "latest"}) {
    for (const char* script : {kSmall, kEveryIndex, kEveryStructure}) {
      const std::vector<std::byte> bytes = written_with_h5py(script, libver);
      Collected report;
      const check::UnaccountedSpace space = check_bytes(bytes, report).unaccounted;
      std::uint64_t named = 0;
      for (const auto& range : space.largest) named += range.bytes;
      EXPECT_LE(named, space.bytes);
      EXPECT_LE(space.bytes, 2 * kBlock)
          << libver << ": " << space.ranges << " ranges, the largest " << space.largest[0].bytes << " at "
          << space.largest[0].offset << "\n"
          << script;
    }
  }
}

TEST(Check, SpaceOfDeletedObjectsIsUnaccountedFor) {
  const std::vector<std::byte> bytes = written_with_h5py(kDeleted);
  Collected report;
  const check::UnaccountedSpace space = check_bytes(bytes, report).unaccounted;
  EXPECT_TRUE(report.findings.empty());
  EXPECT_GE(space.largest[0].bytes, 100'000U);
  EXPECT_LE(space.largest[0].bytes, 102'048U);
  const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(space.largest[0].offset);
  EXPECT_GE(std::count(begin, begin + 1000, std::byte{250}), 3);  // every 251st byte of the lost ones
}

TEST(Ranges, TellWhetherTheNextOneLiesApart) {
  check::Ranges ranges;
  EXPECT_TRUE(ranges.add(10, 10));
  EXPECT_TRUE(ranges.add(20, 10));  // it touches the one before it
  EXPECT_TRUE(ranges.add(5, 5));    // and the one behind it
  EXPECT_FALSE(ranges.add(12, 2));
  EXPECT_FALSE(ranges.add(28, 10));
  EXPECT_FALSE(ranges.add(0, 100));
  EXPECT_TRUE(ranges.add(200, 0));
  EXPECT_TRUE(ranges.add(300, 10));
  EXPECT_FALSE(ranges.add(290, 20));
  EXPECT_EQ(ranges.end(), 310U);
}

TEST(AllocatedSpace, JoinsRangesAndGivesTheGaps) {
  check::AllocatedSpace space;
  space.add(10, 10);
  space.add(30, 10);
  space.add(12, 8);
  space.add(15, 10);
  space.add(5, 0);
  space.add(~std::uint64_t{0}, 2);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> gaps;
  space.for_each_gap(50, [&](const ByteRange& gap) { gaps.emplace_back(gap.begin, gap.end); });
  EXPECT_EQ(gaps, (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{0, 10}, {25, 30}, {40, 50}}));
  EXPECT_TRUE(space.contains(24));
  EXPECT_FALSE(space.contains(25));
  space.add(0, 100);
  gaps.clear();
  space.for_each_gap(100, [&](const ByteRange& gap) { gaps.emplace_back(gap.begin, gap.end); });
  EXPECT_TRUE(gaps.empty());
}

TEST(AllocatedSpace, MemoryIsBounded) {
  check::AllocatedSpace space;
  const auto gaps = [&] {
    std::size_t count = 0;
    space.for_each_gap(~std::uint64_t{0}, [&](const ByteRange&) { ++count; });
    return count;
  };
  std::uint64_t i = 0;
  for (; i < limits::kMaxAllocatedRanges; ++i) space.add(16 * i, 8);
  EXPECT_EQ(gaps(), limits::kMaxAllocatedRanges);
  EXPECT_FALSE(space.contains(16 * i - 8));
  space.add(16 * i, 8);
  EXPECT_EQ(gaps(), limits::kMaxAllocatedRanges);
  EXPECT_TRUE(space.contains(16 * i - 8));
}

TEST(Check, CountsWhatNoChecksumCovers) {
  const std::vector<std::byte> bytes = written_with_h5py(kSmall);
  Collected report;
  const check::Totals totals = check_bytes(bytes, report);
  EXPECT_EQ(totals.objects, 5U);  // /, g, g/checked, g/plain, text: each once, whatever leads to it
  EXPECT_EQ(totals.attributes, 1U);
  EXPECT_EQ(totals.chunks, 10U);
  EXPECT_EQ(totals.unprotected_bytes, 1000U + 2 * 16);
  EXPECT_GT(totals.data_bytes, totals.unprotected_bytes);
}

// The chunk whose byte changed, and nothing else.
TEST(Check, FindsADamagedChunkUnlessItIsQuick) {
  std::vector<std::byte> bytes = written_with_h5py(R"(
f.create_dataset('g/checked', data=np.arange(1000), chunks=(100,), compression='gzip', fletcher32=True)
)");
  Collected sound;
  EXPECT_EQ(check_bytes(bytes, sound).damage, 0U);
  std::size_t found = 0;
  // zlib's header of each chunk.
  for (std::size_t at = 0; at + 2 < bytes.size(); ++at) {
    if (bytes[at] != std::byte{0x78} || bytes[at + 1] != std::byte{0x5e}) continue;
    std::vector<std::byte> damaged = bytes;
    damaged[at + 20] ^= std::byte{1};
    Collected report, quick;
    const check::Totals totals = check_bytes(damaged, report);
    if (totals.damage == 0) continue;  // no chunk began there
    EXPECT_EQ(totals.damage, 1U);
    EXPECT_EQ(report.findings[0].path, "/g/checked");
    EXPECT_EQ(check_bytes(damaged, quick, true).damage, 0U);
    ++found;
  }
  EXPECT_EQ(found, 10U);
}

// A page that was lost has the right Fletcher-32: one note for a dataset, as real data are zeros too.
TEST(Check, ChunksOfNothingButZerosAreANote) {
  std::vector<std::byte> bytes = written_with_h5py(R"(
f.create_dataset('lost', data=np.arange(1, 4001), chunks=(100,), fletcher32=True)
f.create_dataset('zeros', data=np.zeros(4000), chunks=(100,), shuffle=True, fletcher32=True)
f.create_dataset('packed', data=np.zeros(4000), chunks=(100,), compression='gzip', fletcher32=True)
f.create_dataset('plain', data=np.zeros(4000), chunks=(100,), shuffle=True)
)");
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t second = all.find(std::string_view("\x65\0\0\0\0\0\0\0\x66", 9));
  ASSERT_NE(second, std::string_view::npos);
  std::memset(&bytes[second], 0, 2 * 804);
  Collected report, quick;
  EXPECT_EQ(check_bytes(bytes, report).damage, 0U);
  std::vector<std::string> notes = report.of(check::Severity::Note);
  std::ranges::sort(notes);
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_EQ(notes[0].find("/lost: Chunk.bytes"), 0U) << notes[0];
  EXPECT_NE(notes[0].find("0x2, stored chunks"), std::string::npos) << notes[0];
  EXPECT_EQ(notes[1].find("/zeros: "), 0U) << notes[1];
  check_bytes(bytes, quick, true);
  EXPECT_TRUE(quick.findings.empty());
}

TEST(Check, FindsTextWhoseHeapObjectIsGone) {
  std::vector<std::byte> bytes = written_with_h5py(kSmall);
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  bytes[all.find("beta") - 16] = std::byte{99};  // the object's number in its collection
  Collected report;
  check_bytes(bytes, report);
  ASSERT_EQ(report.of(check::Severity::Damage).size(), 1U);
  EXPECT_EQ(report.findings[0].path, "/text");
}

constexpr const char* kTwoContiguous = R"(
f.create_dataset('a', data=np.full(500, 0xAA, 'u1'))
f.create_dataset('b', data=np.full(500, 0xBB, 'u1'))
)";

// Every link whose message lies in a damaged block is lost with it: that is one finding.
TEST(Check, ABlockOfAHeapThatManyLinksShareIsFoundOnce) {
  std::vector<std::byte> bytes =
      written_with_h5py("for i in range(50): f.create_group('g%02d' % i)", "latest");
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t block = all.find("FHDB");
  ASSERT_NE(block, std::string_view::npos);
  bytes[block + 5] ^= std::byte{1};
  Collected report;
  EXPECT_EQ(check_bytes(bytes, report).damage, 1U);
  ASSERT_EQ(report.of(check::Severity::Damage).size(), 1U);
  EXPECT_NE(report.of(check::Severity::Damage)[0].find("FractalHeapDirectBlock"), std::string::npos);
}

TEST(Check, FindsOverlapsAndACutEnd) {
  std::vector<std::byte> bytes = written_with_h5py(kTwoContiguous, "earliest");
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t a = all.find(std::string(500, '\xAA')), b = all.find(std::string(500, '\xBB'));
  // The layout message of b leads to the middle of a.
  const std::size_t field = place_of(bytes, b);
  ASSERT_NE(field, std::string_view::npos);
  std::vector<std::byte> overlapping = bytes;
  const std::uint64_t other = a + 100;
  std::memcpy(&overlapping[field], &other, 8);
  Collected report;
  check_bytes(overlapping, report);
  ASSERT_EQ(report.of(check::Severity::Damage).size(), 1U);
  EXPECT_NE(report.of(check::Severity::Damage)[0].find("overlap those of"), std::string::npos);

  bytes.resize(bytes.size() - 100);
  Collected cut;
  check_bytes(bytes, cut);
  ASSERT_FALSE(cut.findings.empty());
  EXPECT_EQ(cut.findings[0].path, "");
  EXPECT_EQ(cut.findings[0].error.code(), ErrorCode::Truncated);
}

// One finding, whatever the layout says, and no memory for what is not there.
TEST(Check, ClaimsBeyondTheFileAreNotRead) {
  std::vector<std::byte> bytes = written_with_h5py(kTwoContiguous, "earliest");
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t field = place_of(bytes, all.find(std::string(500, '\xBB')));
  ASSERT_NE(field, std::string_view::npos);
  const std::uint64_t far = 1ULL << 40;
  std::memcpy(&bytes[field], &far, 8);
  Collected report;
  const check::Totals totals = check_bytes(bytes, report);
  ASSERT_EQ(report.of(check::Severity::Damage).size(), 1U);
  EXPECT_EQ(report.findings[0].path, "/b");
  EXPECT_EQ(report.findings[0].error.code(), ErrorCode::Truncated);
  EXPECT_EQ(totals.data_bytes, 500U);
}

TEST(Check, ReadErrorsOfPlainDataAreFindings) {
  const std::vector<std::byte> bytes = written_with_h5py(R"(
f.create_dataset('a', data=np.full(500, 0xAA, 'u1'))
f.create_dataset('b', data=np.full(3000, 0xBB, 'u1'), chunks=(1000,))
)");
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const auto& [fill, path] : {std::pair('\xAA', "/a"), std::pair('\xBB', "/b")}) {
    const auto source = std::make_shared<FaultySource>(bytes);
    source->bad_byte = all.find(std::string(500, fill)) + 300;
    Collected report, quick;
    check_source(source, report);
    ASSERT_EQ(report.of(check::Severity::Damage).size(), 1U) << path;
    EXPECT_EQ(report.findings[0].path, path);
    EXPECT_EQ(report.findings[0].error.code(), ErrorCode::Io);
    EXPECT_EQ(check_source(source, quick, true).damage, 0U) << path;
  }
}

// An index that leads to the same bytes again and again is left after a few times the file's length.
TEST(Check, ClaimsAreBoundedByTheFile) {
  check::Extents extents(1000);
  for (std::uint64_t i = 0; i < 40; ++i) EXPECT_TRUE(extents.add({0, 100, 1, false})) << i;
  unsigned more = 0;
  while (more < 10'000 && extents.add({0, 100, 1, false})) ++more;
  EXPECT_LT(more, 40U);
  check::Extents empty(1000);
  more = 0;
  while (more < 10'000 && empty.add({0, 0, 1, false})) ++more;
  EXPECT_LT(more, 8000U);
}

TEST(Check, PlacesEndAtTheirLimits) {
  check::Places objects(1);
  for (std::uint64_t address = 2; address <= limits::kMaxWalkedObjects; ++address)
    objects.add(0, "", address);
  EXPECT_FALSE(objects.full());
  EXPECT_EQ(objects.size(), limits::kMaxWalkedObjects);
  objects.add(0, "", limits::kMaxWalkedObjects);  // is known
  EXPECT_FALSE(objects.full());
  objects.add(0, "", 0);
  EXPECT_TRUE(objects.full());

  check::Places names(1);
  const std::string name(limits::kMaxRememberedNameBytes / 64, 'n');
  for (check::PlaceId parent = 0; parent < 64; ++parent) names.add(parent, name, parent + 2);
  EXPECT_FALSE(names.full());
  EXPECT_LE(names.path(64).size(), 4096U);
  names.add(0, "x", 1000);
  EXPECT_TRUE(names.full());
}

TEST(Check, PathsOfPlacesAreCutAtTheFront) {
  check::Places places(1);
  check::PlaceId parent = 0;
  for (std::uint64_t address = 2; address < 22; ++address, ++parent)
    places.add(parent, std::string(250, static_cast<char>('a' + parent)), address);
  EXPECT_EQ(places.path(0), "/");
  EXPECT_EQ(places.path(1), "/" + std::string(250, 'a'));
  const std::string cut = places.path(20);
  EXPECT_EQ(cut.substr(0, 5), ".../e");
  EXPECT_EQ(cut.substr(cut.size() - 251), "/" + std::string(250, 't'));
}

TEST(Check, StopsWhenTheReportWantsNoMore) {
  const std::vector<std::byte> bytes = written_with_h5py(kSmall);
  Collected report;
  report.stop = true;
  EXPECT_EQ(check_bytes(bytes, report).objects, 0U);
}

}  // namespace
}  // namespace h5mount::test
