// --cat, --list and --stat, as shells and scripts use them.
#include "front_test.h"
#include "support/h5py_file.h"

namespace h5mount::test {
namespace {

constexpr const char* kSmallFile = R"(
f['group/numbers'] = np.arange(1000, dtype='<i4')
f['group/packed'] = np.zeros((100, 100), '<u2')
del f['group/packed']
f.create_dataset('group/packed', data=np.arange(10000, dtype='<u2').reshape(100, 100), chunks=(16, 32),
                 compression='gzip', shuffle=True)
f['group/numbers'].attrs['units'] = 'K'
f['words'] = ['one', 'two']
f['again'] = f['group/numbers']
f['link'] = h5py.SoftLink('/group/numbers')
f['to_group'] = h5py.SoftLink('group')
f['loop'] = h5py.SoftLink('/loop')
f['lost'] = h5py.SoftLink('/nothing')
f.attrs['title'] = 'a "small" file'
)";

class CatListStat : public FrontTest {
 protected:
  void SetUp() override {
    FrontTest::SetUp();
    const std::vector<std::byte> file = written_with_h5py(kSmallFile, "earliest");
    std::ofstream(place / "f.h5", std::ios::binary)
        .write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  }
};

TEST_F(CatListStat, CatGivesTheBytesOfH5py) {
  const Outcome out = python(R"(
def cat(*paths):
    return subprocess.check_output([os.environ['H5MOUNT'], '--cat', 'f.h5', *paths])

with h5py.File('f.h5') as f:
    numbers, packed = f['group/numbers'][:].tobytes(), f['group/packed'][:].tobytes()
assert cat('group/numbers') == numbers and cat('/group/packed') == packed
assert cat('group/packed', 'again', 'words') == packed + numbers + b'one\ntwo\n'
assert cat('link', 'to_group/numbers', './group/../group//numbers', '../again') == numbers * 4
assert cat('/.h5/slice/group/numbers/10:20') == numbers[40:80]
assert cat('/.h5/attributes/@title') == b'a "small" file'
)");
  EXPECT_EQ(out.code, 0) << out.err;
}

TEST_F(CatListStat, WhatCannotBeReadIsNamedAndTheRestIsThere) {
  const Outcome out = in("$H5MOUNT --cat f.h5 nothing group lost loop words/x words; echo $?");
  EXPECT_EQ(out.out, "one\ntwo\n1\n");
  EXPECT_EQ(lines_in(out.err), 5);
  for (const char* words : {"no such file or directory: /nothing", "/group: is a directory",
                            "/loop: too many symlinks", "/words is not a directory"})
    EXPECT_NE(out.err.find(words), std::string::npos) << out.err;
}

TEST_F(CatListStat, APathThatIsNotThereIsToldTheNextOneThatIs) {
  const Outcome out = in("$H5MOUNT --cat f.h5 group/numbres /.h5/npi/x to_group/zzz again/; echo $?");
  EXPECT_EQ(out.out, "1\n");
  for (const char* words : {"did you mean /group/numbers?", "did you mean /.h5/npy?",
                            "f.h5 /to_group tells the names that there are"})
    EXPECT_NE(out.err.find(words), std::string::npos) << out.err;
}

TEST_F(CatListStat, ListGivesNamesPathsOrDetails) {
  EXPECT_EQ(in("$H5MOUNT --list f.h5 group").out, "numbers\npacked\n");
  EXPECT_EQ(in("$H5MOUNT --list f.h5 to_group").out, "numbers\npacked\n");
  EXPECT_EQ(in("$H5MOUNT --list f.h5 group/packed").out, "packed\n");
  EXPECT_EQ(in("$H5MOUNT --list -R f.h5 group").out, "/group\n/group/numbers\n/group/packed\n");
  EXPECT_EQ(in("$H5MOUNT --list f.h5").out, "again\ngroup\nlink\nloop\nlost\nto_group\nwords\n");
  EXPECT_EQ(in("$H5MOUNT --list -R f.h5 | wc -l").out, "10\n");
  const std::string details = in("$H5MOUNT --list -lR f.h5").out;
  EXPECT_EQ(details, in("$H5MOUNT --cat f.h5 /.h5/list.txt").out);
  for (const char* words :
       {"/group/packed            Dataset {100, 100} <u2, chunked {16, 32}, shuffle, deflate\n",
        "/group/numbers           Dataset {1000} <i4\n    @units = K\n",
        "/link                    Link -> group/numbers\n",
        "/                        Group\n    @title = a \"small\" file\n"})
    EXPECT_NE(details.find(words), std::string::npos) << details;
  EXPECT_EQ(in("$H5MOUNT --list -l f.h5 words").out, "words                    Dataset {2} utf8\n");
  EXPECT_EQ(in("$H5MOUNT --list f.h5 /.h5/npy/group").out, "numbers.npy\npacked.npy\n");
}

TEST_F(CatListStat, StatIsAJsonLineWithEveryAttribute) {
  const Outcome out = python(R"(
said = subprocess.check_output(
    [os.environ['H5MOUNT'], '--stat', 'f.h5', '/', 'again', 'link', 'group/packed'])
root, again, link, packed = map(json.loads, said.splitlines())
assert root['path'] == '/' and root['type'] == 'directory'
assert root['xattrs']['user.title'] == 'a "small" file'
assert again['links'] == 2 and again['size'] == 4000 and again['xattrs']['user.units'] == 'K'
assert link['type'] == 'symlink' and link['target'] == 'group/numbers'
assert packed['mode'] == '0444' and packed['xattrs']['user.hdf5.shape'] == '[100,100]'
)");
  EXPECT_EQ(out.code, 0) << out.err;
}

TEST_F(CatListStat, NamesOfEveryKindAreTakenAsTheyAre) {
  const Outcome out = in(R"(/usr/bin/python3 - <<'END'
import h5py, os, subprocess
names = ['[a,b]', '{}', '-R', '--', 'a b', 'ä', '"', '*', '=x', '%%']
with h5py.File('n.h5', 'w') as f:
    for number, name in enumerate(names): f[name] = 'text %d' % number
for number, name in enumerate(names):
    for words in ([name] if name[0] != '-' else []), ['--', name], ['/' + name]:
        if not words: continue
        said = subprocess.check_output([os.environ['H5MOUNT'], '--cat', 'n.h5', *words])
        assert said == b'text %d\n' % number, (words, said)
END)");
  EXPECT_EQ(out.code, 0) << out.err;
}

TEST_F(CatListStat, AListWithAnErrorIsAFailure) {
  write(R"(
f['good'] = 1; f['bad'] = 2
place = h5py.h5o.get_info(f['bad'].id).addr
f.flush()
with open('f.h5', 'r+b') as raw:
    raw.seek(place)
    raw.write(b'\x63')
)");
  const Outcome out = in("$H5MOUNT --list -l f.h5; echo $?");
  EXPECT_NE(out.out.find("bad "), std::string::npos) << out.out;
  EXPECT_NE(out.out.find("error: "), std::string::npos) << out.out;
  EXPECT_NE(out.out.find("\n1\n"), std::string::npos) << out.out;
  EXPECT_NE(out.err.find("/bad: "), std::string::npos) << out.err;
}

TEST_F(CatListStat, ASecondFileIsNoPath) {
  in("cp f.h5 g.h5");
  const Outcome out = in("$H5MOUNT --list f.h5 g.h5; echo $?");
  EXPECT_EQ(out.out, "1\n");
  EXPECT_EQ(lines_in(out.err), 1) << out.err;
  EXPECT_NE(out.err.find("give it to a command of its own"), std::string::npos) << out.err;
}

// The root's header lies in what is missing.
TEST_F(CatListStat, ACutFileSaysFirstThatItIsIncomplete) {
  const Outcome out = python(R"(
f = h5py.File('cut.h5', 'w', libver='earliest'); f['d'] = np.arange(2000); f.close()
b = bytearray(open('cut.h5', 'rb').read())
b[64:72] = (len(b) - 200).to_bytes(8, 'little')
open('cut.h5', 'wb').write(b[:-400])
print('{:,} of {:,} bytes: an incomplete copy?'.format(len(b) - 400, len(b)))
)");
  const Outcome listed = in("$H5MOUNT --list cut.h5; echo $?");
  EXPECT_EQ(listed.out, "2\n");
  const std::size_t said = listed.err.find(out.out.substr(0, out.out.size() - 1) + " ObjectHeader");
  EXPECT_NE(said, std::string::npos) << listed.err << out.out;
  EXPECT_EQ(lines_in(listed.err), 1) << listed.err;
}

TEST_F(CatListStat, AFullDiskAndABrokenPipeAreTold) {
  const Outcome full = in("$H5MOUNT --cat f.h5 words >/dev/full; echo $?");
  EXPECT_EQ(full.out, "1\n");
  EXPECT_EQ(lines_in(full.err), 1);
  EXPECT_NE(full.err.find("No space left on device"), std::string::npos) << full.err;
  write("f.create_dataset('large', (1 << 26,), 'u1', fillvalue=1, chunks=(1 << 20,))");
  // Ended by the signal, in silence, as head has what it wants.
  const Outcome pipe = in("bash -c '$H5MOUNT --cat f.h5 large | head -c 3 | wc -c; echo ${PIPESTATUS[0]}'");
  EXPECT_EQ(pipe.out, "3\n141\n");
  EXPECT_EQ(pipe.err, "");
  // Where the signal is ignored, as under some build servers, one line.
  const Outcome ignored =
      in("bash -c 'trap \"\" PIPE; "
         "$H5MOUNT --cat f.h5 large | head -c 3 | wc -c; echo ${PIPESTATUS[0]}'");
  EXPECT_EQ(ignored.out, "3\n1\n");
  EXPECT_NE(ignored.err.find("Broken pipe"), std::string::npos) << ignored.err;
  EXPECT_EQ(lines_in(ignored.err), 1) << ignored.err;
}

TEST_F(CatListStat, AClosedOutputIsAnError) {
  const Outcome closed = in("$H5MOUNT --cat f.h5 words >&-; echo $? >code; cat code");
  EXPECT_EQ(closed.out, "1\n");
  EXPECT_NE(closed.err.find("standard output: Bad file descriptor"), std::string::npos) << closed.err;
}

TEST_F(CatListStat, AnInterruptEndsEachWithinASecond) {
  write(
      "f.create_dataset('large', (1 << 40,), 'u1', fillvalue=1, chunks=(1 << 20,))\n"
      "for i in range(20000): f['many/%d' % i] = i");
  const Outcome out = python(R"(
for words in ['--cat', 'f.h5', 'large'], ['--tar', 'f.h5', 'large'], ['--list', '-lR', 'f.h5'] + ['/'] * 100:
    command = subprocess.Popen([os.environ['H5MOUNT'], *words], stdout=subprocess.DEVNULL)
    time.sleep(0.3)
    assert command.poll() is None, words
    command.send_signal(2)
    start = time.time()
    assert command.wait() == -2 and time.time() - start < 2, words
)");
  EXPECT_EQ(out.code, 0) << out.err;
}

TEST_F(CatListStat, SourcesThatAreNoneAreRefusedAsByAMount) {
  EXPECT_EQ(in("$H5MOUNT --cat missing.h5 x").code, 1);
  EXPECT_EQ(in("echo nothing >text.h5; $H5MOUNT --list text.h5").code, 2);
  EXPECT_EQ(in("$H5MOUNT --cat f.h5").code, 1);
  EXPECT_EQ(in("$H5MOUNT --list -x f.h5").code, 1);
}

TEST_F(CatListStat, AnOrdinaryUserWithoutFuse) {
  H5MOUNT_NEEDS_ROOT();
  H5MOUNT_NEEDS_NAMESPACES();
  in("chmod 755 .. . && chmod 644 f.h5 && cp $H5MOUNT . && mkdir -p dev");
  const Outcome out =
      in("unshare --mount sh -c 'mount --bind dev /dev && setpriv --reuid=65534 --regid=65534 --clear-groups "
         "./h5mount --cat f.h5 words'");
  EXPECT_EQ(out.out, "one\ntwo\n") << out.err;
  const Outcome mount = in(
      "mkdir -p m && chown 65534 m && unshare --mount sh -c 'mount --bind dev /dev && setpriv --reuid=65534 "
      "--regid=65534 --clear-groups ./h5mount f.h5 m'");
  EXPECT_NE(mount.code, 0);
  EXPECT_NE(mount.err.find("--list, --cat, --stat, --tar, --copy or --serve"), std::string::npos)
      << mount.err;
}

// The same contents, written in another order and layout, are the same text; a changed value is not.
TEST_F(CatListStat, TextComparesFilesByTheirContents) {
  const Outcome out = python(R"(
def text(name):
    return subprocess.check_output([os.environ['H5MOUNT'], '--text', name], text=True)

def make(name, changed=0, waste=False):
    with h5py.File(name, 'w') as f:
        if waste:
            f['waste'] = np.zeros(1000)
            del f['waste']
        d = f.create_dataset('a/t', data=np.arange(100, dtype='<i4'))
        d.attrs['units'] = 'K\n'
        d[7] = 7 + changed
        f['link'] = h5py.SoftLink('/a/t')

make('one.h5'), make('two.h5', waste=True), make('three.h5', changed=1)
one = text('one.h5')
assert one == text('two.h5')
assert one != text('three.h5')
import hashlib
digest = hashlib.sha256(np.arange(100, dtype='<i4').tobytes()).hexdigest()
for part in ('"/a/t" dataset\n', '  dtype <i4\n', '  @units "K\\n"\n', '  sha256 ' + digest,
             '  | 0', '"/link" link -> "a/t"'):
    assert part in one, (part, one)
)");
  EXPECT_EQ(out.code, 0) << out.err;
}

}  // namespace
}  // namespace h5mount::test
