// Views under /.h5 of files that a test writes with h5py, held against h5py and NumPy by Python statements.
#pragma once

#include <sstream>

#include "h5py_directory.h"

namespace h5mount::test {

// Python that writes strings of each padding into `f.h5`, with bytes behind their ends that h5py hides:
// alone, compressed, in compounds, in arrays, in arrays of compounds.
inline constexpr const char* kPaddedStrings = R"(
raw = b'ab\0XYab   \0\0\0\0\0abcde'
S, T = h5py.h5s, h5py.h5t
with h5py.File('f.h5', 'w') as f:
    def make(name, space, type_, content, packed=False):
        p = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        if packed: p.set_chunk((3,)); p.set_deflate(4)
        d = h5py.h5d.create(f.id, name.encode(), type_, S.create_simple(space), p)
        d.write(S.ALL, S.ALL, np.frombuffer(content, 'V%d' % type_.get_size()), mtype=type_)
    for name, padding in (('terminated', T.STR_NULLTERM), ('padded', T.STR_NULLPAD),
                          ('spaces', T.STR_SPACEPAD)):
        t = T.C_S1.copy(); t.set_size(5); t.set_strpad(padding)
        make(name, (4,), t, raw); make(name + '_packed', (4,), t, raw, packed=True)
        make(name + '_array', (2,), T.array_create(t, (2,)), raw)
        c = T.create(T.COMPOUND, 12); c.insert(b'i', 0, T.STD_I32LE); c.insert(b's', 6, t)
        rows = b''.join(bytes([i, 0, 0, 0, 7, 7]) + raw[5 * i:5 * i + 5] + b'\7' for i in range(4))
        make(name + '_rows', (4,), c, rows); make(name + '_rows_packed', (4,), c, rows, packed=True)
        d = T.create(T.COMPOUND, 26); d.insert(b'in', 1, T.array_create(c, (2,)))
        make(name + '_nested', (2,), d, b'\7' + rows[:24] + b'\7\7' + rows[24:] + b'\7')
    one = T.C_S1.copy(); one.set_size(1)
    make('one', (4,), one, b'a\0c ', packed=False); make('one_packed', (4,), one, b'a\0c ', packed=True)
)";

// Python: the fields of an array that are no compounds, so that padding is not compared.
inline constexpr const char* kLeaves = R"(
def leaves(array):
    if not array.dtype.names: return [array.tobytes()]
    return [leaf for n in array.dtype.names for leaf in leaves(array[n])]
)";

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
