// Directories of HDF5 files, mounted as one tree.
#pragma once

#include "h5py_directory.h"

namespace h5mount::test {

class ManyFilesTest : public H5pyDirectoryTest {
 protected:
  void SetUp() override {
    H5pyDirectoryTest::SetUp();
    if (::testing::Test::IsSkipped()) return;
    source = place / "src";
    write(R"(
os.makedirs('src/sub/deep')
def make(name, value, n=1000):
    with h5py.File(name, 'w') as f:
        f['d'] = np.full(n, value, 'u1'); f.attrs['name'] = name; f.create_group('g')['t'] = ['x', 'y']
make('src/a.h5', 1); make('src/sub/b.nc', 2); make('src/sub/deep/C.HDF5', 3); make('src/plain.dat', 4)
open('src/note.txt', 'w').write('hello'); open('src/bad.h5', 'w').write('no HDF5'); os.mkfifo('src/pipe.h5')
)");
  }
  void mounted(const std::string& options = {}) { ASSERT_TRUE(mounts("src", options)) << said; }
  // Python statements: `src` and `mnt` are the directories, `read` gives a file's bytes, `until` waits for a
  // condition and prints what took longer than a second and a half.
  Outcome script(const std::string& statements, int seconds = 120) const {
    return run("cd " + place.string() + " && M=" + mount.path() + " exec /usr/bin/python3 - <<'END'\n" + R"(
import h5py, numpy as np, os, stat, subprocess, sys, time
src, mnt = 'src/', os.environ['M'] + '/'
def make(name, value, n=1000):
    with h5py.File(name, 'w') as f: f['d'] = np.full(n, value, 'u1')
def read(name):
    with open(mnt + name, 'rb') as f: return f.read()
def status(): return dict(l.rstrip().split(': ', 1) for l in open(mnt + '.h5/status'))
def error(what, *arguments):
    try: what(*arguments)
    except OSError as e: return os.strerror(e.errno)
    return 'none'
def until(condition, what):
    begin = time.time(); said = None
    while time.time() - begin < 10:
        try:
            if condition(): break
        except OSError as e: said = e
        time.sleep(.02)
    else: print(what, 'never', said); return
    if time.time() - begin > 1.5: print(what, 'late', round(time.time() - begin, 2))
)" + statements + "\nEND",
               seconds);
  }

  std::filesystem::path source;
};

}  // namespace h5mount::test
