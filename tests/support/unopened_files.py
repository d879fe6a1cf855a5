"""A directory in which one file is sound and each other one cannot be opened, for a reason of its own."""
import errno
import fcntl
import os
import subprocess
import sys

import h5py

# The files, and the errno of all that is below each.
KINDS = {
    "cut.h5": errno.EIO,
    "text.h5": errno.EIO,
    "empty.h5": errno.EIO,
    "zeros.h5": errno.EIO,
    "writing.h5": errno.EBUSY,
    "locked.h5": errno.EBUSY,
    "private.h5": errno.EACCES,
}
# What user.hdf5.error and commands say of each.
REASONS = {
    "cut.h5": "truncated",
    "text.h5": "not an HDF5 file",
    "empty.h5": "is empty",
    "zeros.h5": "nothing but zeros",
    "writing.h5": "open for writing",
    "locked.h5": "locked by a writer",
    "private.h5": "cannot be opened: Permission denied",
}
# Root may read what is not its own, unless it has given that up.
AS_READER = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
# A writer that is killed leaves what says that it has the file open.
WRITER = (
    "import h5py, os; f = h5py.File('src/writing.h5', 'w', libver='latest'); f['d'] = 1; f.flush();"
    " os._exit(0)"
)


def write_unopened_files():
    """Writes them below `src`, and returns what holds the lock."""
    os.makedirs("src/sub")
    for name in ("good.h5", "locked.h5", "private.h5", "cut.h5", "sub/text.h5"):
        with h5py.File("src/" + name, "w") as f:
            f["d"] = list(range(100))
    os.truncate("src/cut.h5", 100)
    for name, what in (
        ("text.h5", b"hello"),
        ("sub/text.h5", b"hello"),
        ("empty.h5", b""),
        ("zeros.h5", bytes(5000)),
    ):
        with open("src/" + name, "wb") as f:
            f.write(what)
    subprocess.run([sys.executable, "-c", WRITER], check=True)
    os.chmod("src/private.h5", 0)
    if os.geteuid() == 0:
        os.chown("src/private.h5", 1, 1)
    lock = open("src/locked.h5", "rb")
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock
