// A forest whose files cannot be opened, and files that it does not show for their names.
#include "h5mount/tree/forest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "h5mount/base/log.h"
#include "h5mount/object/file_set.h"
#include "h5mount/tree/names.h"

namespace h5mount::tree {
namespace {

namespace fs = std::filesystem;

struct NoEntry {
  std::string text;
  int number = 0;
  explicit NoEntry(const Error& error) : text(error.text()), number(error.errno_value()) {}
};

// Files that a server lists, of which none can be opened.
class UnopenedForest : public ::testing::Test {
 protected:
  std::shared_ptr<Forest> forest() {
    ListedFiles files;
    files.name = "s3://bucket/";
    files.list = [](const std::string&, const std::string&, const std::string&, unsigned) {
      ListedPage out;
      for (const char* name : {"a.h5", "b.h5"}) out.names.push_back({name, false, 10, 1000, 1});
      return Result<ListedPage>(out);
    };
    files.open = [this](const std::string&) -> Result<std::shared_ptr<object::FileSet>> {
      ++opened;
      return fail(trouble);
    };
    return Forest::make(make_listed_directory(std::move(files)), {});
  }
  Error trouble{ErrorCode::BadSignature, "it is no HDF5 file"};
  int opened = 0;
};

TEST_F(UnopenedForest, IsListedWithoutOpeningAndFailsWithItsReasonBelow) {
  const std::pair<Error, int> cases[] = {
      {Error(ErrorCode::BadSignature, "it is no HDF5 file"), EIO},
      {Error(ErrorCode::Truncated, "it was cut"), EIO},
      {io_error(EBUSY, "a writer has it"), EBUSY},
      {Error(ErrorCode::AccessDenied, "it may not be read"), EACCES},
      {Error(ErrorCode::NotFound, "the server says 404"), ESTALE},
      {Error(ErrorCode::Io, "the server says nothing"), EIO},
      {Error(ErrorCode::UnsupportedVersion, "of another version"), EOPNOTSUPP},
  };
  for (const auto& [why, number] : cases) {
    trouble = why;
    opened = 0;
    const auto tree = forest();
    const auto names = tree->open_directory(kRootNode);
    ASSERT_TRUE(names);
    EXPECT_EQ((*names)->size(), 2U);
    const auto file = tree->lookup(kRootNode, "a.h5");
    ASSERT_TRUE(file);
    EXPECT_EQ(file->stat.type, NodeType::Directory);
    EXPECT_TRUE(tree->stat(file->node, StatDepth::Full));
    EXPECT_EQ(opened, 0) << "something was opened to list";
    RequestBudget budget;
    for (const NoEntry& seen :
         {NoEntry(tree->open_directory(file->node).error()), NoEntry(tree->lookup(file->node, "d").error()),
          NoEntry(tree->lookup(file->node, kHiddenName).error()),
          NoEntry(tree->root_object(file->node, budget).error()),
          NoEntry(tree->file_of(file->node, budget).error())}) {
      EXPECT_EQ(seen.number, number) << why.text();
      EXPECT_NE(seen.text.find(why.text()), std::string::npos) << seen.text;
    }
    EXPECT_EQ(*tree->list_xattrs(file->node), std::vector<std::string>{"user.hdf5.error"});
    EXPECT_NE(tree->get_xattr(file->node, "user.hdf5.error")->find(why.text()), std::string::npos);
  }
}

// Names of a server are asked for when they are listed, so what is left out is told then.
TEST(FarForest, AnEmptyTopIsNeverSilent) {
  ListedFiles files;
  files.name = "s3://others/";
  files.list = [](const std::string& directory, const std::string&, const std::string&, unsigned) {
    ListedPage out;
    for (const char* name : {"a.one", "b.two", "c.three"})
      out.names.push_back({directory + name, false, 10, 1000, 1});
    return Result<ListedPage>(out);
  };
  const auto tree = Forest::make(make_listed_directory(std::move(files)), {});
  const KeptLog before = kept_log();
  for (int again = 0; again < 2; ++again) {
    const auto listed = tree->open_directory(kRootNode);
    ASSERT_TRUE(listed);
    EXPECT_EQ((*listed)->size(), 0U);
  }
  const std::string told = read_kept_log(before.end, 10'000).value_or("");
  EXPECT_NE(told.find("warning: s3://others/: nothing is shown: 3 files are left out"), std::string::npos)
      << told;
  EXPECT_EQ(std::ranges::count(told, '\n'), 1) << told;
}

class LocalForest : public ::testing::Test {
 protected:
  LocalForest() {
    std::string name = (fs::temp_directory_path() / "h5mount-forest-XXXXXX").string();
    place = ::mkdtemp(name.data());
  }
  ~LocalForest() override { fs::remove_all(place); }
  void make(const std::string& name) const { std::ofstream(place / name) << "x"; }
  ForestDirectoryPtr directory(ShownFiles shown = {}) const {
    return make_local_directory(*object::SourceDirectory::open(place.string(), {}), std::move(shown),
                                nullptr);
  }
  // What is told of the directory; empty: nothing, as of one that was told of before.
  std::string told(const ForestDirectory& top) const {
    const KeptLog before = kept_log();
    tell_of_left_out(top);
    return read_kept_log(before.end, 10'000).value_or("");
  }
  fs::path place;
};

TEST_F(LocalForest, ShowsTheExtensionsOfTheFieldsInAnyCase) {
  for (const char* extension :
       {"h5",   "hdf5",  "hdf",   "hd5",     "he5",      "nc",    "nc4",    "nxs",  "nxspe",
        "nwb",  "mat",   "jld",   "jld2",    "keras",    "h5ad",  "h5mu",   "loom", "biom",
        "cool", "mcool", "fast5", "mz5",     "mzmlb",    "slp",   "snirf",  "sofa", "cgns",
        "med",  "h5m",   "exo",   "vtkhdf",  "athdf",    "phdf",  "h5part", "ims",  "emd",
        "hspy", "mnc",   "cxi",   "dream3d", "h5oina",   "kea",   "bag",    "ndf",  "geoh5",
        "uvh5", "SOFA",  "Fast5", "NWB",     "h5Seurat", "mzMLb", "RHDF",   "oh5",  "edaxh5"})
    EXPECT_EQ(ShownFiles{}.kind_of(std::string("a.") + extension), ForestEntry::Kind::Hdf5) << extension;
  for (const char* name : {"a.he4", "a.txt", "h5", "a.h5.bak", "a.", "a"})
    EXPECT_FALSE(ShownFiles{}.kind_of(name)) << name;
}

TEST_F(LocalForest, WhatIsLeftOutForItsNameIsCounted) {
  for (const char* name : {"a.h5", "b.txt", "c.dat", "README"}) make(name);
  fs::create_directory(place / "sub.txt");
  fs::create_symlink("b.txt", place / "link");
  const auto listed = directory()->list();
  ASSERT_TRUE(listed);
  EXPECT_EQ(listed->items.size(), 2U);
  EXPECT_EQ(listed->files, 1U);
  EXPECT_EQ(listed->left_out.files, 4U);
  EXPECT_EQ(directory({.passthrough = true})->list()->left_out.files, 0U);
  EXPECT_EQ(directory({.pattern = "*"})->list()->left_out.files, 0U);
  EXPECT_EQ(directory({.pattern = "*.dat"})->list()->left_out.files, 4U);
}

TEST_F(LocalForest, OneLineTellsOfThemAndAWarningWhereNothingIsShown) {
  fs::create_directories(place / "sub/deep");
  make("sub/deep/b.unknown");
  const std::string nothing = told(*directory());
  EXPECT_NE(nothing.find("warning: " + place.string() + ": nothing is shown: 1 file is left out"),
            std::string::npos)
      << nothing;
  EXPECT_NE(nothing.find("match=*"), std::string::npos) << nothing;
  EXPECT_EQ(told(*directory()), "") << "it was told before";
  make("sub/deep/a.h5");
  make("c.unknown");
  make("d.unknown");
  const auto sub = directory()->enter("sub");
  ASSERT_TRUE(sub);
  EXPECT_EQ(told(**sub), "") << "nothing is left out of the directory itself";
  fs::create_directory(place / "other");
  fs::rename(place / "sub", place / "other/sub");
  fs::rename(place / "c.unknown", place / "other/c.unknown");
  const auto other = directory()->enter("other");
  ASSERT_TRUE(other);
  const std::string one = told(**other);
  EXPECT_NE(one.find("other: 1 file is left out for its name (c.unknown): match=* shows it"),
            std::string::npos)
      << one;
  EXPECT_EQ(one.find("warning"), std::string::npos) << one;
}

}  // namespace
}  // namespace h5mount::tree
