// Views under /.h5 of files that a test writes with h5py, held against h5py and NumPy by Python statements.
#pragma once

#include "h5py_directory.h"

namespace h5mount::test {

class ViewsTest : public H5pyDirectoryTest {
 protected:
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
def same(a, b):
    a, b = np.asarray(a), np.asarray(b)
    assert a.dtype == b.dtype, (a.dtype, b.dtype)
    assert a.shape == b.shape, (a.shape, b.shape)
    assert a.tobytes() == b.tobytes()
)" << statements;
    return run("/usr/bin/python3 " + (place / "check.py").string(), 120);
  }
};

}  // namespace h5mount::test

#define H5MOUNT_CHECK(statements)                            \
  do {                                                       \
    const ::h5mount::test::Outcome seen = check(statements); \
    EXPECT_EQ(seen.code, 0) << seen.out << seen.err;         \
  } while (false)
