"""A directory of HDF5 files, mounted as one tree."""
import os

import h5py
import numpy as np

from mounting import MountTest
from support.program import until

SRC = "src/"


def make(name, value, n=1000):
    with h5py.File(name, "w") as f:
        f["d"] = np.full(n, value, "u1")


def status(mnt):
    with open(mnt + ".h5/status") as f:
        return dict(line.rstrip().split(": ", 1) for line in f)


def soon(condition, what):
    """Waits as long as a mount may take to show a change: it promises a second."""
    until(condition, what, 1.5)


class ManyFilesCase(MountTest):
    def setUp(self):
        super().setUp()
        os.makedirs("src/sub/deep")
        for name, value in (("a.h5", 1), ("sub/b.nc", 2), ("sub/deep/C.HDF5", 3), ("plain.dat", 4)):
            make(SRC + name, value)
            with h5py.File(SRC + name, "r+") as f:
                f.attrs["name"] = SRC + name
                f.create_group("g")["t"] = ["x", "y"]
        with open("src/note.txt", "w") as f:
            f.write("hello")
        with open("src/bad.h5", "w") as f:
            f.write("no HDF5")
        os.mkfifo("src/pipe.h5")
