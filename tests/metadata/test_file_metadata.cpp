#include <gtest/gtest.h>

#include <fstream>

#include "h5mount/format/superblock.h"
#include "h5mount/metadata/object_header.h"
#include "h5mount/metadata/probe.h"
#include "h5mount/metadata/shared_messages.h"
#include "small_file.h"
#include "support/corpus.h"

namespace h5mount::metadata {
namespace {

namespace fs = std::filesystem;
using test::ByteBuilder;
using test::header2;
using test::message2;
using test::open_small;
using test::superblock;
using test::SuperblockLies;

ErrorCode code_of(const ByteBuilder& bytes) {
  const auto opened = FileMetadata::open(io::make_memory_source(bytes.bytes()), {});
  return opened ? ErrorCode::Internal : opened.error().code();
}

TEST(Superblock, Lies) {
  EXPECT_EQ(code_of(superblock({.size_of_offsets = 24})), ErrorCode::InvalidValue);
  EXPECT_EQ(code_of(superblock({.size_of_offsets = 3})), ErrorCode::InvalidValue);
  EXPECT_EQ(code_of(superblock({.size_of_lengths = 0})), ErrorCode::InvalidValue);
  EXPECT_EQ(code_of(superblock({.version = 4})), ErrorCode::UnsupportedVersion);
  EXPECT_EQ(code_of(superblock({.good_checksum = false})), ErrorCode::ChecksumMismatch);
  EXPECT_EQ(code_of(superblock({.flags = 1})), ErrorCode::Io);
  EXPECT_EQ(code_of(superblock({.flags = 5})), ErrorCode::Internal);  // SWMR: opens
  EXPECT_EQ(code_of(superblock({.version = 2, .flags = 1})),
            ErrorCode::Internal);  // ignored before version 3
  EXPECT_EQ(code_of(ByteBuilder().text("not an HDF5 file at all")), ErrorCode::BadSignature);
  EXPECT_EQ(code_of(ByteBuilder()), ErrorCode::BadSignature);
  EXPECT_EQ(code_of(ByteBuilder().text("\x89HDF\r\n\x1a\n")), ErrorCode::Truncated);
}

TEST(Superblock, ForceOpensWhatAWriterLeft) {
  const auto opened =
      FileMetadata::open(io::make_memory_source(superblock({.flags = 1}).bytes()), {.force = true});
  ASSERT_TRUE(opened);
  EXPECT_TRUE((*opened)->superblock().open_for_writing());
}

TEST(Superblock, ThePlaceWinsOverTheBaseAddress) {
  for (const std::size_t place :
       {std::size_t{0}, std::size_t{512}, std::size_t{1024}, std::size_t{1} << 16}) {
    const auto small =
        open_small(ByteBuilder().at(place).add(superblock({.base = 77})).at(place + 100).text("here"));
    ASSERT_TRUE(small.file) << place;
    EXPECT_EQ(small.file->base_address(), place);
    EXPECT_EQ(as_text(small.file->read(100, 4, "Test")->bytes()), "here");
    EXPECT_EQ(small.file->read(100, 4, "Test")->file_offset(), place + 100);
    std::array<std::byte, 4> raw{};
    ASSERT_TRUE(small.file->source()->read_at(100, raw));
    EXPECT_EQ(as_text(raw), "here");
  }
  EXPECT_EQ(code_of(ByteBuilder().at(513).add(superblock())), ErrorCode::BadSignature);
}

TEST(FileMetadata, ReadsAtTheEdge) {
  const auto small = open_small(superblock().at(1000));
  EXPECT_TRUE(small.file->read(990, 10, "Test"));
  EXPECT_EQ(small.file->read(990, 11, "Test").error().code(), ErrorCode::Truncated);
  EXPECT_EQ(small.file->read(1000, 1, "Test").error().code(), ErrorCode::OutOfRange);
  EXPECT_EQ(small.file->read(format::kUndefinedAddress, 1, "Test").error().code(), ErrorCode::OutOfRange);
  EXPECT_EQ(small.file->read_up_to(990, 100, "Test")->bytes().size(), 10U);
  EXPECT_EQ(small.file->read(0, ~std::uint64_t{0}, "Test").error().code(), ErrorCode::Truncated);
}

TEST(FileMetadata, ABadSectorHidesOnlyItself) {
  auto small = open_small(superblock().at(64U << 10));
  small.source->bad_byte = 40'000;
  EXPECT_TRUE(small.file->read(39'000, 100, "Test"));
  const auto bad = small.file->read(39'990, 100, "Test");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code(), ErrorCode::Io);
}

ByteBuilder image_entry(std::uint64_t address, std::string_view bytes, std::uint64_t size) {
  return ByteBuilder().u32(0).u32(0).u16(1).u32(0).u64(address).u64(size).u64(0).text(bytes);
}

ByteBuilder with_image(const ByteBuilder& entries, std::uint32_t count, std::uint64_t length_lie = 0) {
  const ByteBuilder image =
      ByteBuilder().text("MDCI").u8(0).u8(0).u64(0).u32(count).add(entries).checksum_from(0);
  const std::uint64_t length = length_lie != 0 ? length_lie : image.size();
  const ByteBuilder message = message2(0x18, ByteBuilder().u8(0).u64(1024).u64(length));
  return superblock({.extension = 512})
      .at(100)
      .text("old old old")
      .at(512)
      .add(header2(message))
      .at(1024)
      .add(image);
}

TEST(CacheImage, OverridesTheFile) {
  const ByteBuilder entries = image_entry(104, "new", 3).add(image_entry(5000, "beyond", 6));
  const auto small = open_small(with_image(entries, 2));
  ASSERT_TRUE(small.file);
  EXPECT_EQ(as_text(small.file->read(100, 11, "Test")->bytes()), "old new old");
  EXPECT_EQ(as_text(small.file->read(105, 1, "Test")->bytes()), "e");
  EXPECT_EQ(as_text(small.file->read(5001, 5, "Test")->bytes()), "eyond");  // the file ends before
  EXPECT_EQ(small.file->read(5001, 6, "Test").error().code(), ErrorCode::Truncated);
}

TEST(CacheImage, LiesRefuseTheFile) {
  EXPECT_EQ(code_of(with_image(image_entry(104, "new", 99'999), 1)), ErrorCode::Truncated);
  EXPECT_EQ(code_of(with_image(image_entry(104, "new", ~std::uint64_t{0}), 1)), ErrorCode::Truncated);
  EXPECT_EQ(code_of(with_image(image_entry(104, "new", 3), 0xFFFF'FFFF)), ErrorCode::LimitExceeded);
  EXPECT_EQ(code_of(with_image(image_entry(104, "new", 3), 1, 1U << 20)), ErrorCode::Truncated);
  EXPECT_EQ(code_of(with_image(image_entry(104, "new", 3), 1, 1ULL << 40)), ErrorCode::LimitExceeded);
  EXPECT_EQ(code_of(with_image(image_entry(104, "new", 3).add(image_entry(105, "x", 1)), 2)),
            ErrorCode::InvalidValue);
}

TEST(SuperblockExtension, DamageDoesNotHideTheFile) {
  EXPECT_TRUE(open_small(superblock({.extension = 1U << 20}).at(200)).file);
  const auto small =
      open_small(superblock({.extension = 512})
                     .at(512)
                     .add(header2(message2(0x0F, ByteBuilder().u8(0).u64(99).u8(1))
                                      .add(message2(0x13, ByteBuilder().u8(0).u16(7).u16(8).u16(9))))));
  ASSERT_TRUE(small.file);
  EXPECT_EQ(small.file->shared_messages(), nullptr);
  EXPECT_EQ(small.file->superblock().k.indexed_storage, 7);
  EXPECT_EQ(small.file->superblock().k.group_internal, 8);
  EXPECT_EQ(small.file->superblock().k.group_leaf, 9);
}

// Every file of the corpus that its manifest marks as readable opens here with the numbers in the manifest,
// and its root group has a header without damage. The file set's tests cover sets of files.
std::optional<std::string> field(const std::string& json, const std::string& name) {
  const auto at = json.find("\"" + name + "\":");
  if (at == std::string::npos) return std::nullopt;
  const auto from = json.find_first_not_of(' ', at + name.size() + 3);
  return json.substr(from, json.find_first_of(",\n}", from) - from);
}

void open_as_the_manifest_says(const fs::path& manifest, unsigned& opened_files) {
  const auto bytes = test::read_whole_file(manifest);
  const std::string json(as_text(bytes));
  const auto version = field(json, "superblock_version");
  if (!version) return;
  SCOPED_TRACE(manifest.string());
  auto source = io::open_file_source(manifest.parent_path() / manifest.stem());
  ASSERT_TRUE(source);
  const auto opened = FileMetadata::open(*source, {.force = true});
  ASSERT_TRUE(opened) << opened.error().text();
  ++opened_files;
  EXPECT_EQ(std::to_string((*opened)->superblock().version), *version);
  EXPECT_EQ(std::to_string((*opened)->base_address()), field(json, "userblock"));
  EXPECT_EQ(std::to_string((*opened)->sizes().offsets), field(json, "sizeof_addr"));
  EXPECT_EQ(std::to_string((*opened)->sizes().lengths), field(json, "sizeof_size"));
  EXPECT_EQ(std::to_string((*opened)->shared_messages() ? (*opened)->shared_messages()->indexes().size() : 0),
            field(json, "sohm_indexes").value_or("0"));
  const auto root = load_object_header(**opened, (*opened)->root_address());
  EXPECT_TRUE(root && !(*root)->damage) << (root ? (*root)->damage->text() : root.error().text());
}

TEST(Corpus, OpensAsTheManifestsSay) {
  H5MOUNT_NEEDS_CORPUS();
  for (const fs::path& corpus : test::corpora()) {
    unsigned opened_files = 0;
    for (const auto& entry : fs::recursive_directory_iterator(corpus))
      if (entry.path().extension() == ".json" &&
          fs::is_regular_file(entry.path().parent_path() / entry.path().stem()))
        open_as_the_manifest_says(entry.path(), opened_files);
    EXPECT_GE(opened_files, corpus == test::own_corpus() ? 20U : 100U);
  }
}

TEST(Corpus, HostileFilesOpenOrSayWhy) {
  H5MOUNT_NEEDS_CORPUS();
  for (const fs::path& corpus : test::corpora())
    for (const auto& entry : fs::recursive_directory_iterator(corpus / "hostile")) {
      if (!entry.is_regular_file()) continue;
      SCOPED_TRACE(entry.path().string());
      const auto source = io::open_file_source(entry.path());
      ASSERT_TRUE(source);
      const auto opened = FileMetadata::open(*source, {.force = true});
      if (!opened) {
        EXPECT_FALSE(opened.error().text().empty());
      } else if (const auto root = load_object_header(**opened, (*opened)->root_address()); !root) {
        EXPECT_FALSE(root.error().text().empty());
      }
    }
}

}  // namespace
}  // namespace h5mount::metadata
