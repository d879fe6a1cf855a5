// What a mount of many files shows.
#include "many_files.h"

namespace h5mount::test {
namespace {

TEST_F(ManyFilesTest, EachFileIsADirectoryUnderItsWholeName) {
  mounted();
  const Outcome seen = script(R"(
print(sorted(os.listdir(mnt)), sorted(os.listdir(mnt + 'sub')), os.listdir(mnt + 'sub/deep'))
for name, value in (('a.h5', 1), ('sub/b.nc', 2), ('sub/deep/C.HDF5', 3)):
    assert sorted(os.listdir(mnt + name)) == ['d', 'g'], name
    assert read(name + '/d') == bytes([value]) * 1000 and read(name + '/g/t') == b'x\ny\n', name
    assert os.getxattr(mnt + name, 'user.name').decode() == src + name
    assert np.load(mnt + name + '/.h5/npy/d.npy').sum() == 1000 * value
    s, t = os.stat(src + name), os.stat(mnt + name)
    assert (t.st_uid, t.st_gid, int(t.st_mtime)) == (s.st_uid, s.st_gid, int(s.st_mtime))
    assert (t.st_nlink, t.st_size) == (1, 0)
    assert stat.S_ISDIR(t.st_mode) and stat.S_IMODE(t.st_mode) == 0o555, oct(t.st_mode)
print(sorted(os.listdir(mnt + '.h5')), '.h5' in os.listdir(mnt))
print(error(os.stat, mnt + 'note.txt'), error(os.stat, mnt + 'pipe.h5'), error(os.stat, mnt + 'none.h5'))
)");
  EXPECT_EQ(seen.out,
            "['a.h5', 'bad.h5', 'sub'] ['b.nc', 'deep'] ['C.HDF5']\n"
            "['README', 'catalogue.parquet', 'log', 'metadata.jsonl', 'status'] False\n"
            "No such file or directory No such file or directory No such file or directory\n")
      << seen.err;
  EXPECT_NE(run("findmnt -no SOURCE " + mount.path()).out.find(source.string()), std::string::npos);
  EXPECT_NE(run("df --output=source " + mount.path()).out.find(source.string()), std::string::npos);
}

TEST_F(ManyFilesTest, NothingIsOpenedToListAndToStat) {
  mounted();
  EXPECT_EQ(mount.in("ls -l . sub sub/deep >/dev/null").code, 0);
  const Outcome seen = script("print(status()['files_in_memory'], status()['open_files'])");
  EXPECT_EQ(seen.out, "0 0\n") << seen.err;
}

TEST_F(ManyFilesTest, InodeNumbersAreDistinctAndTheSameInTheNextMount) {
  ASSERT_EQ(run("ln " + (source / "a.h5").string() + " " + (source / "sub/second.h5").string()).code, 0);
  const std::string numbers = "find . -printf '%i %P\\n' | sort -k2";
  mounted();
  const std::string first = mount.in(numbers).out;
  ASSERT_EQ(run("umount " + mount.path()).code, 0);
  ASSERT_TRUE(mount.gone());
  mounted();
  EXPECT_EQ(mount.in(numbers).out, first);
  EXPECT_EQ(mount.in("find . -printf '%i\\n' | sort | uniq -d | wc -l").out,
            "4\n");  // those of the file that has two names
  EXPECT_EQ(mount.in("stat -c %i a.h5 sub/second.h5 | uniq | wc -l").out, "1\n");
}

TEST_F(ManyFilesTest, OtherFilesAreShownAsTheyAreOrNotAtAll) {
  mounted("-o passthrough,match='*.dat'");
  const Outcome seen = script(R"(
print(sorted(os.listdir(mnt)), read('note.txt'), read('plain.dat/d') == b'\4' * 1000)
assert open(mnt + 'a.h5', 'rb').read() == open(src + 'a.h5', 'rb').read()
print(error(open, mnt + 'note.txt', 'w'), error(os.unlink, mnt + 'note.txt'))
)");
  EXPECT_EQ(seen.out,
            "['a.h5', 'bad.h5', 'note.txt', 'plain.dat', 'sub'] b'hello' True\n"
            "Read-only file system Read-only file system\n")
      << seen.err;
}

TEST_F(ManyFilesTest, SymlinksLeadToPlacesInTheMountAndNowhereElse) {
  write(R"(
make = lambda name: h5py.File(name, 'w').close()
make('outside.h5')
os.chdir('src')
os.symlink('sub/b.nc', 'near.h5'); os.symlink('../a.h5', 'sub/up.h5'); os.symlink('..', 'sub/parent')
os.symlink(os.path.abspath('sub/deep'), 'absolute')
os.symlink('near.h5', 'second.h5'); os.symlink('.', 'self')
os.symlink('../outside.h5', 'out.h5'); os.symlink('/etc/passwd', 'passwd.h5'); os.symlink('none', 'none.h5')
os.symlink('two', 'one'); os.symlink('one', 'two'); os.symlink('note.txt', 'note.h5')
os.symlink('sub/../../outside.h5', 'around.h5')
)");
  mounted();
  const Outcome seen = script(R"(
for name in sorted(os.listdir(mnt)) + ['sub/up.h5', 'sub/parent']:
    st = os.lstat(mnt + name)
    if stat.S_ISLNK(st.st_mode): print(name, '->', os.readlink(mnt + name))
    elif stat.S_ISREG(st.st_mode):
        print(name, oct(st.st_mode & 0o777), error(open, mnt + name),
              os.getxattr(mnt + name, 'user.hdf5.error') != b'')
assert read('second.h5/d') == b'\2' * 1000 and read('self/sub/parent/sub/up.h5/d') == b'\1' * 1000
print(subprocess.run(['find', mnt, '-name', 'd'], capture_output=True, text=True).stdout.count('\n'))
print(subprocess.run(['cp', '-r', mnt + 'sub', 'copy'], capture_output=True, text=True).stderr)
)");
  EXPECT_EQ(seen.out, R"(absolute -> sub/deep
around.h5 0o0 Permission denied True
near.h5 -> sub/b.nc
none.h5 0o0 No such file or directory True
one 0o0 Too many levels of symbolic links True
out.h5 0o0 Permission denied True
passwd.h5 0o0 Permission denied True
second.h5 -> sub/b.nc
self -> .
two 0o0 Too many levels of symbolic links True
sub/up.h5 -> ../a.h5
sub/parent -> ..
3

)") << seen.err;
}

TEST_F(ManyFilesTest, LinksBetweenFilesLeadIntoTheirTrees) {
  write(R"(
with h5py.File('src/sub/links.h5', 'w') as f:
    f['near'] = h5py.ExternalLink('b.nc', '/d')
    f.create_group('g')['above'] = h5py.ExternalLink('../a.h5', '/g')
    f['out'] = h5py.ExternalLink('../../outside.h5', '/d')
    f['absolute'] = h5py.ExternalLink(os.path.abspath('src/sub/deep/C.HDF5'), '/')
    layout = h5py.VirtualLayout((2, 1000), 'u1')
    for i, name in enumerate(('b.nc', 'deep/C.HDF5')): layout[i] = h5py.VirtualSource(name, 'd', (1000,))
    f.create_virtual_dataset('v', layout)
)");
  mounted();
  const Outcome seen = script(R"(
for name in ('near', 'g/above', 'absolute', 'out'):
    print(name, '->', os.readlink(mnt + 'sub/links.h5/' + name))
assert read('sub/links.h5/near') == b'\2' * 1000 and read('sub/links.h5/g/above/t') == b'x\ny\n'
assert read('sub/links.h5/absolute/d') == b'\3' * 1000
assert read('sub/links.h5/v') == b'\2' * 1000 + b'\3' * 1000
print(error(open, mnt + 'sub/links.h5/out'))
)");
  EXPECT_EQ(seen.out, R"(near -> ../b.nc/d
g/above -> ../../../a.h5/g
absolute -> ../deep/C.HDF5
out -> .h5/external/..%2F..%2Foutside.h5/d
Permission denied
)") << seen.err;
}

TEST_F(ManyFilesTest, SeveralSourcesStandSideBySide) {
  write(
      "os.makedirs('other'); h5py.File('other/a.h5', 'w')['x'] = [1]\n"
      "open('list', 'w').write('# sources\\n\\nsrc/a.h5\\nother/a.h5\\nsrc/sub\\nsrc/bad.h5\\n')");
  const auto both = "cd " + place.string() + " && $H5MOUNT ";
  for (const char* sources : {"src/a.h5 other/a.h5 src/sub src/bad.h5 ", "@list ", "@- <list "}) {
    ASSERT_EQ(run(both + sources + mount.path()).code, 0) << sources;
    const Outcome seen = script(R"(
print(sorted(os.listdir(mnt)), *(os.listdir(mnt + n) for n in ('a.h5', 'a.h5 (2)', 'bad.h5')))
assert read('sub/b.nc/d') == b'\2' * 1000 and read('a.h5/d') == b'\1' * 1000
)");
    EXPECT_EQ(seen.out, "['a.h5', 'a.h5 (2)', 'bad.h5', 'sub'] ['d', 'g'] ['x'] []\n") << seen.err;
    EXPECT_NE(run("findmnt -no SOURCE " + mount.path()).out.find("a.h5 and 3 more"), std::string::npos);
    ASSERT_EQ(run("umount " + mount.path()).code, 0);
    ASSERT_TRUE(mount.gone());
  }
  const Outcome missing = run(both + "src/a.h5 none.h5 " + mount.path());
  EXPECT_EQ(missing.code, 1);
  EXPECT_NE(missing.err.find("none.h5"), std::string::npos) << missing.err;
  EXPECT_FALSE(mount.mounted());
}

TEST_F(ManyFilesTest, NoMoreFilesAreOpenThanMaxOpen) {
  write(R"(
os.mkdir('src/n')
for i in range(400):
    with h5py.File('src/n/%03d.h5' % i, 'w') as f: f['d'] = np.full(100, i % 251, 'u1')
)");
  for (const std::string most : {"16", "2", "1"}) {
    mounted("-o max_open=" + most);
    const Outcome seen = script("allowed = " + most + R"(
import concurrent.futures, glob, threading
def is_mount(p):
    try:
        words = open('/proc/%s/cmdline' % p).read()
        return mnt.rstrip('/') in words and 'h5mount' in os.readlink('/proc/%s/exe' % p)
    except OSError: return False  # it has ended
pid = [p for p in os.listdir('/proc') if p.isdigit() and is_mount(p)][0]
most = 0; ended = False
def scan():  # one that is being opened has two descriptors for a moment
    out = set()
    for fd in glob.glob('/proc/%s/fd/*' % pid):
        try: out.add((fd, os.readlink(fd)))
        except OSError: pass
    return out
# What two scans have found in a row was open in the moment between them, all at once.
def look(before):
    global most
    now = scan()
    most = max(most, len({name for _, name in before & now if name.endswith('.h5')}))
    return now
def watch():
    seen = scan()
    while not ended: seen = look(seen); time.sleep(.001)
watching = threading.Thread(target=watch); watching.start()
def is_wrong(i): return read('n/%03d.h5/d' % i) != bytes([i % 251]) * 100
with concurrent.futures.ThreadPoolExecutor(4) as readers: wrong = sum(readers.map(is_wrong, range(400)))
until(lambda: int(status()['files_in_memory']) <= 64, 'files are dropped')
held = [open(mnt + 'n/%03d.h5/d' % i, 'rb', buffering=0) for i in range(100)]
wrong += sum(f.read() != bytes([i % 251]) * 100 for i, f in enumerate(held))
ended = True; watching.join(); look(scan())
print(wrong, most <= allowed or most, most > allowed / 2)
)");
    EXPECT_EQ(seen.out, "0 True True\n") << most << seen.err;
    ASSERT_EQ(run("umount " + mount.path()).code, 0);
    ASSERT_TRUE(mount.gone());
  }
}

TEST_F(ManyFilesTest, OthersReadWhatTheSourceLetsThem) {
  H5MOUNT_NEEDS_ROOT();
  write(R"(
os.mkdir('src/private'); make = lambda name: h5py.File(name, 'w').create_dataset('d', data=b'secret')
make('src/private/p.h5'); make('src/own.h5'); os.symlink('private/p.h5', 'src/link.h5')
with h5py.File('src/links.h5', 'w') as f:
    f['p'] = h5py.ExternalLink('private/p.h5', '/d'); f['o'] = h5py.ExternalLink('own.h5', '/d')
os.chmod('src/private', 0o700); os.chmod('src/own.h5', 0o600)
)");
  mounted("-o allow_other");
  const Outcome seen = as_nobody(
      "ls -ld private own.h5 | cut -c1-10; for f in private/p.h5 own.h5/d link.h5/d links.h5/p links.h5/o; "
      "do "
      "cat $f/ 2>&1; cat $f; done; ls own.h5; cat a.h5/g/t");
  EXPECT_EQ(seen.out.find("secret"), std::string::npos) << seen.out;
  EXPECT_NE(seen.out.find("dr-x------\ndr-x------\n"), std::string::npos) << seen.out;
  EXPECT_TRUE(seen.out.ends_with("x\ny\n")) << seen.out;
}

TEST_F(ManyFilesTest, AMountInItsOwnSourceIsNotShown) {
  ASSERT_EQ(run("mkdir " + (source / "inside").string()).code, 0);
  ASSERT_EQ(run("$H5MOUNT " + source.string() + " " + (source / "inside").string()).code, 0);
  const Outcome seen =
      run("cd " + (source / "inside").string() + " && ls && find . | wc -l && ls inside", 20);
  EXPECT_EQ(seen.out, "a.h5\nbad.h5\nsub\n16\n") << seen.err;
  EXPECT_EQ(run("umount " + (source / "inside").string()).code, 0);
  const Outcome over = run("$H5MOUNT " + source.string() + " " + source.string());
  EXPECT_EQ(over.code, 32);
  EXPECT_NE(over.err.find("hidden"), std::string::npos) << over.err;
}

TEST_F(ManyFilesTest, CommandsWithoutAMountShowTheSameTree) {
  mounted();
  const std::string from = " " + source.string() + " ";
  EXPECT_EQ(run("$H5MOUNT --list -R" + from + "| sort").out, mount.in("find . -printf '/%P\\n' | sort").out);
  EXPECT_EQ(run("$H5MOUNT --cat" + from + "a.h5/d sub/b.nc/g/t | sha256sum").out,
            mount.in("cat a.h5/d sub/b.nc/g/t | sha256sum").out);
  EXPECT_NE(run("$H5MOUNT --stat" + from + "bad.h5").out.find("not an HDF5 file"), std::string::npos);
  const std::string out = (place / "out").string();
  ASSERT_EQ(run("mkdir " + out + " && $H5MOUNT --tar" + from + "| tar -x -C " + out).code, 0);
  EXPECT_EQ(run("diff -r " + mount.path() + " " + out).code, 0);
  ASSERT_EQ(run("$H5MOUNT --copy" + from + "/ " + out + "2").code, 0);
  EXPECT_EQ(run("diff -r " + mount.path() + " " + out + "2").code, 0);
  EXPECT_EQ(run("cd " + place.string() + " && echo src | $H5MOUNT --list @-").out, "a.h5\nbad.h5\nsub\n");
}

TEST_F(ManyFilesTest, FsckVerifiesAllAndSumsUp) {
  const std::string fsck = std::string(H5MOUNT_FSCK) + " ";
  const Outcome damaged = run(fsck + source.string());
  EXPECT_EQ(damaged.code, 4) << damaged.out;
  EXPECT_NE(damaged.out.find("src/bad.h5: "), std::string::npos);
  const std::string last = damaged.out.substr(damaged.out.rfind('\n', damaged.out.size() - 2) + 1);
  EXPECT_TRUE(last.starts_with(source.string() + ": 4 files, 12 objects, 3 attributes")) << last;
  EXPECT_NE(last.find("; 1 damaged"), std::string::npos) << last;
  std::filesystem::remove(source / "bad.h5");
  EXPECT_EQ(run(fsck + "-q " + source.string()).code, 0);
  mounted();
  const Outcome sums =
      run(fsck + "-q --checksum=sha256 " + source.string() + " > " + (place / "sums").string());
  EXPECT_EQ(sums.code, 0) << sums.err;
  EXPECT_EQ(mount.in("sha256sum --quiet --check " + (place / "sums").string()).code, 0);
  EXPECT_EQ(lines_in(slurp(place / "sums")), 6);
}

}  // namespace
}  // namespace h5mount::test
