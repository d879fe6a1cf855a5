// --copy into what is there already: what an unfinished copy left is kept where it is known to be the same,
// and everything else is written anew.
#include <sys/stat.h>

#include "copy_file.h"
#include "front_test.h"

namespace h5mount::test {
namespace {

class CopyResumeTest : public FrontTest {
 protected:
  // A copy of `part` of `file` to x that ends in the midst: its last dataset is larger than files may be.
  void copy_beginning(const std::string& part = "/", const std::string& file = "f.h5") const {
    const Outcome out = in("ulimit -f 1024; $H5MOUNT --copy -o threads=1 " + file + " " + part + " x");
    EXPECT_NE(out.code, 0) << out.out;
    EXPECT_EQ(in("ls -A x | grep h5mount-copied").out, ".h5mount-copied\n") << out.err;
    EXPECT_EQ(in("find x -size +1000k").out, "");
  }
  // Compares all files of x with those of `part` of f.h5; x has nothing else.
  Outcome compare(const std::string& part = "/") const {
    return python("part = '" + part + R"('
for place, _, names in os.walk('x'):
    for name in names:
        path = os.path.join(place, name)
        there = subprocess.run([os.environ['H5MOUNT'], '--cat', 'f.h5', part + path[1:]], capture_output=True)
        assert there.returncode == 0, path
        assert open(path, 'rb').read() == there.stdout, path
)");
  }
};

constexpr const char* kMany = R"(
for i in range(20): f['many/%02d' % i] = np.full(1000, i)
f['a'] = np.arange(100); f['again'] = f['a']; f['b'] = np.arange(100)
f['zz'] = np.ones(4 << 20, 'u1')
)";

TEST_F(CopyResumeTest, WholeFilesAreKeptAndOthersWrittenAnew) {
  write(kMany);
  copy_beginning();
  ASSERT_EQ(in("ls x | wc -l").out, "4\n");
  in("find x -type f -not -name '.h5mount-copy-*' -printf '%P %i\\n' >first");
  // Half a file, one that was touched, another one of the same size and time, and what a killed copy leaves.
  in("chmod u+w x x/many x/many/0[123]; truncate -s 10 x/many/01; touch x/many/02; "
     "cp -p x/many/04 x/other && mv x/other x/many/03; echo half >x/many/.h5mount-copy-0-1-2; "
     "printf torn >>x/.h5mount-copied");
  copy_beginning();
  const Outcome done = in("$H5MOUNT --copy f.h5 / x");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(compare().err, "");
  EXPECT_EQ(in("ls -A x | tr '\\n' ' '; stat -c %h x/again").out, "a again b many zz 2\n");
  const Outcome anew = python(R"(
first = dict(line.split() for line in open('first'))
assert len(first) == 24, first
def kept(n): return os.path.exists('x/' + n) and os.stat('x/' + n).st_ino == int(first[n])
print(*sorted(n for n in first if not kept(n)))
)");
  EXPECT_EQ(anew.out, ".h5mount-copied many/01 many/02 many/03\n") << anew.err;
}

TEST_F(CopyResumeTest, AnotherDatasetReplacesTheFirst) {
  write("for v in (1, 2):\n    f['scan%d/data' % v] = [v] * 10\n    f['scan%d/data' % v].attrs['n'] = 3 * v");
  in("sleep 0.1");
  const std::string first = "od -An -td8 -N8 ";
  EXPECT_EQ(in("$H5MOUNT --copy f.h5 /scan1 o && $H5MOUNT --copy f.h5 /scan2 o && " + first +
               "o/data && getfattr -n user.n --only-values o/data")
                .out,
            "                    2\n6");
  EXPECT_EQ(
      in("$H5MOUNT --copy f.h5 /scan1/data x && $H5MOUNT --copy f.h5 /scan2/data x && " + first + "x").out,
      "                    2\n");
}

TEST_F(CopyResumeTest, AnotherFileOfEqualTimesReplacesTheFirst) {
  const Outcome made = python(R"(
for n, v in ('A', 1), ('B', 2):
    with h5py.File(n + '.h5', 'w') as f:
        f['d'] = [v] * 10; f['z'] = np.ones(4 << 20, 'u1')
    os.utime(n + '.h5', (1e9, 1e9))
)");
  ASSERT_EQ(made.code, 0) << made.err;
  const std::string second = "$H5MOUNT --copy B.h5 / x && od -An -td8 -N8 x/d && ls -A x";
  in("sleep 0.1; $H5MOUNT --copy A.h5 / x");
  EXPECT_EQ(in(second).out, "                    2\nd\nz\n");
  in("chmod u+w x; rm -r x");
  copy_beginning("/", "A.h5");
  EXPECT_EQ(in(second).out, "                    2\nd\nz\n");
}

TEST_F(CopyResumeTest, AnotherPartReplacesTheFirst) {
  write("for v in (1, 2):\n    f['%d/data' % v] = [v] * 10\n    f['%d/z' % v] = np.ones(4 << 20, 'u1')");
  copy_beginning("/1");
  EXPECT_EQ(in("$H5MOUNT --copy f.h5 /2 x && od -An -td8 -N8 x/data").out, "                    2\n");
}

TEST_F(CopyResumeTest, AFileThatWasWrittenIsCopiedAnew) {
  write(kMany);
  copy_beginning();
  const Outcome changed =
      in("touch -r f.h5 stamp && /usr/bin/python3 -c 'import h5py; f = h5py.File(\"f.h5\", \"r+\"); "
         "f[\"many/03\"][:] = 77' && touch -r stamp f.h5 && $H5MOUNT --copy f.h5 / x");
  EXPECT_EQ(changed.code, 0) << changed.err;
  EXPECT_EQ(compare().err, "");
}

// The copied file is the same, but what it shows is in others.
TEST_F(CopyResumeTest, DataOfOtherFilesAreNeverKept) {
  write(R"(
with h5py.File('s.h5', 'w') as s: s['x'] = np.arange(10)
open('raw', 'wb').write(bytes(80))
l = h5py.VirtualLayout((10,), 'i8'); l[:] = h5py.VirtualSource('s.h5', 'x', shape=(10,))
f.create_virtual_dataset('a/v', l)
f.create_dataset('a/e', (10,), 'i8', external=[('raw', 0, 80)])
f['a/own'] = np.arange(10)
f['a/v.npy'] = np.arange(10)
f['a/zz'] = np.ones(4 << 20, 'u1')
)");
  struct Part {
    const char *path, *kept;
  };
  for (const auto& [path, kept] : {Part{"/a", "own v.npy"}, Part{"/.h5/npy/a", "own.npy v.npy.npy"}}) {
    in("chmod -R u+w x; rm -rf x");
    copy_beginning(path);
    const Outcome changed =
        in("find x -type f -printf '%P %i\\n' >first; $H5MOUNT --cat f.h5 a/v | md5sum; " +
           std::string("/usr/bin/python3 -c 'import h5py, os; s = h5py.File(\"s.h5\", ") +
           "\"r+\"); s[\"x\"][...] += 1; open(\"raw\", \"r+b\").write(os.urandom(80))'");
    EXPECT_NE(changed.out, in("$H5MOUNT --cat f.h5 a/v | md5sum").out) << changed.err;
    EXPECT_EQ(in("$H5MOUNT --copy f.h5 " + std::string(path) + " x").code, 0);
    EXPECT_EQ(compare(path).err, "") << path;
    const Outcome same = python(R"(
first = dict(line.split() for line in open('first'))
print(*sorted(n for n, i in first.items() if os.path.exists('x/' + n) and os.stat('x/' + n).st_ino == int(i)))
)");
    EXPECT_EQ(same.out, std::string(kept) + "\n") << path << same.err;
  }
}

// What others put in the place of the record is neither believed nor written to.
TEST_F(CopyResumeTest, AForgedRecordIsReplaced) {
  write(kMany);
  in("echo mine >outside && mkdir x && ln -s ../outside x/.h5mount-copied");
  copy_beginning();
  EXPECT_EQ(in("cat outside; stat -c '%F %a' x/.h5mount-copied").out, "mine\nregular file 600\n");
  in("chmod 622 x/.h5mount-copied");
  const std::string inodes = "find x/many -type f -printf '%P %i\\n' | sort";
  const std::string first = in(inodes).out;
  EXPECT_EQ(in("$H5MOUNT --copy f.h5 / x").code, 0);
  const std::string second = in(inodes).out;
  EXPECT_EQ(lines_in(second), 20);
  EXPECT_NE(first, second);
  EXPECT_EQ(in("ls -A x | grep h5mount").out, "");
}

// A dataset may have the record's name.
TEST_F(CopyResumeTest, ADatasetOfTheRecordsNameIsCopied) {
  write("f['.h5mount-copied'] = [1, 2]; f['a'] = 1");
  EXPECT_EQ(in("$H5MOUNT --copy f.h5 / x && $H5MOUNT --copy f.h5 / x && ls -A x").out,
            ".h5mount-copied\na\n");
  EXPECT_EQ(compare().err, "");
}

// A directory is its owner's when it is finished, who may then put anything on the way to a first copy.
TEST_F(CopyResumeTest, LinksAreMadeToTheFirstCopyOnly) {
  in("mkdir top top/a top/b outside && echo mine >top/a/first && echo secret >outside/first");
  const auto top = front::CopyDirectory::open((place / "top").string());
  ASSERT_TRUE(top);
  const auto other = front::CopyDirectory::open((place / "top/b").string());
  ASSERT_TRUE(other);
  struct stat st = {};
  ASSERT_EQ(::stat((place / "top/a/first").c_str(), &st), 0);
  const front::FileIdentity first = front::identity_of(st);
  EXPECT_TRUE(front::link_file(**top, "a/first", first, **other, "one"));
  EXPECT_TRUE(front::link_file(**top, "a/first", first, **other, "one"));  // it is there already
  EXPECT_EQ(in("cat top/b/one; stat -c %h top/b/one; ls -A top/b").out, "mine\n2\none\n");
  in("mv top/a top/c && ln -s ../outside top/a");
  EXPECT_FALSE(front::link_file(**top, "a/first", first, **other, "two"));
  in("ln -sfn c top/a");
  EXPECT_FALSE(front::link_file(**top, "a/first", first, **other, "two"));
  in("rm top/a && cp -r outside top/a");
  const Status replaced = front::link_file(**top, "a/first", first, **other, "two");
  ASSERT_FALSE(replaced);
  EXPECT_EQ(replaced.error().code(), ErrorCode::Stale);
  in("rm top/a/first && ln -s ../../outside/first top/a/first");
  EXPECT_FALSE(front::link_file(**top, "a/first", first, **other, "two"));
  EXPECT_EQ(in("ls -A top/b").out, "one\n");
}

}  // namespace
}  // namespace h5mount::test
