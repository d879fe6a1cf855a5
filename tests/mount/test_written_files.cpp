// Files that the project's own scripts write, used through the mount with plain tools: a NeXus master file
// over two detector files, and a sparse matrix of terabytes.
#include <sys/stat.h>

#include "command.h"

namespace h5mount::test {
namespace {

std::string script(const char* name) {
  return python() + (source_root() / "scripts" / name).string() + " ";
}

class NexusTest : public ::testing::Test {
 protected:
  void SetUp() override {
    H5MOUNT_NEEDS_FUSE();
    const Outcome made = run(script("make_nexus.py") + place.string());
    ASSERT_EQ(made.code, 0) << made.err;
    const Outcome mounted = mount.mount(place / "master.nxs");
    ASSERT_EQ(mounted.code, 0) << mounted.err;
  }
  std::filesystem::path place = scratch() / "nexus";
  MountPoint mount;
};

TEST_F(NexusTest, EveryByteThroughLinksAndTheVirtualDataset) {
  const Outcome sums = mount.in("sha256sum -c " + (place / "expected.sha256").string());
  EXPECT_EQ(sums.code, 0) << sums.out << sums.err;
  EXPECT_EQ(lines_in(sums.out), 8);
}

TEST_F(NexusTest, PlainToolsFollowTheLinks) {
  EXPECT_EQ(mount.in("cat entry/sample/motors/names").out, "theta\ntwo_theta\n");
  EXPECT_EQ(mount.in("readlink entry/sample/motors").out, "../../.h5/external/motors.h5/scan\n");
  EXPECT_EQ(mount.in("find -L entry -type f | wc -l").out,
            mount.in("find -L entry -type f -size +0 | wc -l").out);
  EXPECT_EQ(mount.in("stat -c %s entry/data/frames").out, std::to_string(40 * 132 * 96 * 2) + "\n");
  EXPECT_EQ(mount.in("getfattr --only-values -n user.hdf5.layout entry/data/frames").out, "virtual");
  EXPECT_EQ(mount.in("getfattr --only-values -n user.units entry/data/position").out, "mm");
  EXPECT_EQ(mount.in("getfattr --only-values -n user.NX_class entry/instrument/detector_2").out, "NXentry");
}

TEST_F(NexusTest, ASecondReaderSeesTheSame) {
  const Outcome compared =
      run("cd " + place.string() + " && " + script("compare_h5py.py") + "master.nxs " + mount.path());
  EXPECT_EQ(compared.code, 0) << compared.out << compared.err;
  EXPECT_NE(compared.out.find("; 0 differences"), std::string::npos) << compared.out;
}

TEST_F(NexusTest, WithoutItsDetectorTheFramesHaveItsPixelsMissing) {
  std::filesystem::remove(place / "detector_2.h5");
  const MountPoint other;
  ASSERT_EQ(other.mount(place / "master.nxs").code, 0);
  EXPECT_EQ(
      other.in("tail -c 12288 entry/data/frames | od -An -tu2 -v | tr -s ' ' '\\n' | sort -u | tr -d '\\n'")
          .out,
      "65535");
  EXPECT_NE(other.in("ls entry/instrument/detector_2/").code, 0);
  EXPECT_EQ(other.in("ls entry/instrument/detector_1/").out, "data\n");
}

// Large enough for what only large files meet: columns handed on ahead, bands in image order, slabs dropped
// behind.
class TilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    H5MOUNT_NEEDS_FUSE();
    const Outcome made = run("cd " + scratch().string() + " && " + python() + R"(-c '
import h5py, numpy
values = numpy.arange(3000 * 2500, dtype="<i4").reshape(3000, 2500)
with h5py.File("tiles.h5", "w", libver="latest") as file:
    file.create_dataset("deflate", data=values, chunks=(128, 100), shuffle=True, compression=1)
    file.create_dataset("plain", data=values, chunks=(128, 256))
    file.create_dataset("contiguous", data=values)
values.tofile("tiles.raw")
')");
    ASSERT_EQ(made.code, 0) << made.err;
    const Outcome mounted = mount.mount(scratch() / "tiles.h5", "-o cache_size=8M");
    ASSERT_EQ(mounted.code, 0) << mounted.err;
  }
  // The daemon stays a child of the shell, so that it can be asked what it counts.
  static Outcome mount_in_foreground(const MountPoint& place) {
    const auto log = (scratch() / "tiles.log").string();
    return run("$H5MOUNT -f " + (scratch() / "tiles.h5").string() + " " + place.path() + " 2>" + log +
               " & echo $! >" + log + ".pid; for i in $(seq 100); do mountpoint -q " + place.path() +
               " && break; sleep 0.05; done");
  }
  static void ask_for_counters() { run("kill -USR1 $(cat " + (scratch() / "tiles.log.pid").string() + ")"); }
  // What the daemon says of itself.
  long counted(const std::string& name) const {
    const auto log = scratch() / "tiles.log";
    for (int i = 0; i < 100; ++i) {
      const std::string text = slurp(log);
      const auto line = text.rfind("status:");
      const auto at = line == std::string::npos ? line : text.find(" " + name + "=", line);
      if (at != std::string::npos) return std::stol(text.substr(at + name.size() + 2));
      ::usleep(20'000);
    }
    return -1;
  }
  MountPoint mount;
};

TEST_F(TilesTest, InOrderTheBytesAreThose) {
  for (const char* name : {"deflate", "plain", "contiguous"})
    EXPECT_EQ(mount.in(std::string("cmp ") + name + " " + (scratch() / "tiles.raw").string()).out, "")
        << name;
}

TEST_F(TilesTest, AColumnIsHandedOnBeforeItIsAskedFor) {
  const MountPoint other;
  ASSERT_EQ(mount_in_foreground(other).code, 0);
  const Outcome read = other.in(python() + R"(-c '
import os, struct
for name in "deflate", "plain", "contiguous":
    fd = os.open(name, os.O_RDONLY)
    for column in 7, 1234:
        seen = [struct.unpack("<i", os.pread(fd, 4, 4 * (row * 2500 + column)))[0] for row in range(3000)]
        assert seen == [row * 2500 + column for row in range(3000)], (name, column)
')");
  EXPECT_EQ(read.code, 0) << read.err;
  ask_for_counters();
  EXPECT_GT(counted("pages_handed_on"), 3000);
}

TEST_F(TilesTest, PagesReadAtRandomAreThose) {
  const MountPoint other;
  ASSERT_EQ(mount_in_foreground(other).code, 0);
  const Outcome read = other.in(python() + R"(-c '
import os, random
fd = os.open("contiguous", os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
true = open(")" + (scratch() / "tiles.raw").string() +
                                R"(", "rb").read()
pages = list(range(len(true) // 4096))
random.Random(1).shuffle(pages)
for page in pages:
    assert os.pread(fd, 4096, page * 4096) == true[page * 4096:page * 4096 + 4096], page
')");
  EXPECT_EQ(read.code, 0) << read.err;
}

class SparseMatrixTest : public ::testing::Test {
 protected:
  void SetUp() override {
    H5MOUNT_NEEDS_FUSE();
    const auto file = scratch() / "matrix.h5";
    const Outcome made =
        run(script("make_sparse_matrix.py") + "--values 2000 --chunk 100000 " + file.string());
    ASSERT_EQ(made.code, 0) << made.err;
    const Outcome mounted = mount.mount(file);
    ASSERT_EQ(mounted.code, 0) << mounted.err;
  }
  MountPoint mount;
};

TEST_F(SparseMatrixTest, ListsOfEightTerabytes) {
  EXPECT_EQ(mount.in("stat -c %s matrix").out, "8000000000000\n");
  EXPECT_EQ(mount.in("cat .h5/sparse/matrix/count").out, "2000\n");
  EXPECT_EQ(mount.in("stat -c %s .h5/sparse/matrix/coordinates").out, "32000\n");
  const Outcome sum =
      mount.in("od -An -v -t f8 -w8 .h5/sparse/matrix/values | awk '{s += $1} END {printf \"%d\", s}'");
  EXPECT_EQ(sum.out, "1000000");
  EXPECT_EQ(mount.in("getfattr --only-values -n user.sum matrix").out, "1000000.0");
}

// Only tools that skip holes can: the file would take hours to read.
TEST_F(SparseMatrixTest, HolesAreSkipped) {
  const Outcome walked =
      mount.in(python() + (source_root() / "tests/mount/fixtures/data_between_holes.py").string());
  EXPECT_EQ(walked.out, "2000 True\n") << walked.err;
}

}  // namespace
}  // namespace h5mount::test
