// The contract of ChunkIndex, tested for every kind: find, find_run and for_each agree.
#include <gtest/gtest.h>

#include "chunk/index_builder.h"
#include "metadata/memory_file.h"
#include "support/far_source.h"

namespace h5mount::test {

namespace {

void expect_equal(const chunk::ChunkRecord& found, const chunk::ChunkRecord& expected,
                  const Coordinates& at) {
  EXPECT_EQ(found.address, expected.address) << ::testing::PrintToString(at);
  if (!expected.allocated()) return;
  EXPECT_EQ(found.stored_size, expected.stored_size) << ::testing::PrintToString(at);
  EXPECT_EQ(found.filter_mask, expected.filter_mask) << ::testing::PrintToString(at);
  EXPECT_EQ(found.section_fields, expected.section_fields) << ::testing::PrintToString(at);
}

class Conformance : public ::testing::TestWithParam<IndexCase> {
 protected:
  Conformance() : built(build_index(GetParam())) {}

  std::shared_ptr<MemoryFile> file(std::vector<std::byte> bytes) const {
    return std::make_shared<MemoryFile>(std::move(bytes), built.what.sizes);
  }
  Result<std::unique_ptr<chunk::ChunkIndex>> open(std::shared_ptr<MemoryFile> from) const {
    return chunk::open_chunk_index(std::move(from), built.layout, built.geometry);
  }
  // Of a far file that has noted nothing yet.
  Result<std::unique_ptr<chunk::ChunkIndex>> open_far() {
    far = std::make_shared<FarSource>(io::make_memory_source(built.bytes), 1);
    auto index = open(std::make_shared<MemoryFile>(far, built.what.sizes));
    far->forget();
    return index;
  }
  // A header is read when an index is opened; below it are at most so many levels in these cases.
  static constexpr std::uint64_t kMaxRounds = 4;

  chunk::ChunkRecord expected(const Coordinates& scaled) const {
    const auto found = built.chunks.find(scaled);
    return found == built.chunks.end() ? chunk::ChunkRecord{} : found->second;
  }

  BuiltIndex built;
  std::shared_ptr<FarSource> far;
};

TEST_P(Conformance, FindReturnsEachChunkAndAbsentOnes) {
  const auto index = open(file(built.bytes));
  ASSERT_TRUE(index) << index.error().text();
  for (const Coordinates& scaled : grid_coordinates(built.geometry.grid)) {
    const auto found = (*index)->find(scaled);
    ASSERT_TRUE(found) << found.error().text();
    expect_equal(*found, expected(scaled), scaled);
  }
}

TEST_P(Conformance, RunsOfAnyLengthAgreeWithFind) {
  const auto index = open(file(built.bytes));
  ASSERT_TRUE(index) << index.error().text();
  const auto all = grid_coordinates(built.geometry.grid);
  for (const std::size_t length : {std::size_t{1}, std::size_t{7}, all.size()}) {
    for (std::size_t from = 0; from < all.size(); from += length) {
      // The records are preset, to show that find_run overwrites all of them.
      std::vector<chunk::ChunkRecord> run(std::min(length, all.size() - from),
                                          chunk::ChunkRecord{1, 2, 3, {std::byte{4}}});
      const auto status = (*index)->find_run(all[from], run);
      ASSERT_TRUE(status) << status.error().text();
      for (std::size_t i = 0; i < run.size(); ++i)
        expect_equal(run[i], expected(all[from + i]), all[from + i]);
    }
  }
}

TEST_P(Conformance, ForEachVisitsEveryChunkOnceAndStopsOnRequest) {
  const auto index = open(file(built.bytes));
  ASSERT_TRUE(index) << index.error().text();
  std::map<Coordinates, chunk::ChunkRecord> seen;
  const auto status =
      (*index)->for_each([&](std::span<const std::uint64_t> scaled, const chunk::ChunkRecord& record) {
        EXPECT_TRUE(seen.emplace(Coordinates(scaled.begin(), scaled.end()), record).second);
        return true;
      });
  ASSERT_TRUE(status) << status.error().text();
  ASSERT_EQ(seen.size(), built.chunks.size());
  for (const auto& [scaled, record] : seen) expect_equal(record, expected(scaled), scaled);

  unsigned visits = 0;
  const auto stopped = (*index)->for_each([&](auto, const chunk::ChunkRecord&) { return ++visits < 2; });
  EXPECT_TRUE(stopped);
  EXPECT_EQ(visits, std::min<std::size_t>(2, built.chunks.size()));
}

TEST_P(Conformance, LookupsOfAFarIndexReadNothingThatWasNotAskedForALevelAtATime) {
  const auto all = grid_coordinates(built.geometry.grid);
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, all.size()}) {
    const auto index = open_far();
    ASSERT_TRUE(index) << index.error().text();
    std::vector<chunk::ChunkIndex::Run> runs;
    for (std::size_t i = 0; i < all.size(); i += step) runs.push_back({i, 1});
    if (step == 1) runs = {{0, all.size()}};
    (*index)->will_find(runs);
    EXPECT_LE(far->rounds(), kMaxRounds);
    for (std::size_t i = 0; i < all.size(); i += step) {
      const auto found = (*index)->find(all[i]);
      ASSERT_TRUE(found) << found.error().text();
      expect_equal(*found, expected(all[i]), all[i]);
    }
    const auto untold = far->untold();
    EXPECT_TRUE(untold.empty()) << untold.size() << " reads, the first at " << untold[0].begin;
  }
}

TEST_P(Conformance, AWalkOverAFarIndexReadsNothingThatWasNotAskedFor) {
  const auto index = open_far();
  ASSERT_TRUE(index) << index.error().text();
  std::size_t visited = 0;
  EXPECT_TRUE((*index)->for_each([&](auto, const chunk::ChunkRecord&) { return ++visited > 0; }));
  EXPECT_EQ(visited, built.chunks.size());
  const auto untold = far->untold();
  EXPECT_TRUE(untold.empty()) << untold.size() << " reads, the first at " << untold[0].begin;
  EXPECT_LE(far->rounds(), kMaxRounds + far->reads() / 256);
}

TEST_P(Conformance, AskingForDamagedNodesAndOutsideTheGridEnds) {
  set_metadata_checksums_enabled(false);
  for (std::size_t at = 0; at < built.bytes.size(); at += 1 + built.bytes.size() / 200) {
    auto bytes = built.bytes;
    bytes[at] ^= std::byte{0x5A};
    far = std::make_shared<FarSource>(io::make_memory_source(std::move(bytes)), 1);
    const auto index = open(std::make_shared<MemoryFile>(far, built.what.sizes));
    if (!index) continue;
    const chunk::ChunkIndex::Run runs[] = {{0, 3}, {2, ~std::uint64_t{0} - 2}, {~std::uint64_t{0}, 5}};
    (*index)->will_find(runs);
    (void)(*index)->for_each([](auto, const chunk::ChunkRecord&) { return true; });
  }
  set_metadata_checksums_enabled(true);
}

TEST_P(Conformance, AnUndefinedAddressIsAnIndexWithoutChunks) {
  built.layout.address = format::kUndefinedAddress;
  const auto from = file(built.bytes);
  const auto index = open(from);
  ASSERT_TRUE(index);
  const auto found = (*index)->find(Coordinates(built.geometry.grid.size(), 0));
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->allocated());
  EXPECT_TRUE((*index)->for_each([](auto, const chunk::ChunkRecord&) { return false; }));
  EXPECT_EQ(from->reads(), 0U);
}

TEST_P(Conformance, ASmallerExtentHidesTheChunksOutsideIt) {
  if (GetParam().kind == format::ChunkIndexKind::Single) return;
  auto& grid = built.geometry.grid;
  grid[0] = (grid[0] + 1) / 2;
  built.geometry.dims[0] = grid[0] * built.geometry.chunk_dims[0];
  const auto index = open(file(built.bytes));
  ASSERT_TRUE(index) << index.error().text();
  const auto inside = grid_coordinates(grid);
  std::vector<chunk::ChunkRecord> run(inside.size());
  ASSERT_TRUE((*index)->find_run(inside[0], run));
  std::size_t allocated = 0;
  for (std::size_t i = 0; i < run.size(); ++i) {
    expect_equal(run[i], expected(inside[i]), inside[i]);
    allocated += run[i].allocated();
  }
  std::size_t visited = 0;
  ASSERT_TRUE((*index)->for_each([&](std::span<const std::uint64_t> scaled, const chunk::ChunkRecord&) {
    EXPECT_LT(scaled[0], grid[0]);
    ++visited;
    return true;
  }));
  EXPECT_EQ(visited, allocated);
}

// Byte 5 is the level of a version 1 B-tree node, and the client or record type of the other indexes.
TEST_P(Conformance, ABrokenRootIsAnErrorWithFieldAndOffset) {
  const auto kind = GetParam().kind;
  if (kind == format::ChunkIndexKind::Single || kind == format::ChunkIndexKind::Implicit) return;
  const bool btree1 = kind == format::ChunkIndexKind::BTree1;
  struct Broken {
    std::uint64_t offset;
    ErrorCode code;
    std::string_view field;
  };
  std::vector<Broken> cases = {{0, ErrorCode::BadSignature, "signature"},
                               {4, btree1 ? ErrorCode::InvalidValue : ErrorCode::UnsupportedVersion,
                                btree1 ? "node_type" : "version"}};
  // The byte of a version 1 tree is its level, of which each is possible.
  if (!btree1)
    cases.push_back(
        {5, ErrorCode::InvalidValue, kind == format::ChunkIndexKind::BTree2 ? "type" : "client_id"});
  set_metadata_checksums_enabled(false);
  for (const Broken& broken : cases) {
    auto bytes = built.bytes;
    bytes[built.layout.address + broken.offset] = std::byte{0xEE};
    const auto index = open(file(bytes));
    const auto found =
        index ? (*index)->find(Coordinates(built.geometry.grid.size(), 0)) : fail(index.error());
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code(), broken.code) << found.error().text();
    EXPECT_EQ(found.error().field(), broken.field) << found.error().text();
    EXPECT_EQ(found.error().offset(), built.layout.address + broken.offset) << found.error().text();
  }
  set_metadata_checksums_enabled(true);
}

// Any changed byte and any truncation: an error or chunks, but no hang or crash.
TEST_P(Conformance, DamageNeverHangsOrCrashes) {
  set_metadata_checksums_enabled(false);
  const std::size_t step = std::max<std::size_t>(1, built.bytes.size() / 300);
  for (std::size_t at = 32; at < built.bytes.size(); at += step) {
    for (const std::uint8_t value : {0x00, 0x01, 0x7F, 0xFF}) {
      auto bytes = built.bytes;
      bytes[at] = static_cast<std::byte>(value);
      const auto index = open(file(std::move(bytes)));
      if (!index) continue;
      unsigned visits = 0;
      (void)(*index)->for_each([&](auto, const chunk::ChunkRecord&) { return ++visits < 10'000; });
      (void)(*index)->find(Coordinates(built.geometry.grid.size(), 0));
      std::vector<chunk::ChunkRecord> run(std::min<std::uint64_t>(16, built.geometry.grid.back()));
      (void)(*index)->find_run(Coordinates(built.geometry.grid.size(), 0), run);
    }
  }
  set_metadata_checksums_enabled(true);
}

// With one damaged byte anywhere, a run over the whole grid equals `find` chunk by chunk, or fails where one
// of those fails. The run traverses from node to node; `find` descends from the root each time.
TEST_P(Conformance, RunsOverDamageAgreeWithFind) {
  const auto all = grid_coordinates(built.geometry.grid);
  const std::size_t step = std::max<std::size_t>(1, built.bytes.size() / 40);
  std::size_t failed = 0;
  for (std::size_t at = built.layout.address; at < built.bytes.size(); at += step) {
    auto bytes = built.bytes;
    bytes[at] ^= std::byte{0x10};
    const auto index = open(file(std::move(bytes)));
    if (!index) continue;
    std::vector<chunk::ChunkRecord> run(all.size());
    const auto status = (*index)->find_run(all[0], run);
    failed += !status;
    const std::size_t stride = std::max<std::size_t>(1, all.size() / 200);
    for (std::size_t i = 0; status && i < all.size(); i += stride) {
      const auto found = (*index)->find(all[i]);
      ASSERT_TRUE(found) << "a run over a damaged node was no error, at byte " << at;
      expect_equal(run[i], *found, all[i]);
    }
  }
  if (GetParam().kind == format::ChunkIndexKind::BTree2) EXPECT_GT(failed, 0U);
}

TEST_P(Conformance, EveryChecksummedByteIsVerified) {
  const auto kind = GetParam().kind;
  if (kind != format::ChunkIndexKind::FixedArray && kind != format::ChunkIndexKind::ExtensibleArray &&
      kind != format::ChunkIndexKind::BTree2)
    return;
  // Pages that were never initialised are not read, so only bytes of initialised ones are changed.
  const std::size_t step = std::max<std::size_t>(1, built.bytes.size() / 500);
  std::size_t noticed = 0, tried = 0;
  for (std::size_t at = built.layout.address; at < built.bytes.size(); at += step) {
    if (built.bytes[at] == std::byte{0xAB}) continue;
    auto bytes = built.bytes;
    bytes[at] ^= std::byte{0x10};
    ++tried;
    const auto index = open(file(std::move(bytes)));
    if (!index || !(*index)->for_each([](auto, const chunk::ChunkRecord&) { return true; })) ++noticed;
  }
  EXPECT_EQ(noticed, tried);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Conformance, ::testing::ValuesIn(all_index_cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace

}  // namespace h5mount::test
