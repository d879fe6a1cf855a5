// A mount over a file that a real SWMR writer appends to, with the tools people use on it.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/xattr.h>

#include <map>

#include "live.h"

namespace h5mount::test {
namespace {

class Followed : public ::testing::TestWithParam<Kind> {};

TEST_P(Followed, TailCollectsEveryByte) {
  H5MOUNT_NEEDS_FUSE();
  const Kind kind = GetParam();
  const auto file = scratch() / "tail.h5";
  Writer writer(file, words_of(kind) + " frames=600 flush=2 rate=300");
  writer.start();
  const MountPoint mount;
  mount_live(mount, file);
  const auto collected = scratch() / "collected";
  const std::uint64_t bytes = 600 * kFrameBytes;
  std::ofstream(collected).flush();  // that of the run before is full already
  run("cd " + mount.path() + "; timeout 30 tail -s 0.1 -c +1 -f frames >" + collected.string() +
      " & t=$!; i=0; while [ $(stat -c %s " + collected.string() + ") -lt " + std::to_string(bytes) +
      " ] && [ $i -lt 250 ]; do cat frames >/dev/null; sleep 0.1; i=$((i+1)); done; kill $t");
  EXPECT_EQ(writer.wait(), 0);
  const std::string right = frames_image(600, kElements);
  EXPECT_TRUE(slurp(collected) == right) << slurp(collected).size() << " of " << right.size();
  EXPECT_TRUE(slurp(mount.path("frames")) == right);
  EXPECT_EQ(mount.in("getfattr -n user.state --only-values .").out, "600");
  EXPECT_EQ(mount.in("getfattr -n user.hdf5.shape --only-values frames").out, "[600,8,16]");
}

INSTANTIATE_TEST_SUITE_P(Indexes, Followed,
                         ::testing::Values(Kind{"ea", "none", 4}, Kind{"ea", "deflate", 50},
                                           Kind{"bt2", "none", 7}, Kind{"bt2", "deflate", 3},
                                           Kind{"fa", "none", 5}, Kind{"fa", "deflate", 16}));

// Whether a file of superblock version 3 has a writer is told by its flags. No lock is tried, as a writer
// that opens the file at that moment would be refused its own.
TEST(Follow, NoLockIsTriedOnAFileWithStatusFlags) {
  H5MOUNT_NEEDS_FUSE();
  const auto file = scratch() / "unlocked.h5";
  const Writer writer(file, "frames=10");
  const int locked = ::open(file.c_str(), O_RDWR);
  ASSERT_EQ(::flock(locked, LOCK_EX | LOCK_NB), 0);
  const MountPoint mount;
  EXPECT_EQ(mount.mount(file).err, "");
  EXPECT_TRUE(mount.mounted());
  ::close(locked);
}

// One descriptor, held: what was read stays, what is appended comes, by read, by mapping and by the size.
TEST(Follow, HeldDescriptor) {
  H5MOUNT_NEEDS_FUSE();
  const auto file = scratch() / "held.h5";
  Writer writer(file, "frames=100000 rate=200 chunk=30 filter=deflate");
  writer.start();
  const MountPoint mount;
  mount_live(mount, file);
  const std::string path = mount.path("frames");
  ASSERT_TRUE(wait_for_size(path, 10 * kFrameBytes));
  const int fd = ::open(path.c_str(), O_RDONLY);
  ASSERT_GE(fd, 0);
  void* const mapped = ::mmap(nullptr, 10 * kFrameBytes, PROT_READ, MAP_SHARED, fd, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  const std::string right = frames_image(2000, kElements);
  std::uint64_t last = 0;
  std::string bytes;
  for (int round = 0; round < 40; ++round) {
    struct stat st{};
    ASSERT_EQ(::fstat(fd, &st), 0);
    const auto size = static_cast<std::uint64_t>(st.st_size);
    EXPECT_GE(size, last);
    last = size;
    bytes.resize(size);
    // Linux tells fstat a size that it does not keep where the file grows again while it asks: a read at that
    // moment ends at the size before (fuse_change_attributes), and the next one does not.
    int short_reads = 0;
    for (std::uint64_t got = 0; got < size;) {
      const ssize_t read = ::pread(fd, bytes.data() + got, size - got, static_cast<off_t>(got));
      ASSERT_GE(read, 0);
      got += static_cast<std::uint64_t>(read);
      if (got < size) ASSERT_LT(++short_reads, 5) << "round " << round << ": " << got << " of " << size;
    }
    ASSERT_TRUE(right.starts_with(bytes)) << "round " << round << " of " << size;
    ASSERT_EQ(std::memcmp(mapped, right.data(), 10 * kFrameBytes), 0);
    pause_for(50);
  }
  EXPECT_GT(last, 100 * kFrameBytes);
  ::munmap(mapped, 10 * kFrameBytes);
  ::close(fd);
}

// stat shows what was flushed within a second.
TEST(Follow, SizeWithinASecond) {
  H5MOUNT_NEEDS_FUSE();
  const auto file = scratch() / "latency.h5", log = scratch() / "latency.log";
  Writer writer(file, "frames=30 rate=5");
  writer.start("log=" + log.string());
  const MountPoint mount;
  mount_live(mount, file);
  const std::string path = mount.path("frames");
  const auto now = [] {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  };
  std::map<std::uint64_t, std::int64_t> seen;
  for (std::uint64_t frames = 0; frames < 30;) {
    const std::uint64_t size = size_of(path) / kFrameBytes;
    for (; frames < size; ++frames) seen[frames + 1] = now();
    pause_for(5);
    if (seen.empty() && !mount.mounted()) break;
  }
  EXPECT_EQ(writer.wait(), 0);
  std::ifstream flushed(log);
  std::uint64_t frames = 0;
  std::int64_t at = 0;
  while (flushed >> frames >> at) {
    if (frames > 5) EXPECT_LT(seen[frames] - at, 1'000'000'000) << "frame " << frames;
  }
}

TEST(Follow, TextAndAttributesGrow) {
  H5MOUNT_NEEDS_FUSE();
  const auto file = scratch() / "text.h5";
  Writer writer(file, "frames=300 rate=100 text=1");
  writer.start();
  const MountPoint mount;
  mount_live(mount, file);
  for (int i = 0; i < 10; ++i) {
    const std::string lines = slurp(mount.path("lines"));
    EXPECT_TRUE(lines.empty() || lines.starts_with("line 0 of the log\n")) << lines.substr(0, 40);
    pause_for(100);
  }
  EXPECT_EQ(writer.wait(), 0);
  pause_for(300);
  EXPECT_EQ(mount.in("wc -l <lines").out, "300\n");
  EXPECT_EQ(mount.in("tail -n 1 lines").out, "line 299 of the log\n");
  EXPECT_EQ(mount.in("cat .h5/attributes/@state").out, "300");
  EXPECT_EQ(mount.in("od -An -td8 -j 2392 counter | tr -d ' '").out, "898\n");
}

// Killed at any moment, the file is read as far as it goes.
TEST(Follow, WriterKilled) {
  H5MOUNT_NEEDS_FUSE();
  const std::string right = frames_image(5000, kElements);
  for (int round = 0; round < 4; ++round) {
    const auto file = scratch() / ("killed-" + std::to_string(round) + ".h5");
    Writer writer(file, "frames=100000 chunk=10 filter=deflate index=bt2");
    writer.start();
    const MountPoint mount;
    mount_live(mount, file);
    pause_for(100 + 70 * round);
    writer.end(SIGKILL);
    pause_for(300);
    const std::string bytes = slurp(mount.path("frames"));
    EXPECT_EQ(bytes.size(), size_of(mount.path("frames")));
    EXPECT_FALSE(bytes.empty());
    for (std::size_t i = 0; i < std::min(bytes.size(), right.size()); ++i)
      if (bytes[i] != right[i] && bytes[i] != 0) FAIL() << "byte " << i << " of " << bytes.size();
  }
}

// An ordinary mount notices that a SWMR writer has come.
TEST(Follow, WriterComesLater) {
  H5MOUNT_NEEDS_FUSE();
  const auto file = scratch() / "later.h5";
  Writer writer(file, "frames=200 rate=100");
  const MountPoint mount;
  ASSERT_EQ(mount.mount(file).code, 0);
  EXPECT_EQ(size_of(mount.path("frames")), 0U);
  writer.start();
  EXPECT_TRUE(wait_for_size(mount.path("frames"), 200 * kFrameBytes));
  EXPECT_EQ(writer.wait(), 0);
  EXPECT_TRUE(slurp(mount.path("frames")) == frames_image(200, kElements));
}

// ---- ordinary files

void expect_stale(const MountPoint& mount, const std::string& change) {
  EXPECT_EQ(mount.in("cat frames | wc -c").out, "25600\n");
  ASSERT_EQ(run(change).code, 0);
  pause_for(700);
  const Outcome read = mount.in("cat frames");
  EXPECT_NE(read.code, 0);
  EXPECT_NE(read.err.find("Stale"), std::string::npos) << read.err;
}

TEST(Changed, ReplacedRewrittenCut) {
  H5MOUNT_NEEDS_FUSE();
  const auto file = scratch() / "plain.h5", other = scratch() / "other.h5";
  for (const char* change : {"cp $F.new $F.tmp; mv $F.tmp $F", "cat $F.new >$F", "truncate -s 4096 $F"}) {
    Writer writer(file, "frames=100");
    writer.start();
    ASSERT_EQ(writer.wait(), 0);
    ASSERT_EQ(run("cp " + file.string() + " " + file.string() + ".new; sleep 0.1").code, 0);
    const MountPoint mount;
    ASSERT_EQ(mount.mount(file).code, 0);
    expect_stale(mount, "F=" + file.string() + "; " + change);
  }
}

TEST(Changed, WrittenWithoutSwmrIsRefused) {
  H5MOUNT_NEEDS_FUSE();
  const auto file = scratch() / "flags.h5";
  Writer writer(file, "frames=10");
  // Status flags: open for writing. The superblock's checksum must fit, so a writer that dies makes them.
  const std::string script =
      "import h5py,os\nf=h5py.File('" + file.string() + "','r+',libver='latest')\nf.flush()\nos._exit(0)\n";
  ASSERT_EQ(run("/usr/bin/python3 -c \"" + script + "\"").code, 0);
  const MountPoint mount;
  EXPECT_EQ(mount.mount(file).code, 1);
  EXPECT_FALSE(mount.mounted());
  EXPECT_EQ(mount.mount(file, "-o swmr=off,force").code, 0);
}

}  // namespace
}  // namespace h5mount::test
