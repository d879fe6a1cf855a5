// The sizes that stat gives are those of the bytes, of every file and before anybody has opened it.
#include "views.h"

namespace h5mount::test {
namespace {

class SizesTest : public ViewsTest {
 protected:
  static Outcome check_sizes(const MountPoint& of, const std::string& names = {}) {
    const std::string script = source_root() / "tests/mount/check_sizes.py";
    return run("/usr/bin/python3 " + script + " " + of.path() + " " + names, 120);
  }
};

TEST_F(SizesTest, OfTheExampleAreWhatAReadGives) {
  ASSERT_EQ(mount.mount(example()).code, 0);
  const Outcome seen = check_sizes(mount);
  EXPECT_EQ(seen.code, 0) << seen.out << seen.err;
  EXPECT_TRUE(std::stoi("0" + seen.out) > 150) << seen.out;  // all views of all datasets
}

TEST_F(SizesTest, OfFilesOfEveryKindAreWhatAReadGives) {
  H5MOUNT_NEEDS_CORPUS();
  int mounted = 0;
  for (const auto& entry : std::filesystem::directory_iterator(own_corpus() / "generated")) {
    if (entry.path().extension() != ".h5") continue;
    MountPoint one;
    if (one.mount(entry.path()).code != 0) continue;
    ++mounted;
    const Outcome seen = check_sizes(one, "8");
    EXPECT_EQ(seen.code, 0) << entry.path() << '\n' << seen.out << seen.err;
  }
  EXPECT_GT(mounted, 5);
}

// What has to be made before its size is known: text, lists of the whole tree, the mount's own files.
TEST_F(SizesTest, TarAndGitTakeEveryFileWhole) {
  write(R"(
with h5py.File('f.h5', 'w') as f:
    f['strings'] = ['one', 'two "2"', ''] * 5000
    f['numbers'] = np.arange(3000).reshape(1000, 3)
    f.attrs['title'] = 'x' * 100
)");
  ASSERT_TRUE(mounts("f.h5")) << said;
  ASSERT_EQ(run("tar -C " + mount.path(".h5") + " -cf " + (place / "all.tar").string() +
                " list.txt metadata.jsonl status log README csv tsv ndjson parquet npy text attributes "
                "plain.zarr v3.zarr")
                .err,
            "");
  H5MOUNT_CHECK_BY("sizes_view/tar_and_git_take_every_file_whole_check.py");
}

TEST_F(SizesTest, GitShowsTheListsOfTheTree) {
  ASSERT_EQ(mount.mount(example()).code, 0);
  for (const char* name : {"list.txt", "metadata.jsonl", "csv/station/log.csv", "text/station/log"}) {
    const Outcome seen =
        run("git -c core.fileMode=false diff --no-index /dev/null " + mount.path(".h5/") + name);
    EXPECT_EQ(seen.code, 1) << seen.err;
    std::string added;
    std::istringstream lines(seen.out);
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with('+') && !line.starts_with("+++")) added += line.substr(1) + '\n';
    EXPECT_EQ(added, slurp(mount.path(".h5/") + name)) << name;
    EXPECT_NE(added, "") << name;
  }
}

TEST_F(SizesTest, WhatCannotBeReadIsNotTakenForEmpty) {
  write_by("sizes_view/what_cannot_be_read_is_not_taken_for_empty_file.py");
  ASSERT_TRUE(mounts("f.h5")) << said;
  const Outcome archive = mount.in("tar -c . | tar -t");
  EXPECT_EQ(archive.out, "./\n./good\n./huge\n") << archive.err;  // no size can say how long `huge` is
  EXPECT_NE(archive.err.find("./bad: Cannot open: Input/output error"), std::string::npos) << archive.err;
  const Outcome seen = check_sizes(mount);
  EXPECT_EQ(seen.code, 0) << seen.out << seen.err;
}

}  // namespace
}  // namespace h5mount::test
