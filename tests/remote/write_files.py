#!/usr/bin/python3
"""Writes the files of the tests of programs that read from a far server into ./www."""
import os
import struct

import h5py
import numpy as np

os.makedirs("www/deep/er")
with h5py.File("www/deep/main.h5", "w") as f:
    f["numbers"] = np.arange(500000, dtype="<i4")
    f.create_dataset(
        "packed",
        data=np.arange(400000, dtype="<u2").reshape(400, 1000),
        chunks=(40, 100),
        compression="gzip",
        shuffle=True,
    )
    f["words"] = ["one", "two"]
    f.attrs["title"] = "far"
    f["near"] = h5py.ExternalLink("other.h5", "/d")
    f["below"] = h5py.ExternalLink("er/other.h5", "/d")
    f["above"] = h5py.ExternalLink("../other.h5", "/d")
    f["local"] = h5py.ExternalLink("/etc/passwd", "/d")
with open("www/deep/main.h5", "rb") as whole, open("www/headless.h5", "wb") as f:
    f.write(bytes(48) + whole.read()[48:])
for name in ("www/deep/other.h5", "www/deep/er/other.h5", "www/other.h5"):
    with h5py.File(name, "w") as f:
        f["d"] = np.arange(10, dtype="u1")
with open("www/note.txt", "w") as f:
    f.write("not HDF5" * 1000)

# Data that lie at the end of the longest object that a server may claim to have.
with h5py.File("www/end.h5", "w") as f:
    f["d"] = np.full(500, 0x4141414141414141)
    place, size = f["d"].id.get_offset(), 4000
with open("www/end.h5", "rb") as f:
    whole, stored = f.read(), struct.pack("<QQ", place, size)
assert whole.count(stored) == 1
for name, end in (("www/end.h5", 2**63 - 1), ("www/beyond.h5", 2**64 - 1)):
    with open(name, "wb") as f:
        f.write(whole.replace(stored, struct.pack("<QQ", end - size - 16, size)))

# A server tells whole seconds.
for place, _, names in os.walk("www"):
    for name in names:
        whole = int(os.stat(os.path.join(place, name)).st_mtime)
        os.utime(os.path.join(place, name), (whole, whole))
