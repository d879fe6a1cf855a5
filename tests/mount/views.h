// Views under /.h5 of files that a test writes with h5py, held against h5py and NumPy by Python statements.
#pragma once

#include <sstream>

#include "h5py_directory.h"

namespace h5mount::test {

class ViewsTest : public H5pyDirectoryTest {
 protected:
  // Python statements create `f`; a process of its own then writes it in SWMR mode: step `n` of it runs when
  // the check's advance(n) asks for it, and the file stays open until finish().
  void write_growing(const std::string& create, const std::string& step) const {
    std::ofstream(place / "writer.py") << R"(
import h5py, numpy as np, os, time
def wait_for(name):
    for _ in range(12000):
        if os.path.exists(name) or os.path.exists('end'): return not os.path.exists('end')
        time.sleep(.01)
    return False
with h5py.File('f.h5', 'r+', libver='latest') as f:
    f.swmr_mode = True
    open('ready', 'w').close()
    n = 1
    while wait_for('go%d' % n):
)" << indented(step, 8) << R"(
        f.flush()
        open('done%d' % n, 'w').close()
        n += 1
)";
    write("with h5py.File('f.h5', 'w', libver='latest') as f:\n" + indented(create, 4) +
          "\n    f.swmr_mode = True\n" + R"(
import subprocess, time
subprocess.Popen(['/usr/bin/python3', 'writer.py'], stdout=subprocess.DEVNULL, start_new_session=True)
while not os.path.exists('ready'): time.sleep(.01)
)");
  }

  // Runs Python statements with V = the mount's .h5 and F = the file `f.h5`, which h5py opened.
  Outcome check(const std::string& statements, const std::string& file = "f.h5") const {
    std::ofstream(place / "check.py") << "import h5py, numpy as np, os, sys, time, errno\n"
                                      << "V = '" << mount.path(".h5") << "'\n"
                                      << "P = '" << (place / file).string() << "'\n"
                                      << R"(
os.environ['HDF5_USE_FILE_LOCKING'] = 'FALSE'
def read(name):
    with open(V + '/' + name, 'rb') as f: return f.read()
def error(name, offset=0, length=1):
    try:
        fd = os.open(V + '/' + name, os.O_RDONLY)
        try: os.pread(fd, length, offset); return None
        finally: os.close(fd)
    except OSError as e: return errno.errorcode[e.errno]
def until(made, what):
    for _ in range(500):
        if made(): return
        time.sleep(.02)
    assert False, what
D = os.path.dirname(P)
def advance(n):
    open(D + '/go%d' % n, 'w').close()
    until(lambda: os.path.exists(D + '/done%d' % n), 'the writer')
def finish(): open(D + '/end', 'w').close()
def same(a, b):
    a, b = np.asarray(a), np.asarray(b)
    assert a.dtype == b.dtype, (a.dtype, b.dtype)
    assert a.shape == b.shape, (a.shape, b.shape)
    assert a.tobytes() == b.tobytes()
)" << statements;
    return run("/usr/bin/python3 " + (place / "check.py").string(), 120);
  }

 private:
  static std::string indented(const std::string& lines, std::size_t by) {
    std::string out;
    std::istringstream in(lines);
    for (std::string line; std::getline(in, line);) out += std::string(by, ' ') + line + '\n';
    return out;
  }
};

}  // namespace h5mount::test

#define H5MOUNT_CHECK(statements)                            \
  do {                                                       \
    const ::h5mount::test::Outcome seen = check(statements); \
    EXPECT_EQ(seen.code, 0) << seen.out << seen.err;         \
  } while (false)
