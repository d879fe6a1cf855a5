// A client that lists one directory of a far file after the other waits a few times, not once a directory.
#include <gtest/gtest.h>

#include "followed.h"
#include "support/far_source.h"
#include "support/h5py_file.h"

namespace h5mount::test {
namespace {

class FarListings : public testing::Test {
 protected:
  void open(const std::string& script, const std::string& libver = "latest") {
    source_ =
        std::make_shared<FarSource>(io::make_memory_source(written_with_h5py(script, libver)), 16U << 10);
    tree_ = tree_over(source_, metadata::Follow::Never);
    source_->forget();
  }

  // As `ls -l` does: a directory's names, then what each is. Returns the directories in it.
  std::vector<tree::NodeId> list(tree::NodeId directory) {
    std::vector<tree::NodeId> below;
    const auto listing = tree_->open_directory(directory);
    EXPECT_TRUE(listing);
    if (!listing) return below;
    std::string made;
    for (std::size_t i = 0; i < (*listing)->size(); ++i) {
      (void)(*listing)->at(i, made);
      const auto found = tree_->lookup_listed(directory, **listing, i);
      EXPECT_TRUE(found);
      if (!found) continue;
      EXPECT_TRUE(tree_->stat(found->node, tree::StatDepth::Full));
      if (found->stat.type == tree::NodeType::Directory) below.push_back(found->node);
    }
    return below;
  }
  void list_all(tree::NodeId directory) {
    for (const tree::NodeId below : list(directory)) list_all(below);
  }

  // How often a client had to wait.
  std::uint64_t rounds() const { return source_->rounds() + source_->untold().size(); }

  std::shared_ptr<FarSource> source_;
  std::shared_ptr<tree::Tree> tree_;
};

TEST_F(FarListings, GroupsOneAfterTheOtherAreAskedForTogether) {
  open(
      "for g in range(100):\n"
      "  for i in range(5): f['g%02d/d%d' % (g, i)] = np.zeros(20_000, 'u1')");
  list_all(tree::kRootNode);
  EXPECT_LE(rounds(), 25U);
}

TEST_F(FarListings, WhoListsOneGroupGetsOne) {
  open(
      "for g in range(100):\n"
      "  for i in range(5): f['g%02d/d%d' % (g, i)] = np.zeros(20_000, 'u1')");
  const auto groups = list(tree::kRootNode);
  ASSERT_EQ(groups.size(), 100U);
  source_->forget();
  list(groups[50]);
  std::uint64_t bytes = 0;
  for (const ByteRange& range : source_->told()) bytes += range.end - range.begin;
  EXPECT_LE(bytes, 16U * (16U << 10));
}

TEST_F(FarListings, SizesOfTextAreAskedForTogether) {
  open(
      "for i in range(100):\n"
      "  f['d%02d' % i] = np.zeros(20_000, 'u1')\n"
      "  f['t%02d' % i] = np.array(['x' * (i + 1) * 50, 'y'], h5py.string_dtype())");
  list_all(tree::kRootNode);
  EXPECT_LE(rounds(), 12U);
}

TEST_F(FarListings, SizesOfTextOfOneGroupAfterTheOtherAreAskedForTogether) {
  open(
      "for g in range(100):\n"
      "  f['g%02d/d' % g] = np.zeros(20_000, 'u1')\n"
      "  f['g%02d/t' % g] = np.array(['x' * 5000, 'y'], h5py.string_dtype())");
  list_all(tree::kRootNode);
  EXPECT_LE(rounds(), 20U);
}

// Each kind of chunk index, with filters and without: its levels, the chunks and the heaps are a round each,
// for all datasets together.
TEST_F(FarListings, SizesOfChunkedTextAreAskedForTogether) {
  struct Case {
    const char* libver;
    const char* how;  // the first dataset is read by itself, in as many rounds
    std::uint64_t rounds;
  };
  const Case cases[] = {
      {"earliest", "chunks=(5,), compression='gzip'", 16},
      {"earliest", "chunks=(5,), maxshape=(None,)", 16},
      {"latest", "chunks=(20,), compression='gzip'", 14},
      {"latest", "chunks=(20,)", 14},
      {"latest", "chunks=(5,), compression='gzip', shuffle=True", 16},
      {"latest", "chunks=(5,), maxshape=(10_000,)", 18},
      {"latest", "chunks=(5,), compression='gzip', maxshape=(None,)", 18},
      {"latest", "chunks=(1,), maxshape=(None,)", 20},
      {"latest", "shape=(20, 1), chunks=(5, 1), compression='gzip', maxshape=(None, None)", 16},
  };
  for (const Case& one : cases) {
    open(std::string("words = h5py.string_dtype()\n"
                     "for i in range(150):\n"
                     "  text = np.array(['x' * (i + 1) * 5, 'y'] * 10, words)\n"
                     "  how = dict(") +
             one.how +
             ")\n"
             "  text = text.reshape(how.get('shape', 20))\n"
             "  f['d%03d' % i] = np.zeros(20_000, 'u1')\n"
             "  f.create_dataset('t%03d' % i, data=text, **how)",
         one.libver);
    list_all(tree::kRootNode);
    EXPECT_LE(rounds(), one.rounds) << one.libver << ", " << one.how << ": " << source_->rounds() << " and "
                                    << source_->untold().size();
  }
}

// The paths that references are shown as are those of a walk over the file. Each of its three levels of
// groups is a header, the roots of its index and heap, and what these name.
TEST_F(FarListings, TheWalkForReferencesWaitsOnceALevel) {
  for (const char* libver : {"earliest", "latest"}) {
    open(
        "for g in range(20):\n"
        "  for i in range(20): f['g%02d/h%d/d%d' % (g, i % 4, i)] = np.zeros(20_000, 'u1')\n"
        "f['refs'] = np.array([f['g%02d/h%d/d%d' % (g, i % 4, i)].ref for g in range(20) for i in "
        "range(20)], "
        "h5py.ref_dtype)",
        libver);
    const auto refs = tree_->open(look_up(*tree_, "refs"));
    ASSERT_TRUE(refs);
    dataset::Pieces pieces;
    EXPECT_TRUE((*refs)->read(0, 1U << 20, pieces));
    EXPECT_GT(pieces.total(), 4000U);
    EXPECT_LE(rounds(), 12U) << libver << ": " << source_->rounds() << " and " << source_->untold().size();
  }
}

// Each string is in a collection of its own, away from the others.
TEST_F(FarListings, ValuesOfATextAreAskedForTogether) {
  open(
      "words = f.create_dataset('words', 300, h5py.string_dtype())\n"
      "for i in range(300):\n"
      "  words[i] = 'x' * 5000\n"
      "  f['d%03d' % i] = np.zeros(20_000, 'u1')");
  const auto words = tree_->open(look_up(*tree_, "words"));
  ASSERT_TRUE(words);
  dataset::Pieces pieces;
  EXPECT_TRUE((*words)->read(0, 4U << 20, pieces));
  EXPECT_EQ(pieces.total(), 300U * 5001);
  EXPECT_LE(rounds(), 14U) << source_->rounds() << " and " << source_->untold().size();
}

}  // namespace
}  // namespace h5mount::test
