// Chunks of the corpora's files compared with libhdf5's answers: expected_chunks.txt, made by
// scripts/make_corpus.py, and by make_expected_chunks.py for the shared corpus.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "chunk/index_builder.h"
#include "h5mount/chunk/chunk_index.h"
#include "h5mount/object/object.h"
#include "support/corpus.h"
#include "support/far_source.h"

namespace h5mount::test {

namespace {

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, by);) parts.push_back(part);
  return parts;
}

struct Opened {
  metadata::FileMetadataPtr file;
  chunk::ChunkGeometry geometry;
  std::unique_ptr<chunk::ChunkIndex> index;
};

Result<Opened> open_dataset(const std::shared_ptr<io::ByteSource>& source, const std::string& path) {
  Opened out;
  H5_ASSIGN(out.file, metadata::FileMetadata::open(source, metadata::MetadataOptions{.force = true}));
  H5_ASSIGN(const std::uint64_t address, object::resolve_path(out.file, out.file->root_address(), path));
  H5_ASSIGN(const object::Object object, object::open_object(*out.file, address));
  H5_ASSIGN(const object::DatasetDescription dataset, object::describe_dataset(*out.file, object));
  const bool filtered = !dataset.pipeline.filters.empty() || !dataset.pipeline.sections.empty();
  H5_ASSIGN(out.geometry, chunk::ChunkGeometry::make(dataset.space, dataset.layout, filtered));
  H5_ASSIGN(out.index, chunk::open_chunk_index(out.file, dataset.layout, out.geometry));
  return out;
}

// One of the listed chunks: "offsets:address:size:mask".
void expect_chunk(const Opened& opened, const std::string& text) {
  const auto parts = split(text, ':');
  Coordinates scaled;
  for (const std::string& offset : split(parts.at(0), ','))
    scaled.push_back(std::stoull(offset) / opened.geometry.chunk_dims.at(scaled.size()));
  const auto found = opened.index->find(scaled);
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_EQ(found->address + opened.file->base_address(), std::stoull(parts.at(1))) << text;
  EXPECT_EQ(found->stored_size, std::stoull(parts.at(2))) << text;
  EXPECT_EQ(found->filter_mask, std::stoull(parts.at(3))) << text;
}

void expect_run_agrees(const Opened& opened, const std::map<Coordinates, chunk::ChunkRecord>& seen) {
  const auto all = grid_coordinates(opened.geometry.grid);
  if (all.empty()) return;
  std::vector<chunk::ChunkRecord> run(all.size());
  const auto status = opened.index->find_run(all[0], run);
  ASSERT_TRUE(status) << status.error().text();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto there = seen.find(all[i]);
    ASSERT_EQ(run[i].address, there == seen.end() ? format::kUndefinedAddress : there->second.address);
  }
}

// Everything was asked for when it is read, whatever the index.
void expect_few_rounds(const std::filesystem::path& place, const std::string& path) {
  const auto near = io::open_file_source(place.string());
  ASSERT_TRUE(near);
  const auto source = std::make_shared<FarSource>(*near, 16U << 10);
  const auto opened = open_dataset(source, path);
  ASSERT_TRUE(opened) << opened.error().text();
  source->forget();
  const ByteRange user_block{0, opened->file->base_address()};  // it shares a block with what follows
  source->will_read({&user_block, 1});
  const auto all = grid_coordinates(opened->geometry.grid);
  if (all.empty()) return;
  const chunk::ChunkIndex::Run run{
      0, std::min<std::uint64_t>(all.size(), 4096)};  // what is asked for at once is bounded
  opened->index->will_find({&run, 1});
  EXPECT_LE(source->rounds(), 6U);
  std::vector<chunk::ChunkRecord> records(static_cast<std::size_t>(run.count));
  EXPECT_TRUE(opened->index->find_run(all[0], records));
  EXPECT_TRUE(opened->index->for_each([](auto, const chunk::ChunkRecord&) { return true; }));
  const auto untold = source->untold();
  EXPECT_TRUE(untold.empty()) << untold.size() << " reads, the first at " << untold[0].begin;
}

// A line of the table: file, path, number of chunks, some of them.
void expect_dataset(const std::filesystem::path& corpus, const std::vector<std::string>& parts) {
  SCOPED_TRACE(parts.at(0) + " " + parts.at(1));
  const auto source = io::open_file_source((corpus / parts[0]).string());
  ASSERT_TRUE(source);
  const auto opened = open_dataset(*source, parts[1]);
  ASSERT_TRUE(opened) << opened.error().text();
  for (std::size_t i = 3; i < parts.size(); ++i) expect_chunk(*opened, parts[i]);
  std::uint64_t grid_size = 1, allocated = 0;
  for (const std::uint64_t n : opened->geometry.grid) grid_size *= n;
  std::map<Coordinates, chunk::ChunkRecord> seen;
  const auto status =
      opened->index->for_each([&](std::span<const std::uint64_t> scaled, const chunk::ChunkRecord& record) {
        ++allocated;
        if (grid_size < 200'000) seen.emplace(Coordinates(scaled.begin(), scaled.end()), record);
        return true;
      });
  EXPECT_TRUE(status) << status.error().text();
  EXPECT_EQ(allocated, std::stoull(parts.at(2)));
  if (grid_size < 200'000) expect_run_agrees(*opened, seen);
  if (grid_size < 50'000) expect_few_rounds(corpus / parts[0], parts[1]);
}

std::size_t expect_datasets(const std::filesystem::path& corpus, const std::filesystem::path& table) {
  std::ifstream in(table);
  std::size_t datasets = 0;
  for (std::string line; std::getline(in, line); ++datasets) expect_dataset(corpus, split(line, '\t'));
  return datasets;
}

TEST(CorpusChunks, AreWhereTheLibrarySaysTheyAre) {
  H5MOUNT_NEEDS_CORPUS();
  EXPECT_GT(expect_datasets(own_corpus(), own_corpus() / "expected_chunks.txt"), 70U);
  if (const auto shared = shared_corpus())
    EXPECT_GT(expect_datasets(*shared, source_root() / "tests/chunk/expected_chunks.txt"), 300U);
}

}  // namespace

}  // namespace h5mount::test
