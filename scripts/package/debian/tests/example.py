"""Writes the file that the tests read: example.py FILE"""
import sys

import h5py
import numpy

with h5py.File(sys.argv[1], "w") as file:
    data = file.create_dataset(
        "grid/t",
        data=numpy.arange(10000, dtype="<i4").reshape(100, 100),
        chunks=(10, 100),
        compression="gzip",
        shuffle=True,
        fletcher32=True,
    )
    data.attrs["units"] = "K"
    file["latest"] = h5py.SoftLink("/grid/t")
