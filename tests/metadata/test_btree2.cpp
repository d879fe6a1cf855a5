#include <gtest/gtest.h>

#include "btree2_builder.h"
#include "h5mount/metadata/btree2.h"
#include "support/far_source.h"

namespace h5mount::test {
namespace {

constexpr format::BTree2Records kRecords{.type = 5};

metadata::BTree2::Compare key_is(std::uint64_t key) {
  return [key](ByteSpan record) -> Result<int> {
    const auto found = load_le<std::uint64_t>(record.data());
    return key == found ? 0 : key < found ? -1 : 1;
  };
}

struct Listing {
  std::vector<std::uint64_t> keys;
  std::vector<Error> damage;
  Status status;
};

Listing list(const metadata::BTree2& tree, bool told = false) {
  Listing out;
  const auto visit = [&](ByteSpan record, std::uint64_t) -> Result<bool> {
    out.keys.push_back(load_le<std::uint64_t>(record.data()));
    return true;
  };
  const metadata::BTree2::Damaged damaged = [&](const Error& error) { out.damage.push_back(error); };
  out.status = tree.for_each(visit, told ? damaged : metadata::BTree2::Damaged{});
  return out;
}

struct Built {
  explicit Built(const BTree2Plan& plan, format::FileSizes sizes = {})
      : writer(sizes), builder(writer, plan) {
    address = builder.build();
  }
  Result<std::shared_ptr<const metadata::BTree2>> open() const {
    return metadata::BTree2::open(writer.file(), address, kRecords);
  }
  Writer writer;
  BTree2Builder builder;
  std::uint64_t address = 0;
};

class Trees : public testing::TestWithParam<std::tuple<std::uint16_t, std::uint32_t, format::FileSizes>> {};

TEST_P(Trees, EveryRecordIsFoundAndListedInOrder) {
  const auto& [depth, node_size, sizes] = GetParam();
  const Built built({.node_size = node_size, .depth = depth}, sizes);
  const auto tree = built.open();
  ASSERT_TRUE(tree) << tree.error().text();
  const Listing all = list(**tree);
  ASSERT_TRUE(all.status) << all.status.error().text();
  ASSERT_EQ(all.keys.size(), built.builder.keys());
  EXPECT_EQ((*tree)->record_count(), all.keys.size());
  EXPECT_TRUE(std::ranges::is_sorted(all.keys));
}

INSTANTIATE_TEST_SUITE_P(Shapes, Trees,
                         testing::Combine(testing::Values<std::uint16_t>(0, 1, 2, 3),
                                          testing::Values(512U, 4096U, 1U << 20),
                                          testing::Values(format::FileSizes{8, 8}, format::FileSizes{4, 4},
                                                          format::FileSizes{2, 2})));

TEST(BTree2, SearchFindsWhatIsThereAndNothingElse) {
  const Built built({.depth = 2});
  const auto tree = *built.open();
  const Listing all = list(*tree);
  ASSERT_EQ(all.keys.size(), built.builder.keys());
  for (const std::uint64_t key : all.keys) {
    const auto found = tree->find(key_is(key));
    ASSERT_TRUE(found && *found) << key;
    EXPECT_EQ(load_le<std::uint64_t>((*found)->bytes.data()), key);
    EXPECT_EQ(load_le<std::uint64_t>(built.writer.bytes.data() + (*found)->file_offset), key);
    EXPECT_FALSE(*tree->find(key_is(key + 1)));
  }
}

TEST(BTree2, AWalkFromAKeyBeginsThere) {
  const Built built({.depth = 2});
  const auto tree = *built.open();
  const Listing all = list(*tree);
  for (std::size_t i = 0; i < all.keys.size(); i += 7) {
    std::vector<std::uint64_t> from;
    ASSERT_TRUE(tree->for_each_from(key_is(all.keys[i]), [&](ByteSpan record, std::uint64_t) -> Result<bool> {
      from.push_back(load_le<std::uint64_t>(record.data()));
      return from.size() < 20;
    }));
    const std::size_t expected = std::min<std::size_t>(20, all.keys.size() - i);
    ASSERT_EQ(from.size(), expected);
    EXPECT_TRUE(std::equal(from.begin(), from.end(), all.keys.begin() + static_cast<std::ptrdiff_t>(i)));
  }
}

TEST(BTree2, ASearchReadsOneNodeALevelAndNoneTwice) {
  const Built built({.depth = 3});
  const auto file = built.writer.file();
  const auto tree = *metadata::BTree2::open(file, built.address, kRecords);
  EXPECT_EQ(file->reads(), 1U);
  const Listing all = list(*tree);
  const auto fresh = built.writer.file();
  const auto again = *metadata::BTree2::open(fresh, built.address, kRecords);
  ASSERT_TRUE(again->find(key_is(all.keys[0])));
  EXPECT_EQ(fresh->reads(), 1U + 4U);
  ASSERT_TRUE(again->find(key_is(all.keys[0])));
  EXPECT_EQ(fresh->reads(), 1U + 4U);
}

// ---- far sources

struct FarTree {
  explicit FarTree(const BTree2Plan& plan) : built(plan) {
    source = std::make_shared<FarSource>(io::make_memory_source(built.writer.bytes), 1);
    file = std::make_shared<MemoryFile>(source, built.writer.sizes);
    tree = *metadata::BTree2::open(file, built.address, kRecords);
  }
  // How many children were looked at.
  std::size_t ask_for_all() const {
    std::size_t children = 0;
    tree->will_visit([&](ByteSpan, ByteSpan) { return ++children, true; });
    return children;
  }
  Built built;
  std::shared_ptr<FarSource> source;
  std::shared_ptr<const MemoryFile> file;
  std::shared_ptr<const metadata::BTree2> tree;
};

TEST(BTree2, AllNodesOfAFarTreeAreAskedForBefore) {
  const FarTree far({.depth = 3});
  far.source->forget();
  EXPECT_EQ(far.ask_for_all(), 4U + 16 + 64);
  EXPECT_EQ(far.source->rounds(), 4U) << "a level is asked for at once";
  far.source->expect_no_more();
  EXPECT_TRUE(list(*far.tree).status);
  EXPECT_TRUE(far.source->untold().empty());
}

// In a hostile tree a few nodes can have 10^10 leaves, as all children of each are the same node.
TEST(BTree2, ChildrenThatNodesShareAreAskedForInBoundedNumbers) {
  const FarTree far({.node_size = 4096, .depth = 5, .children = 100, .shared = true});
  const std::size_t children = far.ask_for_all();
  EXPECT_GT(children, 1'024U);
  EXPECT_LE(children, 5U * 1'024);
  const Listing all = list(*far.tree, true);
  EXPECT_FALSE(all.damage.empty() && all.status) << "a walk does not go there twice";
}

TEST(BTree2, NodesThatAreHeldToFindOthersAreBoundedByTheirBytes) {
  const FarTree far({.node_size = 1U << 20, .depth = 2, .children = 40});
  const std::uint64_t before = far.file->reads();
  far.ask_for_all();
  EXPECT_EQ(far.file->reads() - before, 8U) << "16 MiB, as stored and as decoded";
  EXPECT_TRUE(list(*far.tree).status);
}

TEST(BTree2, NoRootIsNoRecords) {
  Writer writer;
  const std::uint64_t address = BTree2Builder(writer, {.depth = 2}).header(format::kUndefinedAddress, 0, 0);
  const auto tree = *metadata::BTree2::open(writer.file(), address, kRecords);
  EXPECT_TRUE(list(*tree).status);
  EXPECT_FALSE((*tree->find(key_is(1))).has_value());
}

// ---- one wrong field

struct Lie {
  std::string field;
  std::uint64_t value;
  std::size_t width;
  ErrorCode code;
  std::string error_field;
  // The builder's name of the field at which the error is expected; empty: at the false address itself.
  std::string error_at;
  std::uint64_t bytes_after = 0;  // added to the offset of that field
};

void expect_error(const Error& error, const Lie& lie, const Writer& writer) {
  EXPECT_EQ(error.code(), lie.code) << error.text();
  EXPECT_EQ(error.field(), lie.error_field) << error.text();
  EXPECT_EQ(error.offset(),
            lie.error_at.empty() ? lie.value : writer.marks.at(lie.error_at) + lie.bytes_after)
      << error.text();
}

class HeaderLies : public testing::TestWithParam<Lie> {};

TEST_P(HeaderLies, AreRefused) {
  Built built({.depth = 1});
  built.writer.lie(GetParam().field, GetParam().value, GetParam().width);
  const auto tree = built.open();
  ASSERT_FALSE(tree);
  expect_error(tree.error(), GetParam(), built.writer);
}

INSTANTIATE_TEST_SUITE_P(
    BTree2, HeaderLies,
    testing::Values(Lie{"type", 6, 1, ErrorCode::InvalidValue, "type", "type"},
                    Lie{"depth", 65'535, 2, ErrorCode::LimitExceeded, "depth", "depth"},
                    Lie{"depth", 65, 2, ErrorCode::LimitExceeded, "depth", "depth"},
                    Lie{"record_size", 0, 2, ErrorCode::InvalidValue, "record_size", "record_size"},
                    Lie{"record_size", 600, 2, ErrorCode::InvalidValue, "node_size", "node_size"},
                    Lie{"node_size", 0, 4, ErrorCode::InvalidValue, "node_size", "node_size"},
                    Lie{"node_size", 30, 4, ErrorCode::InvalidValue, "node_size", "node_size"},
                    Lie{"node_size", 0xFFFFFFFF, 4, ErrorCode::LimitExceeded, "node_size", "node_size"},
                    Lie{"root_records", 60'000, 2, ErrorCode::InvalidValue, "root_record_count",
                        "root_records"},
                    Lie{"header", 0, 1, ErrorCode::BadSignature, "signature", "header"}));

class NodeLies : public testing::TestWithParam<Lie> {};

TEST_P(NodeLies, HideOnlyTheirOwn) {
  Built built({.depth = 1});
  built.writer.lie(GetParam().field, GetParam().value, GetParam().width);
  const auto tree = built.open();
  ASSERT_TRUE(tree) << tree.error().text();
  const Listing strict = list(**tree);
  ASSERT_FALSE(strict.status);
  expect_error(strict.status.error(), GetParam(), built.writer);
  const Listing told = list(**built.open(), true);
  EXPECT_TRUE(told.status);
  EXPECT_EQ(told.damage.size(), 1U);
  EXPECT_EQ(told.keys.size(), built.builder.keys() - 10);
}

INSTANTIATE_TEST_SUITE_P(
    BTree2, NodeLies,
    testing::Values(
        Lie{"leaf1", 0, 1, ErrorCode::BadSignature, "signature", "leaf1"},
        Lie{"leaf1_version", 7, 1, ErrorCode::UnsupportedVersion, "version", "leaf1_version"},
        Lie{"leaf1_type", 6, 1, ErrorCode::InvalidValue, "type", "leaf1_type"},
        Lie{"child1_1", format::kUndefinedAddress, 8, ErrorCode::OutOfRange, "address", ""},
        Lie{"child1_1", 0, 8, ErrorCode::Cycle, "address", ""},
        Lie{"child1_1_records", 63, 1, ErrorCode::InvalidValue, "child_record_count", "child1_1_records"},
        // Eleven records of 8 bytes after signature, version and type.
        Lie{"child1_1_records", 11, 1, ErrorCode::ChecksumMismatch, "checksum", "leaf1", 6 + 88}));

TEST(BTree2, AFlippedBitIsAChecksumMismatch) {
  Built built({.depth = 0});
  built.writer.bytes[built.writer.marks.at("leaf0") + 8] ^= std::byte{1};
  EXPECT_EQ(list(**built.open()).status.error().code(), ErrorCode::ChecksumMismatch);
}

// Without `damaged`, a walk ends with the error of the first damaged node, whichever child it is.
TEST(BTree2, AWalkFromAKeyEndsAtADamagedSibling) {
  for (const int leaf : {1, 2, 3}) {
    Built built({.depth = 1});
    built.writer.lie("leaf" + std::to_string(leaf), 0, 1);
    const auto tree = *built.open();
    std::size_t seen = 0;
    const Status walked = tree->for_each_from(key_is(1), [&](ByteSpan, std::uint64_t) -> Result<bool> {
      ++seen;
      return true;
    });
    ASSERT_FALSE(walked);
    EXPECT_EQ(walked.error().code(), ErrorCode::BadSignature) << walked.error().text();
    EXPECT_EQ(seen, static_cast<std::size_t>(leaf) * 11);
  }
}

// Every level has two children, both the same node: 2^60 paths through 61 nodes.
TEST(BTree2, ALatticeEnds) {
  Writer writer;
  const BTree2Plan plan{.depth = 60};
  writer.zeros(64);
  std::uint64_t below = 0;
  const auto width_of_total = [](unsigned level) -> std::size_t {
    unsigned __int128 total = 62, records = 0;
    std::size_t width = 0;
    for (unsigned l = 1; l < level; ++l) {
      records = (512 - 10 - (9 + width)) / (8 + 9 + width);
      total = total == ~std::uint64_t{0} ? total : (records + 1) * total + records;
      if (total > ~std::uint64_t{0}) total = ~std::uint64_t{0};
      width = 0;
      for (unsigned __int128 t = total; t > 0; t >>= 8) ++width;
    }
    return level < 2 ? 0 : width;
  };
  for (unsigned level = 0; level <= 60; ++level) {
    const std::uint64_t at = writer.here();
    writer.text(level == 0 ? "BTLF" : "BTIN");
    writer.uint(0, 1);
    writer.uint(plan.type, 1);
    writer.uint(level, 8);
    for (int child = 0; level > 0 && child < 2; ++child) {
      writer.address(below);
      writer.uint(1, 1);
      writer.uint(1, width_of_total(level));
    }
    writer.checksum_from(at);
    below = at;
  }
  const std::uint64_t address = BTree2Builder(writer, plan).header(below, 1, 1);
  const auto tree = metadata::BTree2::open(writer.file(), address, kRecords);
  ASSERT_TRUE(tree) << tree.error().text();
  const Listing strict = list(**tree);
  ASSERT_FALSE(strict.status);
  EXPECT_EQ(strict.status.error().code(), ErrorCode::Cycle) << strict.status.error().text();
  const Listing told = list(**tree, true);
  EXPECT_TRUE(told.status);
  EXPECT_EQ(told.keys.size(), 61U);
  EXPECT_EQ(told.damage.size(), 60U);
}

}  // namespace
}  // namespace h5mount::test
