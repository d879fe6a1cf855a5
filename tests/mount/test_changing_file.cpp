// Files that are written or replaced while they are mounted: no read mixes two states, and with -o reload the
// new file is taken up.
#include <algorithm>
#include <thread>

#include "command.h"

namespace h5mount::test {
namespace {

class ChangingFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    H5MOUNT_NEEDS_FUSE();
    std::filesystem::remove_all(place);
    std::filesystem::create_directory(place);
  }
  // Python statements in the directory of the test's files.
  Outcome script(const std::string& text, int seconds = 60) {
    std::ofstream(place / "script.py") << R"(
import h5py, numpy as np, os, sys, time, mmap, subprocess, shutil, threading
N = 300000
def make(name, value, names=('d', 'e'), **how):
    with h5py.File(name, 'w') as f:
        for n in names: f.create_dataset(n, data=np.full(N, value, 'u1'), **how)
def write_over(name, other, put_back=False):
    st = os.stat(name); new = open(other, 'rb').read()
    with open(name, 'r+b') as f: f.write(new)
    if put_back: os.utime(name, ns=(st.st_atime_ns, st.st_mtime_ns))
def direct(path, offset=0, length=N):
    try: fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    except OSError as e: return e
    try: return os.pread(fd, length, offset)
    except OSError as e: return e
    finally: os.close(fd)
)" << text;
    return run("cd " + place.string() + " && M=" + mount.path() + " exec " + python() + "script.py", seconds);
  }
  void made(const std::string& text) {
    const Outcome outcome = script(text);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }
  void mounted(const std::string& name, const std::string& options = {}) {
    const Outcome outcome = mount.mount(place / name, options);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }
  // What the commands in the mount give, once they give it; else what they give after ten seconds.
  std::string once(const std::string& command, const std::string& wanted) {
    for (int i = 0; i < 100; ++i) {
      const std::string out = mount.in(command).out;
      if (out == wanted) return out;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return mount.in(command).out;
  }
  static constexpr const char* kByte = "od -An -tu1 -v d | tr -s ' \\n' '\\n' | sort -u | tr -d '\\n'";

  std::filesystem::path place = scratch() / "changing";
  MountPoint mount;
};

// ---- no mixed bytes

TEST_F(ChangingFileTest, WrittenWithItsTimePutBack) {
  for (const char* how : {"", ", chunks=(30000,)", ", chunks=(30000,), compression='gzip'"}) {
    MountPoint fresh;
    made("make('f.h5', 7" + std::string(how) + "); make('other.h5', 9" + how + ")");
    ASSERT_EQ(fresh.mount(place / "f.h5").code, 0);
    const Outcome seen = script("M = '" + fresh.path() + R"('
assert direct(M + '/d', 0, 4096) == bytes([7]) * 4096
time.sleep(.05)
write_over('f.h5', 'other.h5', put_back=True)
for n in ('d', 'e'):
    for got in (direct(M + '/' + n), subprocess.run(['cat', M + '/' + n], capture_output=True)):
        if isinstance(got, OSError): print('error'); continue
        bytes_ = got if isinstance(got, bytes) else got.stdout
        if not isinstance(got, bytes) and got.returncode != 0: print('error'); continue
        print(sorted(set(bytes_)))
)");
    EXPECT_EQ(seen.out, "error\nerror\nerror\nerror\n") << how << seen.err;
  }
}

TEST_F(ChangingFileTest, WhatLeavesTheBytesAloneDoesNotMatter) {
  made("make('f.h5', 7, chunks=(30000,))");
  mounted("f.h5");
  const Outcome seen = script(R"(
M = os.environ['M']
def check(what): time.sleep(.03); print(what, direct(M + '/d') == bytes([7]) * N)
check('at first')
os.chmod('f.h5', 0o640); check('chmod')
os.link('f.h5', 'second.h5'); check('link')
os.unlink('second.h5'); check('unlink')
os.rename('f.h5', 'g.h5'); check('rename')
os.rename('g.h5', 'f.h5'); check('back')
try: os.setxattr('f.h5', 'user.x', b'1')
except OSError: pass
check('setxattr')
)");
  EXPECT_EQ(seen.out,
            "at first True\nchmod True\nlink True\nunlink True\nrename True\nback True\nsetxattr True\n")
      << seen.err;
}

// A reader that goes on while the file is written in place: all that it gets is of the file that was mounted.
TEST_F(ChangingFileTest, WrittenWhileItIsRead) {
  made("make('other.h5', 9, chunks=(30000,)); make('old.h5', 7, chunks=(30000,))");
  int errors = 0;
  for (int i = 0; i < 25; ++i) {
    MountPoint fresh;
    std::filesystem::copy_file(place / "old.h5", place / "f.h5",
                               std::filesystem::copy_options::overwrite_existing);
    ASSERT_EQ(fresh.mount(place / "f.h5").code, 0);
    const Outcome seen = script("M = '" + fresh.path() + R"('
fd = os.open(M + '/d', os.O_RDONLY | os.O_DIRECT)
writer = threading.Timer(.002, write_over, ('f.h5', 'other.h5')); writer.start()
other = 0; error = 0
for i in range(4000):
    try: got = os.pread(fd, 4096 * 15, (i % 4) * 4096 * 15)
    except OSError: error = 1; break
    other += got.count(9)
writer.join()
print(other, error)
)");
    EXPECT_TRUE(seen.out.starts_with("0 ")) << "bytes of the new state: " << seen.out << seen.err;
    errors += seen.out == "0 1\n";
  }
  EXPECT_GE(errors, 1) << "no read met the change";
}

TEST_F(ChangingFileTest, RawFilesAndVirtualSources) {
  made(R"(
open('raw', 'wb').write(bytes([7]) * N)
with h5py.File('f.h5', 'w') as f:
    f.create_dataset('raw', (N,), 'u1', external=[('raw', 0, N)])
    layout = h5py.VirtualLayout((N,), 'u1')
    layout[:] = h5py.VirtualSource('source.h5', 'd', (N,))
    f.create_virtual_dataset('virtual', layout)
make('source.h5', 7, chunks=(30000,)); make('other.h5', 9, chunks=(30000,))
)");
  mounted("f.h5");
  const Outcome seen = script(R"(
M = os.environ['M']
for n in ('raw', 'virtual'): assert direct(M + '/' + n, 0, 4096) == bytes([7]) * 4096
time.sleep(.05)
st = os.stat('raw'); open('raw', 'r+b').write(bytes([9]) * N)
os.utime('raw', ns=(st.st_atime_ns, st.st_mtime_ns))
write_over('source.h5', 'other.h5', put_back=True)
for n in ('raw', 'virtual'):
    got = direct(M + '/' + n)
    print(n, got.errno if isinstance(got, OSError) else sorted(set(got)))
)");
  EXPECT_EQ(seen.out, "raw 116\nvirtual 116\n") << seen.err;  // ESTALE
}

// ---- a writer that comes to a file that was quiet

// Views of one dataset share a reader while nobody writes it. Each has to see all that is written then.
TEST_F(ChangingFileTest, ViewsOfAQuietFileFollowItsWriter) {
  made(R"(
with h5py.File('f.h5', 'w', libver='latest') as f:
    f.create_dataset('d', (4, 2), 'u1', maxshape=(None, 2), chunks=(64, 2), data=np.full((4, 2), 65))
    f.create_dataset('z', (4, 2), 'u1', maxshape=(None, 2), chunks=(64, 1), data=np.full((4, 2), 65))
)");
  mounted("f.h5");
  const Outcome seen = script(R"(
M = os.environ['M'] + '/.h5/'
views = ['slice/d/:,0', 'slice/d/:,1', 'plain.zarr/z/0.0', 'plain.zarr/z/0.1', 'stored.zarr/z/0.0',
         'stored.zarr/z/0.1', 'v3.zarr/z/c.0.0', 'v3.zarr/z/c.0.1']
held = [open(M + v, 'rb', buffering=0) for v in views]
def read(i, again):
    if again: return open(M + views[i], 'rb').read().rstrip(b'\0')
    held[i].seek(0)
    return held[i].read().rstrip(b'\0')
def become(wanted):
    for i in range(2 * len(views)):
        for wait in range(200):
            got = read(i // 2, i % 2)
            if got == wanted: break
            time.sleep(.05)
        else: print(views[i // 2], 'has', got, 'and not', wanted)
become(b'AAAA')
f = h5py.File('f.h5', 'r+', libver='latest')
f.swmr_mode = True
def put(row, letter):
    for n in 'dz': f[n][row] = ord(letter)
    f.flush()
text = b'AAA'
for letter in 'BCDE':
    put(3, letter)
    become(text + letter.encode())
text += b'E'
for letter in 'FGHI':
    for n in 'dz': f[n].resize(len(text) + 1, 0)
    f.flush()
    become(text)
    put(len(text), letter)
    text += letter.encode()
    become(text)
f.close()
become(b'AAAEFGHI')
print('end')
)",
                              300);
  EXPECT_EQ(seen.out, "end\n") << seen.err;
}

// ---- reload

TEST_F(ChangingFileTest, AReplacedFileIsTakenUp) {
  made("make('f.h5', 7, ('d', 'old')); make('new.h5', 9, ('d', 'new'))");
  mounted("f.h5", "-o reload");
  EXPECT_EQ(mount.in(kByte).out, "7");
  EXPECT_EQ(mount.in("ls | tr '\\n' ' '; ls new 2>/dev/null").out, "d old ");
  std::filesystem::rename(place / "new.h5", place / "f.h5");
  EXPECT_EQ(once(kByte, "9"), "9");
  EXPECT_EQ(once("ls | tr '\\n' ' '; ls old 2>/dev/null", "d new "), "d new ");
  made("make('new.h5', 5, ('d',))");
  std::filesystem::rename(place / "f.h5", place / "aside.h5");  // the name is free for a moment
  EXPECT_EQ(mount.in(kByte).out, "9");
  std::filesystem::rename(place / "new.h5", place / "f.h5");
  EXPECT_EQ(once(kByte, "5"), "5");
}

TEST_F(ChangingFileTest, WhileSomethingIsOpenTheOldFileStays) {
  made("make('f.h5', 7); make('new.h5', 9)");
  mounted("f.h5", "-o reload");
  const Outcome held =
      run("cd " + place.string() + " && exec 3<" + mount.path("d") + " && mv new.h5 f.h5 && sleep 2.5 && " +
          "cat " + mount.path("e") + " | od -An -tu1 -v | tr -s ' \\n' '\\n' | sort -u | tr -d '\\n'; " +
          "cat <&3 | od -An -tu1 -v | tr -s ' \\n' '\\n' | sort -u | tr -d '\\n'");
  EXPECT_EQ(held.out, "77") << held.err;
  EXPECT_EQ(once(kByte, "9"), "9");
}

TEST_F(ChangingFileTest, AFileWrittenInPlaceIsTakenUp) {
  made("make('f.h5', 7); make('new.h5', 9)");
  mounted("f.h5", "-o reload");
  EXPECT_EQ(mount.in(kByte).out, "7");
  EXPECT_EQ(run("cat " + (place / "new.h5").string() + " >" + (place / "f.h5").string()).code, 0);
  EXPECT_EQ(once(kByte, "9"), "9");
}

TEST_F(ChangingFileTest, WhatIsNoHdf5FileIsNotTakenUp) {
  made("make('f.h5', 7); make('new.h5', 9); open('text', 'w').write('no such thing')");
  mounted("f.h5", "-o reload");
  EXPECT_EQ(mount.in(kByte).out, "7");
  std::filesystem::rename(place / "text", place / "f.h5");
  EXPECT_EQ(once("cat d >/dev/null 2>&1 || echo error", "error\n"), "error\n");
  EXPECT_TRUE(mount.mounted());
  std::filesystem::rename(place / "new.h5", place / "f.h5");
  EXPECT_EQ(once(kByte, "9"), "9");
}

TEST_F(ChangingFileTest, ASymlinkIsFollowedAnew) {
  made("os.mkdir('a'); os.mkdir('b'); make('a/f.h5', 7); make('b/f.h5', 9); os.symlink('a', 'now')");
  mounted("now/f.h5", "-o reload");
  EXPECT_EQ(mount.in(kByte).out, "7");
  made("os.symlink('b', 'next'); os.rename('next', 'now')");
  EXPECT_EQ(once(kByte, "9"), "9");
}

TEST_F(ChangingFileTest, AFileSetIsTakenUpWhole) {
  made(R"(
for value, name in ((7, 'run'), (9, 'new')):
    with h5py.File(name + '-%05d.h5', 'w', driver='family', memb_size=1 << 17) as f:
        for n in ('d', 'e'): f.create_dataset(n, data=np.full(N, value, 'u1'))
)");
  mounted("run-%05d.h5", "-o reload");
  EXPECT_EQ(mount.in(kByte).out, "7");
  const Outcome seen = script(R"(
import glob
for new in sorted(glob.glob('new-*.h5')): os.rename(new, new.replace('new', 'run'))
)");
  EXPECT_EQ(seen.code, 0) << seen.err;
  for (int i = 0; i < 100; ++i) {
    const Outcome read = mount.in(kByte);
    EXPECT_TRUE(read.out.empty() || read.out == "7" || read.out == "9") << read.out;
    if (read.out == "9") break;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_EQ(mount.in(kByte).out, "9");
}

// The file that takes the name is written in SWMR mode: it is followed as the first one was, from the moment
// it is taken up.
TEST_F(ChangingFileTest, AReplacementThatGrowsIsFollowed) {
  constexpr const char* kWriter = R"(
import h5py, numpy as np, os, sys, time
name, value = sys.argv[1], int(sys.argv[2])
with h5py.File(name, 'w', libver='latest') as f:
    d = f.create_dataset('d', (10,), 'u1', maxshape=(None,), chunks=(64,), data=np.full(10, value, 'u1'))
    f.swmr_mode = True
    open('ready%d' % value, 'w').close()
    for step in range(1, 4):
        while not os.path.exists('go%d.%d' % (value, step)) and not os.path.exists('end'): time.sleep(.01)
        d.resize((10 + 100 * step,)); d[-100:] = value; d.flush()
    while not os.path.exists('end'): time.sleep(.01)
)";
  std::ofstream(place / "writer.py") << kWriter;
  const auto start = [&](const std::string& name, const std::string& value) {
    made("subprocess.Popen([sys.executable, 'writer.py', '" + name + "', '" + value +
         "'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)\n"
         "while not os.path.exists('ready" +
         value + "'): time.sleep(.01)");
  };
  const auto advance = [&](const std::string& step) { std::ofstream(place / ("go" + step)).put('.'); };
  const std::string count = "od -An -v -tu1 d | tr -s ' ' '\\n' | sort | uniq -c | tail -1 | tr -s ' '";
  start("f.h5", "7");
  mounted("f.h5", "-o reload");
  advance("7.1");
  EXPECT_EQ(once(count, " 110 7\n"), " 110 7\n");
  start("next.h5", "9");
  std::filesystem::rename(place / "next.h5", place / "f.h5");
  EXPECT_EQ(once(count, " 10 9\n"), " 10 9\n");
  advance("7.2");  // nobody sees the old one
  for (const char* const step : {"1", "2", "3"}) {
    advance(std::string("9.") + step);
    const std::string wanted = " " + std::to_string(10 + 100 * std::stoi(step)) + " 9\n";
    EXPECT_EQ(once(count, wanted), wanted);
  }
  std::ofstream(place / "end").put('.');
}

TEST_F(ChangingFileTest, WithoutReloadAReplacedFileIsStale) {
  made("make('f.h5', 7); make('new.h5', 9)");
  mounted("f.h5");
  std::filesystem::rename(place / "new.h5", place / "f.h5");
  EXPECT_EQ(once("cat e >/dev/null 2>&1 || echo error", "error\n"), "error\n");
}

// The name is free for a while, and the kernel has all that `stat` asks for: nothing of the old file changes
// when another one gets the name.
TEST_F(ChangingFileTest, ANewFileUnderAFreedNameIsAReplacement) {
  for (const char* const name : {"f.h5", "link.h5", "run-%05d.h5"}) {
    made(R"(
for name in ('f.h5', 'run-00000.h5', 'run-00001.h5', 'link.h5'):
    if os.path.lexists(name): os.unlink(name)
make('f.h5', 7); make('new.h5', 9)
os.symlink('f.h5', 'link.h5')
with h5py.File('run-%05d.h5', 'w', driver='family', memb_size=1 << 19) as f:
    for n in ('d', 'e'): f.create_dataset(n, data=np.full(N, 7, 'u1'))
)");
    MountPoint fresh;
    // The name is relative, and the mount leaves this directory.
    ASSERT_EQ(run("cd " + place.string() + " && $H5MOUNT " + name + " " + fresh.path()).code, 0) << name;
    const Outcome seen = script("M, name = '" + fresh.path() + "', '" + name + R"('
def failed():
    try: os.stat(M + '/d')
    except OSError as e: return e.errno
taken = 'run-00001.h5' if '%' in name else 'f.h5'
assert set(open(M + '/d', 'rb').read()) == {7} and failed() is None
os.unlink(taken)
time.sleep(1.5)
print(set(open(M + '/e', 'rb').read()), failed())
shutil.copy('new.h5', taken)
for i in range(100):
    if failed(): break
    time.sleep(.1)
print(failed())
try: print(set(open(M + '/d', 'rb').read()))
except OSError as e: print(e.errno)
log = [l for l in open(M + '/.h5/log') if 'replaced' in l]
print('-o reload' in log[0])
)");
    EXPECT_EQ(seen.out, "{7} None\n116\n116\nTrue\n") << name << seen.err;  // ESTALE
  }
}

TEST_F(ChangingFileTest, ASymlinkThatLeadsElsewhereIsAReplacement) {
  made("os.mkdir('a'); os.mkdir('b'); make('a/f.h5', 7); make('b/f.h5', 9); os.symlink('a', 'now')");
  mounted("now/f.h5");
  EXPECT_EQ(mount.in(kByte).out, "7");
  made("os.symlink('b', 'next'); os.rename('next', 'now')");
  EXPECT_EQ(once("cat d >/dev/null 2>&1 || echo error", "error\n"), "error\n");
}

TEST_F(ChangingFileTest, ANewFileUnderAFreedNameIsTakenUp) {
  made("make('f.h5', 7); make('new.h5', 9)");
  mounted("f.h5", "-o reload");
  EXPECT_EQ(mount.in(kByte).out, "7");
  std::filesystem::remove(place / "f.h5");
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_EQ(mount.in(kByte).out, "7");
  std::filesystem::copy_file(place / "new.h5", place / "f.h5");
  EXPECT_EQ(once(kByte, "9"), "9");
}

// Two hundred replacements under readers: each file that is read is wholly of one of them.
TEST_F(ChangingFileTest, ReplacedOverAndOverUnderReaders) {
  made(
      "make('one.h5', 1, ('d', 'e', 'f')); make('two.h5', 2, ('d', 'e', 'f'), chunks=(30000,), "
      "compression='gzip');"
      "shutil.copy('one.h5', 'f.h5')");
  mounted("f.h5", "-o reload");
  const Outcome seen = script(R"(
M = os.environ['M']
done = threading.Event()
def replace():
    for i in range(200):
        shutil.copy(('one.h5', 'two.h5')[i % 2], 'next.h5'); os.rename('next.h5', 'f.h5'); time.sleep(.02)
    done.set()
seen, mixed, errors = set(), [], []
def note(data):
    if len(data) == N and len(set(data)) == 1: seen.add(data[0])
    else: mixed.append((len(data), sorted(set(data))))
def read():
    while not done.is_set():
        for n in ('d', 'e', 'f'):
            try: note(open(M + '/' + n, 'rb').read())
            except OSError as e: errors.append(e.errno)
            time.sleep(.002)
def command():
    while not done.is_set():
        got = subprocess.run(['find', M, '-type', 'f', '-exec', 'cat', '{}', ';'], capture_output=True)
        if got.returncode == 0 and len(got.stdout) == 3 * N:
            for i in range(3): note(got.stdout[i * N:(i + 1) * N])
        subprocess.run(['sha256sum', M + '/d', M + '/e'], capture_output=True)
threads = [threading.Thread(target=t) for t in (replace, read, command)]
for t in threads: t.start()
for t in threads: t.join()
for i in range(100):
    time.sleep(.1)
    try:
        if set(open(M + '/d', 'rb').read()) == {2}: break
    except OSError: pass
else: print('the last one is not there')
print(sorted(seen), mixed[:5], sorted(set(errors) - {116}))
)",
                              120);
  EXPECT_EQ(seen.out, "[1, 2] [] []\n") << seen.err;
}

}  // namespace
}  // namespace h5mount::test
