// Where the files that a file names are looked for, and what is told of them.
#include "h5py_directory.h"

namespace h5mount::test {
namespace {

using SearchTest = H5pyDirectoryTest;

constexpr const char* kMaster = R"(
os.mkdir('real'); os.mkdir('link')
f = h5py.File('real/source.h5', 'w'); f['k'] = np.arange(10, dtype='u1'); f.close()
open('real/raw', 'wb').write(b'raw bytes')
f = h5py.File('real/m.h5', 'w')
f['k'] = h5py.ExternalLink('source.h5', '/k')
l = h5py.VirtualLayout(shape=(10,), dtype='u1'); l[:] = h5py.VirtualSource('source.h5', 'k', shape=(10,))
f.create_virtual_dataset('view', l, fillvalue=255)
f.create_dataset('raw', shape=(9,), dtype='u1', external=[('raw', 0, 9)])
f.close()
os.symlink('../real/m.h5', 'link/l.h5'))";

constexpr const char* kFirstTen = " 0 1 2 3 4 5 6 7 8 9\n";
constexpr const char* kNumbers = " | od -An -v -tu1 | tr -s ' '";

TEST_F(SearchTest, AMasterThatWasNamedThroughASymlink) {
  write(kMaster);
  ASSERT_TRUE(mounts("link/l.h5"));
  EXPECT_EQ(mount.in(std::string("cat k") + kNumbers).out, kFirstTen);
  EXPECT_EQ(mount.in(std::string("cat view") + kNumbers).out, kFirstTen);
  EXPECT_EQ(mount.in("cat raw").out, "raw bytes");
}

TEST_F(SearchTest, AFamilyThatWasNamedThroughASymlink) {
  write(R"(
os.mkdir('real'); os.mkdir('link'); os.chdir('real')
f = h5py.File('x%d.h5', 'w', driver='family', memb_size=4096)
f['d'] = np.arange(20000, dtype='u4'); f.close()
os.chdir('..'); open('d', 'wb').write(np.arange(20000, dtype='u4').tobytes())
os.symlink('../real/x0.h5', 'link/l.h5'))");
  ASSERT_TRUE(mounts("link/l.h5"));
  EXPECT_EQ(mount.in("cmp d " + (place / "d").string()).code, 0);
}

TEST_F(SearchTest, PrefixesOfTheEnvironment) {
  write(kMaster);
  write(
      "os.mkdir('sub'); os.rename('real/m.h5', 'm.h5'); os.rename('real/source.h5', 'sub/source.h5')\n"
      "os.rename('real/raw', 'sub/raw')");
  const std::string mounted =
      "HDF5_EXT_PREFIX=/nowhere:sub HDF5_VDS_PREFIX='${ORIGIN}/sub' HDF5_EXTFILE_PREFIX=" +
      (place / "sub").string() + " $H5MOUNT m.h5 " + mount.path();
  ASSERT_EQ(run("cd " + place.string() + " && " + mounted).code, 0);
  EXPECT_EQ(mount.in(std::string("cat k") + kNumbers).out, kFirstTen);
  EXPECT_EQ(mount.in(std::string("cat view") + kNumbers).out, kFirstTen);
  EXPECT_EQ(mount.in("cat raw").out, "raw bytes");
}

TEST_F(SearchTest, ListedDirectories) {
  write(kMaster);
  write(
      "os.mkdir('a'); os.mkdir('b'); os.mkdir('d'); os.rename('real/m.h5', 'd/m.h5')\n"
      "os.rename('real/source.h5', 'a/source.h5'); os.rename('real/raw', 'b/raw')");
  ASSERT_TRUE(mounts("d/m.h5", "-o external=" + (place / "a").string() + ":" + (place / "b").string()));
  EXPECT_EQ(mount.in(std::string("cat k") + kNumbers).out, kFirstTen);
  EXPECT_EQ(mount.in(std::string("cat view") + kNumbers).out, kFirstTen);
  EXPECT_EQ(mount.in("cat raw").out, "raw bytes");
}

TEST_F(SearchTest, NamesOfAFileMeanWhatTheyMeanInTheDirectoryItWasNamedIn) {
  write(R"(
os.mkdir('sub')
for name, value in (('sibling.h5', 1), ('sub/sibling.h5', 2)):
    f = h5py.File(name, 'w'); f['k'] = np.uint8(value); f.close()
f = h5py.File('sub/ok.h5', 'w'); f['s'] = h5py.ExternalLink('sibling.h5', '/'); f.close()
os.symlink('sub/ok.h5', 'inlink.h5')
f = h5py.File('m.h5', 'w')
f['a'] = h5py.ExternalLink('inlink.h5', '/'); f['b'] = h5py.ExternalLink('sub/ok.h5', '/'); f.close())");
  ASSERT_TRUE(mounts("m.h5"));
  EXPECT_EQ(mount.in("exec 3<a/s/k; cat a/s/k b/s/k | od -An -tu1 | tr -d ' '").out, "12\n");
}

TEST_F(SearchTest, DfCountsEveryMember) {
  write(R"(
f = h5py.File('s', 'w', driver='split'); f['d'] = np.zeros(100000, dtype='u1'); f.close()
f = h5py.File('x%d.h5', 'w', driver='family', memb_size=65536)
f['d'] = np.zeros(300000, dtype='u1'); f.close())");
  for (const auto& [name, members] : {std::pair("s", "s-*.h5"), std::pair("x%d.h5", "x?.h5")}) {
    ASSERT_TRUE(mounts(name));
    const std::string bytes = run("cd " + place.string() + " && cat " + members + " | wc -c").out;
    const std::uint64_t shown = std::stoull(mount.in("echo $(( $(stat -f -c '%b * %S' .) ))").out);
    EXPECT_GE(shown, std::stoull(bytes)) << name;
    EXPECT_LT(shown, std::stoull(bytes) + 65536) << name;
    run("umount " + mount.path() + " || fusermount3 -u " + mount.path());
    ASSERT_TRUE(mount.gone());
  }
}

TEST_F(SearchTest, ExternalFilesThatWereNamedAreListed) {
  write(R"(
os.mkdir('sub')
for name in ('a.h5', 'sub/b.h5', 'c.h5'):
    f = h5py.File(name, 'w'); f['k'] = np.uint8(1); f.close()
f = h5py.File('m.h5', 'w')
f['a'] = h5py.ExternalLink('a.h5', '/k'); f['b'] = h5py.ExternalLink('sub/b.h5', '/k')
f['gone'] = h5py.ExternalLink('gone.h5', '/k'); f.close())");
  ASSERT_TRUE(mounts("m.h5"));
  EXPECT_EQ(mount.in("ls .h5/external").out, "");
  EXPECT_EQ(mount.in("readlink a b gone >/dev/null; cat gone; ls .h5/external").out, "a.h5\nsub%2Fb.h5\n");
  EXPECT_EQ(mount.in("cat .h5/external/c.h5/k >/dev/null; ls .h5/external").out, "a.h5\nc.h5\nsub%2Fb.h5\n");
}

}  // namespace
}  // namespace h5mount::test
