// A process that may have few threads, descriptors or little memory: it says what it lacks and ends, or
// serves with what it has. It never aborts, and no byte is wrong.
#include "mount/h5py_directory.h"
#include "support/sanitized.h"

namespace h5mount::test {
namespace {

class LimitsTest : public H5pyDirectoryTest {
 protected:
  void SetUp() override {
    H5pyDirectoryTest::SetUp();
    if (IsSkipped()) return;
    write(R"(
with h5py.File('f.h5', 'w') as f:
    noise = np.random.default_rng(1).integers(0, 1 << 40, 1 << 20)
    noise = noise.reshape(1024, 1024)
    f.create_dataset('tiles', data=noise, chunks=(64, 64), compression='gzip', compression_opts=1)
    f['plain'] = np.arange(100000)
    f['words'] = [b'some'] * 5000
    for name in 'tiles', 'plain': f[name][()].tofile(name + '.raw')
)");
  }

  struct Served {
    int code = -1;  // of the program; 128 and more: the signal that ended it
    bool answered = false;
    std::string rest;  // of the output: bytes that differ, a mount that stays
    std::string said;
  };

  // Mounts under the limit, reads everything where it answers, several at once, and unmounts. `before`: words
  // that start the program as another user; then in a mount namespace where all may use /dev/fuse.
  Served serve(const std::string& limit, const std::string& before = {}) {
    std::ofstream(place / "serve.sh") << R"(
at=$1 limit=$2; shift 2
cd $(dirname $0); rm -f code said
if test $# -gt 0; then
  mkdir -p dev && mount -t tmpfs none dev && mknod dev/fuse c 10 229 && chmod 666 dev/fuse &&
    mount --bind dev/fuse /dev/fuse || { echo no device; exit; }
fi
program=${PROGRAM:-$H5MOUNT}
("$@" prlimit $limit $program -f -o cache_size=8M $PWD/f.h5 $at >/dev/null 2>said; echo $? >code) &
for i in $(seq 300); do
  test -s code && break
  if grep -q " $at " /proc/self/mounts && timeout -s KILL 5 "$@" stat $at >/dev/null 2>&1; then
    answered=1; break
  fi
  sleep .02
done
if test "$answered"; then
  for n in tiles plain tiles plain tiles; do
    ( mine=read.$(sh -c 'echo $PPID')
      timeout -s KILL 20 "$@" cat $at/$n >$mine 2>/dev/null
      cmp -n $(stat -c %s $mine) $mine $n.raw ) &
    readers="$readers $!"
  done
  wait $readers
  timeout -s KILL 20 "$@" ls -lR $at >/dev/null 2>&1
  timeout -s KILL 20 "$@" getfattr -d -R $at >/dev/null 2>&1
  umount $at || umount -l $at
fi
for i in $(seq 500); do test -s code && break; sleep .02; done
grep " $at " /proc/self/mounts
echo "$(cat code) ${answered:-0}"
)";
    const Outcome outcome =
        run("export PROGRAM=" + program_ + "; " + (before.empty() ? "" : "unshare -m ") + "sh " +
                (place / "serve.sh").string() + " " + mount.path() + " " + limit + " " + before,
            150);
    Served out;
    const std::size_t last = outcome.out.find_last_of('\n', outcome.out.size() - 2);
    const std::string line = last == std::string::npos ? outcome.out : outcome.out.substr(last + 1);
    if (last != std::string::npos) out.rest = outcome.out.substr(0, last + 1);
    int answered = 0;
    if (std::sscanf(line.c_str(), "%d %d", &out.code, &answered) != 2) out.code = -1;
    out.answered = answered == 1;
    out.said = slurp(place / "said") + outcome.err;
    return out;
  }
  std::string program_;  // empty: the one that is tested, where it lies
  void expect_orderly(const Served& served, const std::string& limit) {
    EXPECT_GE(served.code, 0) << limit << ": it did not end: " << served.said;
    if (served.said.find("error while loading shared libraries") != std::string::npos)
      return;  // before `main`
    EXPECT_LT(served.code, 127) << limit << ": " << served.said;
    EXPECT_EQ(served.rest, "") << limit;
    if (served.code != 0) EXPECT_NE(served.said, "") << limit;
  }
};

TEST_F(LimitsTest, FewDescriptors) {
  if (kSanitized) GTEST_SKIP() << "sanitizers need descriptors of their own, to check a type";
  bool served = false;
  for (int most = 3; most < 40; most += most < 20 ? 1 : 6) {
    const std::string limit = "--nofile=" + std::to_string(most);
    const Served outcome = serve(limit);
    expect_orderly(outcome, limit);
    served = served || (outcome.answered && outcome.code == 0);
  }
  EXPECT_TRUE(served);
}

// Root has no such limit, so it is another user's, who has no other processes.
TEST_F(LimitsTest, FewThreads) {
  H5MOUNT_NEEDS_ROOT();
  const std::string user = "setpriv --reuid=games --regid=games --clear-groups";
  // A program that the other user may run.
  program_ = (place / "program").string();
  if (run("command -v fusermount3 && unshare -m true && cp $H5MOUNT " + program_ + " && chmod 755 " +
          program_)
          .code != 0)
    GTEST_SKIP() << "other users cannot mount here";
  run("chown games " + mount.path());
  bool served = false, refused = false;
  for (const int most : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 24, 40}) {
    const std::string limit = "--nproc=" + std::to_string(most);
    const Served outcome = serve(limit, user);
    expect_orderly(outcome, limit);
    served = served || (outcome.answered && outcome.code == 0);
    refused = refused || outcome.code != 0;
  }
  EXPECT_TRUE(served);
  EXPECT_TRUE(refused);
}

TEST_F(LimitsTest, LittleMemory) {
  if (kSanitized) GTEST_SKIP() << "sanitizers take terabytes of address space";
  bool served = false;
  // With less the libraries do not start.
  for (const int mib : {40, 50, 60, 80, 100, 120, 150, 200, 260, 320, 400, 600, 1200}) {
    const std::string limit = "--as=" + std::to_string(std::uint64_t{1048576} * mib);
    const Served outcome = serve(limit);
    expect_orderly(outcome, limit);
    served = served || (outcome.answered && outcome.code == 0);
  }
  EXPECT_TRUE(served);
}

}  // namespace
}  // namespace h5mount::test
