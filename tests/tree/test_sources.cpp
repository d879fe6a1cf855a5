// Whose bytes a node shows, what they are, and how long they last; trees beside each other.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "../../src/tree/source_tree.h"
#include "h5mount/base/checksum.h"
#include "h5mount/tree/hidden_entries.h"
#include "h5mount/view/view.h"
#include "support/h5py_file.h"
#include "test_paths.h"

namespace h5mount::test {
namespace {

namespace fs = std::filesystem;
using tree::kRootNode, tree::NodeId;

class Sources : public testing::Test {
 protected:
  ~Sources() override { fs::remove_all(directory_); }

  // Makes a file beside the others.
  void write(const std::string& name, std::span<const std::byte> bytes) const {
    ASSERT_FALSE(bytes.empty()) << "h5py wrote no " << name;
    std::ofstream(directory_ / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }

  std::shared_ptr<tree::SourceTree> open(const std::string& name, const tree::SourcePlace& place = {}) const {
    metadata::MetadataOptions options;
    options.follow = metadata::Follow::Auto;
    auto files = object::FileSet::open(directory_ / name, object::ExternalPolicy::Beneath, options);
    EXPECT_TRUE(files) << files.error().text();
    if (!files) return nullptr;
    auto made = tree::SourceTree::make(
        {std::make_shared<cache::BlockCache>(16U << 20), std::make_shared<cache::WorkerPool>(2), *files}, {},
        place);
    EXPECT_TRUE(made) << made.error().text();
    return made ? *made : nullptr;
  }

  static Result<tree::Entry> find(tree::Tree& tree, std::string_view path, NodeId from = kRootNode) {
    tree::Entry at{from, {}};
    while (!path.empty()) {
      const std::string_view name = path.substr(0, path.find('/'));
      path.remove_prefix(std::min(name.size() + 1, path.size()));
      H5_ASSIGN(at, tree.lookup(at.node, name));
    }
    return at;
  }

  // "FILE:OBJECT" of each source: `!` in front of files that are not the mounted one, `?` behind datasets
  // whose elements may lie elsewhere.
  std::set<std::string> sources(tree::Tree& tree, std::string_view path) const {
    const auto entry = find(tree, path);
    EXPECT_TRUE(entry) << path << ": " << entry.error().text();
    if (!entry) return {};
    RequestBudget budget;
    const auto found = tree.sources_of(entry->node, budget);
    EXPECT_TRUE(found) << path << ": " << found.error().text();
    std::set<std::string> out;
    if (found)
      for (const tree::NodeSource& source : *found)
        out.insert((source.own ? "" : "!") + fs::path(source.file).filename().string() + ":" + source.object +
                   (source.all_in_file ? "" : "?"));
    EXPECT_EQ(tree::shows_own_file_alone(tree, entry->node, budget),
              tree.lasts(entry->node) && std::ranges::none_of(out, [](const std::string& source) {
                return source.starts_with('!') || source.ends_with('?');
              }));
    return out;
  }

  const fs::path directory_ = [] {
    std::string place = (fs::temp_directory_path() / "h5mount-sources-XXXXXX").string();
    return fs::path(::mkdtemp(place.data()) == nullptr ? "" : place);
  }();
};

const std::vector<std::byte>& main_file() {
  static const std::vector<std::byte> file = written_by_program("tree/fixtures/sources.py");
  return file;
}
constexpr const char* kPart = "f['d'] = np.arange(10)";

TEST_F(Sources, AreThoseOfTheElementsThatANodeShowsWhateverItsPath) {
  write("main.h5", main_file());
  write("part.h5", written_with_h5py(kPart));
  const auto tree = open("main.h5");
  ASSERT_TRUE(tree);
  using Set = std::set<std::string>;
  EXPECT_EQ(sources(*tree, ""), Set{"main.h5:"});
  EXPECT_EQ(sources(*tree, "d"), Set{"main.h5:/d"});
  EXPECT_EQ(sources(*tree, "v"), Set{"main.h5:/v?"});
  EXPECT_EQ(sources(*tree, "raw"), Set{"main.h5:/raw?"});
  EXPECT_EQ(sources(*tree, ".h5/npy/d.npy"), Set{"main.h5:/d"});
  EXPECT_EQ(sources(*tree, ".h5/npy/v.npy"), Set{"main.h5:/v?"});
  EXPECT_EQ(sources(*tree, ".h5/slice/d/0:2,1.csv"), Set{"main.h5:/d"});
  EXPECT_EQ(sources(*tree, ".h5/plain.zarr/d/1.0"), Set{"main.h5:/d"});
  EXPECT_EQ(sources(*tree, ".h5/v3.zarr/v/c.0"), Set{"main.h5:/v?"});
  EXPECT_EQ(sources(*tree, ".h5/plain.zarr/d/.zarray"), Set{"main.h5:"});
  EXPECT_EQ(sources(*tree, ".h5/plain.zarr/v/.zarray"), Set{"main.h5:?"});
  EXPECT_EQ(sources(*tree, ".h5/csv/g.csv"), (Set{"main.h5:/g/a", "main.h5:/g/b"}));
  EXPECT_EQ(sources(*tree, ".h5/csv/t.csv"), (Set{"main.h5:/t/own", "main.h5:/t/v?"}));
  EXPECT_EQ(sources(*tree, ".h5/csv/c.csv").size(), 1U);
  EXPECT_EQ(sources(*tree, ".h5/attributes/d@units"), Set{"main.h5:"});
  EXPECT_EQ(sources(*tree, ".h5/metadata.jsonl"), Set{"main.h5:"});
  EXPECT_EQ(sources(*tree, ".h5/external/part.h5/d"), Set{"!part.h5:/d"});
  EXPECT_EQ(sources(*tree, ".h5/npy/.h5/external/part.h5/d.npy"), Set{"!part.h5:/d"});
  EXPECT_EQ(sources(*tree, ".h5/README"), Set{});
  EXPECT_EQ(sources(*tree, ".h5/log"), Set{});
}

TEST_F(Sources, TheLogAndTheListOfUsedFilesLastForAMomentOnly) {
  write("main.h5", main_file());
  const auto tree = open("main.h5");
  ASSERT_TRUE(tree);
  for (const auto& [path, lasts] : {std::pair{"", true}, std::pair{".h5/README", true},
                                    std::pair{".h5/log", false}, std::pair{".h5/external", false}}) {
    const auto entry = find(*tree, path);
    ASSERT_TRUE(entry) << path;
    EXPECT_EQ(tree->lasts(entry->node), lasts) << path;
  }
}

// ---- what is under /.h5 is said in one place

TEST_F(Sources, EveryEntryOfTheTableIsThereAndInReadmeAndInTheManual) {
  write("main.h5", main_file());
  const auto tree = open("main.h5");
  ASSERT_TRUE(tree);
  const std::string readme = tree::hidden_entries_text();
  std::ifstream file(H5MOUNT_SOURCE_ROOT "/docs/man/h5mount-views.7.md");
  const std::string manual{std::istreambuf_iterator<char>(file), {}};
  ASSERT_FALSE(manual.empty());
  for (const tree::HiddenEntry& entry : tree::hidden_entries()) {
    // This tree has no function that returns its status, and is not that of a joined file.
    EXPECT_EQ(find(*tree, ".h5/" + std::string(entry.name)).has_value(),
              entry.name != "status" && !entry.name.starts_with("files."))
        << entry.name;
    EXPECT_NE(readme.find("\n" + entry.form + " "), std::string::npos) << entry.form;
    const bool is_file = entry.shows == tree::HiddenEntry::Shows::File;
    EXPECT_NE(manual.find("`" + (is_file ? entry.form + "`" : std::string(entry.name))), std::string::npos)
        << entry.form;
    EXPECT_FALSE(entry.summary.empty()) << entry.name;
  }
  const auto entry = find(*tree, ".h5/README");
  ASSERT_TRUE(entry);
  const auto open = tree->open(entry->node);
  ASSERT_TRUE(open);
  dataset::Pieces pieces;
  ASSERT_TRUE((*open)->read(0, 1U << 20, pieces));
  std::string shown(static_cast<std::size_t>(pieces.total()), '\0');
  ASSERT_TRUE(dataset::copy_pieces(pieces.list(), std::as_writable_bytes(std::span(shown))));
  EXPECT_EQ(shown, readme);
}

TEST_F(Sources, AViewsFilesAndItsSlicesAreOfItsMediaType) {
  write("main.h5", main_file());
  const auto tree = open("main.h5");
  ASSERT_TRUE(tree);
  for (const view::View& view : view::views()) {
    const auto type = [&](const std::string& path) {
      const auto entry = find(*tree, path);
      EXPECT_TRUE(entry) << path << ": " << entry.error().text();
      return entry ? tree->media_type(entry->node) : "";
    };
    EXPECT_EQ(type(".h5/" + std::string(view.directory) + "/d" + std::string(view.suffix)), view.media_type);
    if (!view.suffix.empty()) {
      EXPECT_EQ(type(".h5/slice/d/0:2,:" + std::string(view.suffix)), view.media_type);
    }
  }
  // Whatever a dataset is called, its own bytes are bytes.
  const auto entry = find(*tree, "d");
  ASSERT_TRUE(entry);
  EXPECT_EQ(tree->media_type(entry->node), tree::kPlainBytes);
}

// ---- several files

// The flags of a SWMR writer, and a time in the future, so that it counts as being written.
void make_growing(std::vector<std::byte>& bytes) {
  bytes.at(11) = std::byte{5};
  const std::uint32_t checksum = lookup3_checksum(ByteSpan(bytes).first(44));
  std::memcpy(bytes.data() + 44, &checksum, sizeof checksum);
}

TEST_F(Sources, AFileThatGrowsEndsTheCachingOfItsOwnNodesAlone) {
  write("main.h5", main_file());
  auto growing = written_with_h5py(kPart);
  ASSERT_FALSE(growing.empty());
  make_growing(growing);
  write("part.h5", growing);
  const auto tree = open("main.h5");
  ASSERT_TRUE(tree);
  const auto other = find(*tree, ".h5/external/part.h5/d");
  ASSERT_TRUE(other) << other.error().text();
  EXPECT_TRUE(other->stat.follows);
  EXPECT_TRUE(tree->follows(other->node));
  for (const char* const path : {"", "d", "part", ".h5", ".h5/npy/d.npy", ".h5/slice/d/0", ".h5/csv/g.csv"}) {
    const auto entry = find(*tree, path);
    ASSERT_TRUE(entry) << path;
    EXPECT_FALSE(entry->stat.follows) << path;
    EXPECT_FALSE(tree->follows(entry->node)) << path;
  }
  // A dataset whose elements lie in it grows with it.
  for (const char* const path : {"v", ".h5/npy/v.npy", ".h5/csv/t.csv"}) {
    const auto entry = find(*tree, path);
    ASSERT_TRUE(entry) << path;
    (void)tree->open(entry->node);
    EXPECT_TRUE(tree->follows(entry->node)) << path;
  }
}

TEST_F(Sources, TreesBesideEachOtherShareNoNumbers) {
  write("main.h5", main_file());
  write("part.h5", written_with_h5py(kPart));
  std::set<std::uint64_t> ids, inodes;
  std::size_t looked_up = 0;
  for (const std::uint64_t slot : {1, 2}) {
    const tree::SourcePlace place{.root = slot << 44, .below = slot << 44, .ino_seed = slot};
    const auto tree = open("main.h5", place);
    ASSERT_TRUE(tree);
    const auto root = tree->stat(place.root, tree::StatDepth::Listing);
    ASSERT_TRUE(root);
    ids.insert(place.root);
    inodes.insert(root->ino);
    std::vector<NodeId> known;
    for (const char* const path : {"d", "g", ".h5", "part"}) {
      const auto entry = find(*tree, path, place.root);
      ASSERT_TRUE(entry) << path;
      EXPECT_EQ(entry->node >> 44, slot);
      ids.insert(entry->node);
      inodes.insert(entry->stat.ino);
      known.push_back(entry->node);
    }
    const auto hidden = tree->lookup(known[2], "external");
    ASSERT_TRUE(hidden);
    const auto part = tree->lookup(hidden->node, "part.h5");
    ASSERT_TRUE(part) << part.error().text();
    known.insert(known.end(), {hidden->node, part->node});
    for (const auto& entry : {*hidden, *part}) {
      ids.insert(entry.node);
      inodes.insert(entry.stat.ino);
    }
    looked_up += known.size() + 1;
    EXPECT_EQ(tree->known_nodes(), known.size());
    for (const NodeId node : known) tree->forget(node, 1);
    EXPECT_EQ(tree->known_nodes(), 0U);
  }
  EXPECT_EQ(ids.size(), looked_up);
  EXPECT_EQ(inodes.size(), looked_up);
}

}  // namespace
}  // namespace h5mount::test
