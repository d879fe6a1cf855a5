// Damaged files through salvage and the ordinary readers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "h5mount/base/checksum.h"
#include "h5mount/chunk/chunk_index.h"
#include "h5mount/format/object_header_format.h"
#include "h5mount/io/remarks.h"
#include "h5mount/metadata/followed_file.h"
#include "h5mount/object/object.h"
#include "h5mount/object/resolve_path.h"
#include "salvaged_sample.h"

namespace h5mount::salvage {
namespace {

INSTANTIATE_TEST_SUITE_P(Versions, SalvageTest, testing::Values("earliest", "latest"));

TEST_P(SalvageTest, ASoundFileIsItself) {
  auto bytes = sample();
  ASSERT_FALSE(bytes.empty());
  const auto source = io::make_memory_source(std::move(bytes));
  const auto out = salvage_source(source, {});
  ASSERT_TRUE(out) << out.error().text();
  EXPECT_EQ(out->source, source);
  EXPECT_FALSE(out->report.changed);
  EXPECT_TRUE(out->report.findings.empty());
}

TEST_P(SalvageTest, WithoutASuperblock) {
  auto bytes = sample();
  ASSERT_FALSE(bytes.empty());
  std::fill_n(bytes.begin(), 48, std::byte{0});
  const Salvaged shown = salvaged(bytes);
  expect_chunks(shown, "g/fixed", 40, 40);
  expect_chunks(shown, "growing", 400, 400);
  ASSERT_NE(io::remarks_of(shown.source.get()), nullptr);
  EXPECT_TRUE(io::remarks_of(shown.source.get())->remark(48)) << "nothing is reached in the ordinary way";
}

TEST_P(SalvageTest, InsideAnotherFile) {
  const auto bytes = sample();
  std::vector<std::byte> outer(777, std::byte{'x'});
  outer.insert(outer.end(), bytes.begin(), bytes.end());
  outer.resize(outer.size() + 100, std::byte{'y'});
  expect_chunks(salvaged(outer), "both", 225, 225);
}

TEST_F(OldFormatTest, ADamagedGroupKeepsItsPlaces) {
  auto bytes = sample();
  const auto trees = test::places_of(bytes, std::string_view("TREE\0", 5));
  ASSERT_FALSE(trees.empty());
  for (const std::size_t at : trees) overwrite(bytes, at);
  const std::uint64_t member = address_of(sample(), "growing");
  const Salvaged shown = salvaged(bytes);
  expect_chunks(shown, "growing", 400, 400);
  ASSERT_NE(io::remarks_of(shown.source.get()), nullptr);
  EXPECT_TRUE(io::remarks_of(shown.source.get())->remark(member)) << "the ordinary way does not reach it";
}

// Of a dense group of which one node is damaged, the members that are still listed in the ordinary way say
// nothing.
TEST(Salvage, OnlyMembersThatADamagedGroupLostSaySo) {
  auto bytes = test::written_with_h5py("for i in range(300): f['g/d%03d' % i] = np.arange(4)", "latest");
  const auto leaves = test::places_of(bytes, "BTLF");
  ASSERT_GT(leaves.size(), 2U);
  overwrite(bytes, leaves.back(), 64);
  const auto file = metadata::FileMetadata::open(io::make_memory_source(bytes), {});
  ASSERT_TRUE(file);
  const Salvaged shown = salvaged(bytes);
  const io::Remarks* const remarks = io::remarks_of(shown.source.get());
  ASSERT_NE(remarks, nullptr);
  unsigned said = 0, ordinary = 0;
  for (unsigned i = 0; i < 300; ++i) {
    const std::string path = fmt::format("g/d{:03}", i);
    const bool reached = object::resolve_path(*file, (*file)->root_address(), path).has_value();
    const auto salvaged_file = metadata::FileMetadata::open(shown.source, {});
    ASSERT_TRUE(salvaged_file);
    const auto address = object::resolve_path(*salvaged_file, (*salvaged_file)->root_address(), path);
    ASSERT_TRUE(address) << path;
    ordinary += reached;
    said += remarks->remark(*address).has_value();
    if (!reached) EXPECT_TRUE(remarks->remark(*address)) << path;
  }
  EXPECT_GT(ordinary, 100U);
  EXPECT_LT(said, 300U - 100U);
}

TEST_F(LatestFormatTest, ALostRootLeavesItsObjectsInLostAndFound) {
  auto bytes = sample();
  overwrite(bytes, 48, 147);  // the root's header follows the superblock
  const Salvaged shown = salvaged(bytes);
  const auto named =
      std::ranges::count_if(shown.report.findings, [](const Finding& f) { return !f.name.empty(); });
  EXPECT_EQ(named, 4) << "the group and three datasets; the group brings its own";
  const auto group = std::ranges::find_if(shown.report.findings,
                                          [](const Finding& f) { return f.name.starts_with("group-"); });
  ASSERT_NE(group, shown.report.findings.end());
  expect_chunks(shown, "lost+found/" + group->name + "/fixed", 40, 40);
}

TEST_F(LatestFormatTest, WhatIsLeftOfADamagedRootIsBelieved) {
  auto bytes = sample();
  overwrite(bytes, 48);  // messages behind the first bytes still tell the links
  const Salvaged shown = salvaged(bytes);
  expect_chunks(shown, "g/fixed", 40, 40);
  expect_chunks(shown, "growing", 400, 400);
  const auto root = std::ranges::find(shown.report.findings, 48U, &Finding::address);
  ASSERT_NE(root, shown.report.findings.end());
  EXPECT_EQ(root->certainty, Certainty::Guessed);
  EXPECT_EQ(shown.report.findings.size(), 6U) << "the root, and the objects that only it leads to";
}

// The names of the root's members are in its heap, which is left.
TEST_F(OldFormatTest, ARootWithoutHeaderIsToldByItsNames) {
  auto bytes = sample();
  std::fill_n(bytes.begin(), 512, std::byte{0});  // superblock, the root's header, its tree
  const Salvaged shown = salvaged(bytes);
  expect_chunks(shown, "g/fixed", 40, 40);
  expect_chunks(shown, "growing", 400, 400);
}

TEST_F(LatestFormatTest, AMemberOfALostRootIsNotTheRoot) {
  auto bytes = sample();
  std::fill_n(bytes.begin(), 195, std::byte{0});
  const Salvaged shown = salvaged(bytes);
  const auto group = std::ranges::find_if(shown.report.findings,
                                          [](const Finding& f) { return f.name.starts_with("group-"); });
  if (group == shown.report.findings.end()) return;  // it lies first, as a root does
  expect_chunks(shown, "lost+found/" + group->name + "/fixed", 40, 40);
}

// Its extents are lost, but not what its index says.
TEST_F(LatestFormatTest, ADatasetWithADamagedHeaderIsAListOfWhatItStores) {
  auto bytes = sample();
  const std::uint64_t growing = address_of(bytes, "growing");
  overwrite(bytes, growing, 28);
  const Salvaged shown = salvaged(bytes);
  expect_chunks(shown, "growing", 400, 400);
  const auto told = io::remarks_of(shown.source.get())->remark(growing);
  ASSERT_TRUE(told);
  EXPECT_NE(told->find("guessed"), std::string::npos);
}

// A group's entry in its parent repeats where its tree and heap are.
TEST_F(OldFormatTest, AnOldGroupWithADamagedHeaderKeepsItsMembers) {
  auto bytes = sample();
  overwrite(bytes, address_of(bytes, "g"), 16);
  const Salvaged shown = salvaged(bytes);
  expect_chunks(shown, "g/fixed", 40, 40);
}

// One address that many blocks name says no more than if one did.
TEST_F(LatestFormatTest, TheBaseAddressIsNotThatOfTheMostBlocks) {
  auto bytes = sample();
  std::fill_n(bytes.begin(), 48, std::byte{0});
  for (const std::size_t at : test::places_of(bytes, "EAHD")) overwrite(bytes, at);
  const Salvaged shown = salvaged(bytes);
  expect_chunks(shown, "g/fixed", 40, 40);
  expect_chunks(shown, "growing", 400, 400);
}

TEST_F(LatestFormatTest, ElementsThatNoChecksumConfirmsAreGuesses) {
  auto bytes = sample();
  const auto blocks = test::places_of(bytes, "FADB");
  ASSERT_EQ(blocks.size(), 1U);
  overwrite(bytes, blocks[0], 64);
  const Salvaged shown = salvaged(bytes);
  expect_chunks(shown, "g/fixed", 40, 36);  // the elements of four were overwritten
  ASSERT_EQ(shown.report.findings.size(), 1U);
  EXPECT_EQ(shown.report.findings[0].certainty, Certainty::Guessed);
}

TEST_P(SalvageTest, AFileThatIsWrittenMeanwhileIsNotSalvaged) {
  const std::string path = testing::TempDir() + "/salvage_written.h5";
  const auto bytes = sample();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()) + 48,
             static_cast<std::streamsize>(bytes.size() - 48));
  const auto source = io::open_file_source(path);
  ASSERT_TRUE(source);
  const auto out = salvage_source(*source, {.threads = 1, .progress = [&](std::uint64_t, std::uint64_t) {
                                              std::ofstream(path, std::ios::app) << "more";
                                              return true;
                                            }});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code(), ErrorCode::Stale);
  std::filesystem::remove(path);
}

TEST_F(LatestFormatTest, IndexesAreRebuiltFromTheirBlocks) {
  for (const std::string_view signature : {"FAHD", "EAHD", "EAIB", "EASB", "BTHD"}) {
    auto bytes = sample();
    for (const std::size_t at : test::places_of(bytes, signature)) {
      overwrite(bytes, at);
      const Salvaged shown = salvaged(bytes);
      EXPECT_TRUE(shown.report.changed) << signature;
      expect_chunks(shown, "g/fixed", 40, 40);
      if (signature != "EAIB" && signature != "EASB") expect_chunks(shown, "growing", 400, 400);
      if (signature == "BTHD") {
        // What an inner node held stays known, as the node is whole.
        expect_chunks(shown, "both", 225, 225);
      }
    }
  }
}

// An array has no order of chunks for such a dataset.
TEST(Salvage, AnArrayOfADatasetThatCannotHaveItIsNotRead) {
  constexpr const char* kDatasets =
      "f.create_dataset('growing', data=[[1, 2], [3, 4]], maxshape=(None, 77), chunks=(1, 1))\n"
      "f.create_dataset('fixed', data=[[1, 2], [3, 4]], maxshape=(78, 77), chunks=(1, 1))\n";
  for (const char* path : {"growing", "fixed"}) {
    auto bytes = test::written_with_h5py(kDatasets);
    ASSERT_FALSE(bytes.empty());
    change_header(bytes, address_of(bytes, path), [](MutableByteSpan header) {
      replace_in(header, std::string_view("\x4d\0\0\0\0\0\0\0", 8), "\xff\xff\xff\xff\xff\xff\xff\xff");
    });
    const Salvaged shown = salvaged(bytes);
    ASSERT_EQ(shown.report.findings.size(), 1U) << path;
    EXPECT_EQ(shown.report.findings[0].missing.size(), 1U) << path;
  }
}

// The most elements that an array's index may have room for.
TEST(Salvage, AnArrayOf64BitsIsRead) {
  auto bytes = test::written_with_h5py(
      "f.create_dataset('growing', data=list(range(100)), maxshape=(None,), chunks=(1,))\n");
  ASSERT_FALSE(bytes.empty());
  change_header(bytes, address_of(bytes, "growing"), [](MutableByteSpan header) {
    replace_in(header, std::string_view("\x20\x04\x04\x10\x0a", 5), "\x40\x04\x04\x01\x0a");
  });
  const auto headers = test::places_of(bytes, "EAHD");
  ASSERT_EQ(headers.size(), 1U);
  overwrite(bytes, headers[0]);
  EXPECT_TRUE(salvaged(bytes).report.changed);
}

// The absent elements behind a row's end are far more than the dataset's chunks.
TEST(Salvage, AnArrayMayHaveMoreElementsThanItsDatasetHasChunks) {
  auto bytes = test::written_with_h5py(
      "f.create_dataset('w', (2, 3), 'i4', maxshape=(None, 1 << 20), chunks=(1, 1))[0, :2] = [1, 2]\n");
  ASSERT_FALSE(bytes.empty());
  const auto headers = test::places_of(bytes, "EAHD");
  ASSERT_EQ(headers.size(), 1U);
  overwrite(bytes, headers[0]);
  const Salvaged shown = salvaged(bytes);
  expect_chunks(shown, "w", 2, 2);
  ASSERT_EQ(shown.report.findings.size(), 1U);
  EXPECT_TRUE(shown.report.findings[0].missing.empty()) << "the others were never written";
}

// A reader of all of it would never end.
TEST_F(OldFormatTest, WhatNoFileCanHoldIsNotFilled) {
  auto bytes = sample();
  // The extent of `plain`, and its bytes, which stand in one header: 2^32 times as many.
  const auto places_of_number = [&](std::uint64_t number) {
    return test::places_of(bytes, std::string(reinterpret_cast<const char*>(&number), sizeof number));
  };
  const auto multiply = [&](std::size_t at, std::uint64_t number) {
    number <<= 32;
    std::memcpy(&bytes[at], &number, sizeof number);
  };
  constexpr std::size_t kHeaderBytes = 200;
  for (const std::size_t stored : places_of_number(1200))
    for (const std::size_t extent : places_of_number(300))
      if (stored > extent && stored - extent < kHeaderBytes) multiply(stored, 1200), multiply(extent, 300);
  const Salvaged shown = salvaged(bytes, true);
  ASSERT_EQ(shown.report.findings.size(), 1U);
  ASSERT_EQ(shown.report.findings[0].missing.size(), 1U);
  EXPECT_EQ(shown.report.findings[0].missing[0].end, std::uint64_t{1200} << 32);
  EXPECT_EQ(shown.report.findings[0].filled, 0U);
}

// As a writer leaves one that was killed between two pages.
TEST_F(OldFormatTest, ALeafThatWasWrittenInPartGivesItsFirstChunks) {
  constexpr std::size_t kEntries = 24, kEntryBytes = 32, kKept = 10;
  auto bytes = sample();
  const auto number = [&](std::size_t at) { return std::to_integer<std::size_t>(bytes[at]); };
  const auto is_leaf_of_growing = [&](std::size_t at) {
    return number(at + 4) == 1 && number(at + 5) == 0 && number(at + kEntries) == 10 * sizeof(std::int64_t);
  };
  auto nodes = test::places_of(bytes, "TREE");
  std::erase_if(nodes, [&](std::size_t at) { return !is_leaf_of_growing(at); });
  ASSERT_FALSE(nodes.empty());
  const std::size_t begin = nodes.front() + kEntries + kKept * kEntryBytes;
  const std::size_t lost = number(nodes.front() + 6) - kKept;
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(begin), lost * kEntryBytes, std::byte{0});
  const Salvaged shown = salvaged(bytes);
  expect_chunks(shown, "growing", 400, 400 - lost);
  ASSERT_EQ(shown.report.findings.size(), 1U);
  EXPECT_EQ(shown.report.findings[0].certainty, Certainty::Guessed);
}

TEST_F(LatestFormatTest, ChunksThatNothingTellsAreErrorsAndAreNamed) {
  auto bytes = sample();
  const auto blocks = test::places_of(bytes, "EADB");
  ASSERT_GT(blocks.size(), 1U);
  overwrite(bytes, blocks[1]);
  const Salvaged shown = salvaged(bytes);
  const auto chunks = chunks_at(*shown.source, shown.source, "growing");
  ASSERT_TRUE(chunks) << chunks.error().text();
  EXPECT_EQ(chunks->all, 400U);
  EXPECT_LT(chunks->readable, 400U);
  ASSERT_EQ(shown.report.findings.size(), 1U);
  const Finding& finding = shown.report.findings[0];
  ASSERT_EQ(finding.missing.size(), 1U);
  EXPECT_EQ(finding.missing[0].end - finding.missing[0].begin, (400 - chunks->readable) * 80);
  EXPECT_EQ(finding.filled, 0U);
  EXPECT_EQ(finding.certainty, Certainty::Guessed) << "no checksum confirms what is left of the block";

  const Salvaged filled = salvaged(bytes, true);
  expect_chunks(filled, "growing", chunks->readable, chunks->readable);
  EXPECT_EQ(filled.report.findings.at(0).filled, (400 - chunks->readable) * 80);
}

TEST_P(SalvageTest, ChunksThatDoNotDecodeAreFilledAndNamed) {
  auto bytes = sample();
  const std::uint64_t address = address_of(bytes, "g/fixed");
  for_each_chunk(bytes, "g/fixed", [&](std::uint64_t number, const chunk::ChunkRecord& record) {
    if (number == 7 || number == 9) overwrite(bytes, record.address + 2, record.stored_size - 2);
  });
  const Salvaged plain = salvaged(bytes);
  EXPECT_FALSE(plain.report.changed) << "its structures are sound: reading it is an error as ever";
  const Salvaged shown = salvaged(bytes, true);
  expect_chunks(shown, "g/fixed", 38, 38);
  ASSERT_EQ(shown.report.findings.size(), 1U);
  const Finding& told = shown.report.findings[0];
  EXPECT_EQ(told.address, address);
  ASSERT_EQ(told.missing.size(), 2U) << told.json();
  EXPECT_EQ(told.missing[0].begin, 5600U);
  EXPECT_EQ(told.missing[0].end, 6400U);
  EXPECT_EQ(told.missing[1].begin, 7200U);
  EXPECT_EQ(told.filled, 1600U);
}

TEST_P(SalvageTest, DeletedObjectsAreGuessed) {
  const auto bytes =
      test::written_with_h5py(std::string(kScript) + "f.flush()\ndel f['growing']\n", GetParam());
  ASSERT_FALSE(bytes.empty());
  const Salvaged shown = salvaged(bytes);
  const auto lost =
      std::ranges::find_if(shown.report.findings, [](const Finding& f) { return !f.name.empty(); });
  ASSERT_NE(lost, shown.report.findings.end());
  EXPECT_EQ(lost->certainty, Certainty::Guessed);
  expect_chunks(shown, "lost+found/" + lost->name, 400, 400);
}

TEST(Salvage, WhatIsNoHdf5IsSaid) {
  const auto out =
      salvage_source(io::make_memory_source(std::vector<std::byte>(100'000, std::byte{'a'})), {});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code(), ErrorCode::BadSignature);
}

TEST(Salvage, ASweepCanBeInterrupted) {
  const auto out =
      salvage_source(io::make_memory_source(std::vector<std::byte>(100'000, std::byte{'a'})),
                     {.threads = 1, .progress = [](std::uint64_t, std::uint64_t) { return false; }});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code(), ErrorCode::Interrupted);
}

}  // namespace
}  // namespace h5mount::salvage
