// What a mount says of itself and of the files behind its views, and that it can always be ended.
#include <cstdio>

#include "h5py_directory.h"
#include "test_paths.h"

namespace h5mount::test {
namespace {

class TrustTest : public H5pyDirectoryTest {};

TEST_F(TrustTest, AWarningOfMountingIsInTheLog) {
  write(
      "f = h5py.File('whole.h5', 'w'); f['d'] = np.arange(1000); f.close()\n"
      "b = open('whole.h5', 'rb').read(); open('cut.h5', 'wb').write(b[:-100])");
  ASSERT_TRUE(mounts("cut.h5"));
  EXPECT_NE(said.find("bytes: an incomplete copy? Data beyond"), std::string::npos) << said;
  EXPECT_NE(mount.in("cat .h5/log").out.find("warning: " + (place / "cut.h5").string() + ": "),
            std::string::npos);
}

TEST_F(TrustTest, AMountSaysWhatItHides) {
  write(
      "f = h5py.File('f.h5', 'w'); f['d'] = 1; f.close()\nf = h5py.File('h.h5', 'w'); f['.h5/x'] = 1; "
      "f.close()");
  ASSERT_TRUE(mounts("f.h5"));
  EXPECT_EQ(said, "");
  ASSERT_EQ(run("umount " + mount.path()).code, 0);
  ASSERT_TRUE(mounts("h.h5"));
  EXPECT_NE(said.find("an entry named .h5, which hides the views"), std::string::npos) << said;
  const std::string full = place / "full";
  const auto mounted = [&](const std::string& file) {
    const Outcome out = run(std::string(H5MOUNT_PROGRAM) + " " + file + " " + full);
    EXPECT_EQ(out.code, 0) << out.err;
    run("umount " + full);
    return out.err;
  };
  run("mkdir " + full + " && touch " + full + "/x && cp " + (place / "f.h5").string() + " " + full);
  const std::string other = mounted(place / "f.h5"), own = mounted(full + "/f.h5");
  EXPECT_NE(other.find("full is not empty"), std::string::npos) << other;
  EXPECT_NE(own.find("the mount hides this file"), std::string::npos) << own;
  EXPECT_EQ(own.find("not empty"), std::string::npos) << own;
}

TEST_F(TrustTest, TheLogBeginsWithTheMemory) {
  write("f = h5py.File('f.h5', 'w'); f['d'] = 1; f.close()");
  ASSERT_TRUE(mounts("f.h5", "-o cache_size=64M"));
  const std::string log = mount.in("cat .h5/log").out;
  EXPECT_NE(log.find("info: memory of this machine: "), std::string::npos) << log;
  EXPECT_NE(log.find("cache_size: 64 MiB, as asked"), std::string::npos) << log;
}

TEST_F(TrustTest, ViewsOfExternalFilesListWhatTheFilesOwnViewsList) {
  write(R"(
with h5py.File('source.h5', 'w') as f:
    f['group/d'] = np.arange(3); f['group/d'].attrs['units'] = 'm'; f.attrs['title'] = 'x'
    f['soft'] = h5py.SoftLink('/group/d'); f['group'].attrs['g'] = 1
with h5py.File('main.h5', 'w') as f: f['link'] = h5py.ExternalLink('source.h5', '/'))");
  const std::string list =
      "find . -mindepth 1 -printf '%P %y %l\\n' | sort; find . -type f | sort | xargs cat";
  ASSERT_TRUE(mounts("source.h5"));
  const std::string own = mount.in("cd .h5/attributes && " + list).out;
  EXPECT_NE(own.find("group/d@units f"), std::string::npos) << own;
  ASSERT_EQ(run("umount " + mount.path()).code, 0);
  ASSERT_TRUE(mounts("main.h5"));
  EXPECT_EQ(mount.in("cd .h5/attributes/link/ && " + list).out, own);
  EXPECT_EQ(mount.in("cd .h5/attributes/.h5/external/source.h5 && " + list).out, own);
  EXPECT_EQ(mount.in("ls .h5/attributes/.h5/external").out, mount.in("ls .h5/external").out);
}

// Without the process that asks for the first answer, one that waits for itself would stay for ever.
TEST_F(TrustTest, AServerThatIsKilledWhileItBeginsIsGone) {
  for (int delay = 0; delay < 30; delay += 2) {
    const std::string wait = "sleep 0.0" + std::string(delay < 10 ? "0" : "") + std::to_string(delay);
    const Outcome killed = run("$H5MOUNT -f " + example().string() + " " + mount.path() + " & p=$!; " + wait +
                               "; kill -9 $p; for i in $(seq 500); do kill -0 $p 2>/dev/null || exit 0; "
                               "case $(cut -d' ' -f3 /proc/$p/stat 2>/dev/null) in Z|'') exit 0;; esac; "
                               "sleep 0.01; done; exit 3");
    run("umount -f -l " + mount.path());
    ASSERT_EQ(killed.code, 0) << delay << " ms";
  }
}

TEST_F(TrustTest, EnumsOfVirtualSourcesAreConvertedByName) {
  write_by("enums_of_virtual_sources.py");
  ASSERT_TRUE(mounts("view.h5"));
  EXPECT_EQ(mount.in("cmp swapped " + (place / "expected").string()).code, 0)
      << mount.in("od -An -tx1 swapped " + (place / "expected").string()).out;
  EXPECT_NE(mount.in("cat fewer").code, 0);
}

// A dataset in pieces: the raw file is opened for a read, not for each of its elements.
TEST_F(TrustTest, ARawFileIsNotOpenedForEachElement) {
  if (run("command -v strace").code != 0) GTEST_SKIP() << "no strace";
  write(R"(
np.arange(20000, dtype='i4').tofile('raw.bin')
with h5py.File('source.h5', 'w') as f:
    f.create_dataset('d', (20000,), 'i4', external=[('raw.bin', 0, h5py.h5f.UNLIMITED)])
layout = h5py.VirtualLayout((10000,), 'i4')
layout[:] = h5py.VirtualSource('source.h5', 'd', (20000,))[::2]
with h5py.File('view.h5', 'w') as f: f.create_virtual_dataset('v', layout))");
  const std::string trace = (place / "trace").string();
  run("strace -f -qq -e trace=openat,openat2 -o " + trace + " $H5MOUNT -f " + (place / "view.h5").string() +
      " " + mount.path() + " >/dev/null 2>&1 &");
  ASSERT_TRUE(wait_until_serving(mount.path()));
  EXPECT_EQ(mount.in("od -An -td4 -v v | tr -s ' \\n' '\\n' | tail -1").out, "19998\n");
  const int opened = std::atoi(run("grep -c raw.bin " + trace).out.c_str());
  EXPECT_GT(opened, 0);
  EXPECT_LT(opened, 200);
}

// What the kernel says of each of its threads, every line once.
std::string rights_of(const std::string& mountpoint) {
  return run("for t in /proc/$(pgrep -n -f ' " + mountpoint +
             "$')/task/*; do cat $t/status; done | grep -E '^(CapInh|CapPrm|CapEff|NoNewPrivs|Seccomp):' "
             "| sort -u | tr '\\t\\n' ' ;'")
      .out;
}

TEST_F(TrustTest, RootsMountKeepsTheRightsToReadAndToUnmount) {
  H5MOUNT_NEEDS_ROOT();
  write(R"(
os.mkdir('private')
with h5py.File('private/other.h5', 'w') as f: f['d'] = np.arange(7, dtype='i1')
with h5py.File('main.h5', 'w') as f: f['link'] = h5py.ExternalLink('private/other.h5', '/d')
os.chown('private/other.h5', 65534, 65534); os.chmod('private/other.h5', 0o600)
os.chown('private', 65534, 65534); os.chmod('private', 0o700))");
  ASSERT_TRUE(mounts("main.h5"));
  EXPECT_EQ(mount.in("wc -c <link").out, "7\n");
  std::uint64_t permitted = 0, effective = 0;
  int no_new_privileges = 0, seccomp = 0;
  const std::string rights = rights_of(mount.path());
  ASSERT_EQ(std::sscanf(rights.c_str(),
                        "CapEff: %lx;CapInh: 0000000000000000;CapPrm: %lx;NoNewPrivs: %d;Seccomp: %d;",
                        &effective, &permitted, &no_new_privileges, &seccomp),
            4)
      << rights;
  constexpr std::uint64_t kOverride = 1U << 1, kReadSearch = 1U << 2, kAdmin = 1U << 21;
  EXPECT_EQ(effective & ~(kOverride | kReadSearch | kAdmin), 0U) << rights;
  EXPECT_NE(effective & kAdmin, 0U) << rights;
  EXPECT_NE(effective & (kOverride | kReadSearch), kOverride | kReadSearch) << rights;
  EXPECT_EQ(permitted, effective);
  EXPECT_EQ(no_new_privileges, 1);
  EXPECT_EQ(seccomp, 2);
  EXPECT_EQ(run("umount " + mount.path()).code, 0);
}

}  // namespace
}  // namespace h5mount::test
