// What a file names is opened only where the user lets it: members of file sets, external links, raw data and
// virtual sources, for the mounter and for others.
#include <sys/stat.h>

#include "h5py_directory.h"

namespace h5mount::test {
namespace {

using ConfinementTest = H5pyDirectoryTest;

// A split file whose driver information names other members than it was written with: itself and
// `neighbour.conf`.
constexpr const char* kEvilSplit = R"(
f = h5py.File('e', 'w', driver='split', meta_ext=b'vil-long-name.h5', raw_ext=b'raw-long-name.txt')
f.create_dataset('d', data=np.frombuffer(b'x' * 400, dtype='u1'))
f.close()
b = bytearray(open('evil-long-name.h5', 'rb').read())
for old, new in ((b'%svil-long-name.h5', b'%supload-0000001.h5'),
                 (b'%sraw-long-name.txt', b'%sneighbour.conf')):
    i = b.find(old)
    b[i:i + 24] = new + bytes(24 - len(new))
open('upload-0000001.h5', 'wb').write(b)
os.unlink('evil-long-name.h5'); os.unlink('eraw-long-name.txt'))";

constexpr const char* kFamily = R"(
f = h5py.File('x%d.h5', 'w', driver='family', memb_size=4096)
f['d'] = np.arange(4000, dtype='u1')
f['e'] = np.full(9000, 7, dtype='u1')
f.close())";

TEST_F(ConfinementTest, AMemberNamedByTheFileIsNotShownToOthers) {
  H5MOUNT_NEEDS_ROOT();
  write(kEvilSplit);
  write(
      "open('neighbour.conf', 'w').write('password of another user\\n' + ' ' * 400)\n"
      "os.chmod('neighbour.conf', 0o600); os.chmod('upload-0000001.h5', 0o644)");
  for (const char* options :
       {"-o allow_other", "-o allow_other,external=beneath", "-o allow_other,external=any"}) {
    ASSERT_TRUE(mounts("upload-0000001.h5", options)) << said;
    const Outcome read = as_nobody("head -c 25 d");
    EXPECT_EQ(read.out, "") << options;
    EXPECT_NE(read.err.find("ermission denied"), std::string::npos) << read.err;
    EXPECT_NE(said.find("neighbour.conf"), std::string::npos) << said;
    ASSERT_EQ(run("umount " + mount.path()).code, 0);
  }
}

TEST_F(ConfinementTest, AMemberNamedByTheFileFollowsNoSymlinkAndKeepsToThePolicy) {
  write(kEvilSplit);
  write("open('neighbour.conf', 'w').write('n' * 425)");
  ASSERT_TRUE(mounts("upload-0000001.h5", "-o external=none"));
  EXPECT_NE(mount.in("cat d").code, 0);
  EXPECT_NE(said.find("external=beneath"), std::string::npos) << said;
  run("umount " + mount.path() + " || fusermount3 -u " + mount.path());
  ASSERT_TRUE(mount.gone());
  // As a file beneath it is what the policy allows.
  ASSERT_TRUE(mounts("upload-0000001.h5"));
  EXPECT_EQ(mount.in("head -c 3 d").out, "nnn");
  run("umount " + mount.path() + " || fusermount3 -u " + mount.path());
  ASSERT_TRUE(mount.gone());
  write("os.rename('neighbour.conf', 'elsewhere'); os.symlink('elsewhere', 'neighbour.conf')");
  ASSERT_TRUE(mounts("upload-0000001.h5"));
  EXPECT_NE(mount.in("cat d").code, 0);
  EXPECT_NE(said.find("symlink"), std::string::npos) << said;
}

TEST_F(ConfinementTest, AFamilyFoundByItsFirstMemberIsConfinedAndOneNamedByItsPatternIsNot) {
  write(kFamily);
  write(
      "d = np.arange(4000, dtype='u1').tobytes(); open('d', 'wb').write(d)\n"
      "os.mkdir('far'); os.rename('x1.h5', 'far/x1.h5'); os.symlink('far/x1.h5', 'x1.h5')");
  ASSERT_TRUE(mounts("x0.h5"));
  EXPECT_NE(mount.in("cat d e >/dev/null").code, 0);
  EXPECT_NE(said.find("x%d.h5"), std::string::npos) << said;
  run("umount " + mount.path() + " || fusermount3 -u " + mount.path());
  ASSERT_TRUE(mount.gone());
  ASSERT_TRUE(mounts("x%d.h5", "-o external=none"));
  EXPECT_EQ(said, "");
  EXPECT_EQ(mount.in("cmp d " + (place / "d").string()).code, 0);
  EXPECT_EQ(mount.in("tr -d '\\7' <e | wc -c").out, "0\n");
}

TEST_F(ConfinementTest, ASoundFamilyIsJoinedFromItsFirstMember) {
  write(kFamily);
  write("open('d', 'wb').write(np.arange(4000, dtype='u1').tobytes())");
  ASSERT_TRUE(mounts("x0.h5"));
  EXPECT_EQ(said, "");
  EXPECT_EQ(mount.in("cmp d " + (place / "d").string()).code, 0);
}

// A worker that reads the mount waits for another one: as many reads as there are workers, and nobody
// answers.
TEST_F(ConfinementTest, TheMountIsNotItsOwnSource) {
  write(R"(
m = ')" +
        mount.path() + R"('
os.symlink(m, 'leads-back')
f = h5py.File('loop.h5', 'w')
f.create_dataset('absolute', shape=(4096,), dtype='u1', external=[(m + '/absolute', 0, 4096)])
f.create_dataset('relative', shape=(4096,), dtype='u1', external=[('inner/relative', 0, 4096)])
f.create_dataset('symlink', shape=(4096,), dtype='u1', external=[('leads-back/symlink', 0, 4096)])
f['link'] = h5py.ExternalLink('inner/sub.h5', '/')
f['good'] = np.arange(100)
f.close()
os.mkdir('inner'))");
  for (const std::string& at : {mount.path(), (place / "inner").string()}) {
    const std::string file = (place / "loop.h5").string();
    ASSERT_EQ(run("$H5MOUNT -o external=any " + file + " " + at).code, 0);
    for (const char* name : {"absolute", "relative", "symlink", "link/x"}) {
      if (at == mount.path() && std::string(name) == "relative") continue;
      if (at != mount.path() && std::string(name) != "relative" && std::string(name) != "link/x") continue;
      // In the background: a reader that the mount never answers cannot be killed.
      const Outcome read =
          run("cat " + at + "/" + name + " >/dev/null 2>" + (place / "why").string() + " & pid=$!\n" +
              "for i in $(seq 100); do kill -0 $pid 2>/dev/null || break; sleep 0.1; done\n"
              "if kill -0 $pid 2>/dev/null; then echo hangs; minor=$(mountpoint -d " +
              at + " | cut -d: -f2); echo 1 >/sys/fs/fuse/connections/$minor/abort; fi; wait $pid");
      EXPECT_NE(read.code, 0) << name;
      EXPECT_EQ(read.out, "") << name;
    }
    EXPECT_EQ(run("stat -c %s " + at + "/good").out, "800\n");
    run("umount " + at + " || fusermount3 -u " + at);
    ASSERT_TRUE(wait_until_gone(at));
  }
}

TEST_F(ConfinementTest, AnotherFileSystemMountedBeneathIsASource) {
  H5MOUNT_NEEDS_ROOT();
  std::filesystem::create_directory(place / "disk");
  if (run("mount -t tmpfs none " + (place / "disk").string()).code != 0)
    GTEST_SKIP() << "no tmpfs may be mounted";
  write(R"(
open('disk/raw', 'wb').write(b'from the other disk')
f = h5py.File('m.h5', 'w')
f.create_dataset('d', shape=(19,), dtype='u1', external=[('disk/raw', 0, 19)])
f.close())");
  for (const char* options : {"", "-o external=any"}) {
    EXPECT_TRUE(mounts("m.h5", options));
    EXPECT_EQ(mount.in("cat d").out, "from the other disk");
    run("umount " + mount.path());
    EXPECT_TRUE(mount.gone());
  }
  run("umount -l " + (place / "disk").string());
}

TEST_F(ConfinementTest, OthersReadWhatLinksNameAndEachFilesOwnModeLets) {
  H5MOUNT_NEEDS_ROOT();
  write_by("linked_files.py");
  ASSERT_TRUE(mounts("m.h5", "-o allow_other,external=beneath"));
  EXPECT_NE(as_nobody("cat .h5/external/deep%2Funlinked.h5/k").code, 0);
  EXPECT_NE(mount.in("cat .h5/external/deep%2Funlinked.h5/k").code, 0);
  EXPECT_EQ(as_nobody("cat open").out, "bytes of it");
  for (const char* name : {"secret", "deep", "raw", "view"})
    EXPECT_EQ(as_nobody(std::string("cat ") + name).out, "") << name;
  EXPECT_EQ(mount.in("cat secret deep").out, "bytes of itbytes of it");
  EXPECT_EQ(mount.in("stat -L -c '%a %u %g' secret open deep raw").out,
            "400 0 0\n440 65534 65534\n400 0 0\n444 0 0\n");
  ASSERT_EQ(run("umount " + mount.path()).code, 0);
  ASSERT_TRUE(mount.gone());
  ASSERT_TRUE(mounts("m.h5", "-o external=beneath,uid=7,umask=040"));
  EXPECT_EQ(mount.in("stat -L -c '%a %u' open secret").out, "400 7\n400 7\n");
  EXPECT_EQ(mount.in("cat raw view .h5/external/deep%2Funlinked.h5/k").out,
            "raw bytes..bytes of itbytes of it");
}

}  // namespace
}  // namespace h5mount::test
