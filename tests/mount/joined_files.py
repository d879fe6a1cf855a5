"""Directories of netCDF files that are mounted as one joined file."""
import json
import os

import h5py
import netCDF4
import numpy as np

from mounting import MountTest, error, read
from support.join_compare import MountedTree, compare
from support.join_oracle import Options, joined

SRC = "src/"


def nc(name, variables, dims=None, attrs=None, fmt="NETCDF4"):
    """Writes variables: name to (dimensions, values, attributes and what createVariable takes). Lengths of
    dimensions are those of the values; `dims` has others, None: unlimited."""
    lengths = {}
    for names, values, *_ in variables.values():
        lengths.update(zip(names, np.shape(values)))
    lengths.update(dims or {})
    with netCDF4.Dataset(SRC + name, "w", format=fmt) as file:
        for dim, length in lengths.items():
            file.createDimension(dim, length)
        file.setncatts(attrs or {})
        for path, (names, values, *more) in variables.items():
            put(file, path, names, np.asarray(values), dict(more[0]) if more else {})


def put(file, path, names, values, attrs):
    how = {key: attrs.pop(key) for key in ("zlib", "chunksizes", "shuffle", "endian") if key in attrs}
    kind = str if values.dtype.kind in "OU" else values.dtype
    variable = file.createVariable(path, kind, names, fill_value=attrs.pop("_FillValue", None), **how)
    variable.set_auto_maskandscale(False)
    variable.set_auto_chartostring(False)
    variable.setncatts(attrs)
    if values.size:
        variable[...] = values.astype(object) if kind is str else values


def days(*numbers, units="days since 2000-01-01", kind="i4", **more):
    """A coordinate `time`."""
    return ("time",), np.array(numbers, kind), {"units": units, **more}


def decoded(files, name, kind="f8"):
    """What netCDF4-python itself makes of each file's values, one behind the other; missing ones are NaN."""
    parts = []
    for file in files:
        with netCDF4.Dataset(SRC + file) as opened:
            parts.append(np.ma.filled(np.ma.asarray(opened[name][...]).astype(kind), np.nan))
    return np.concatenate(parts)


def h5(name, **how):
    return h5py.File(SRC + name, "w", **how)


class JoinedCase(MountTest):
    """`self.mnt` is the mount point, with a slash at its end."""

    def setUp(self):
        super().setUp()
        os.mkdir("src")

    def joined(self, join="time", *options):
        """The joined file's directory in a new mount."""
        words = [join.replace("\\", "\\\\").replace(",", "\\,"), *options]
        self.mnt = self.mount("-o", "join=" + ",".join(words), "src")
        return self.mnt + ".h5/joined/"

    def told(self, place):
        return json.loads(os.getxattr(place, "user.hdf5.joined"))

    def array(self, place):
        """A dataset of numbers or fixed strings as its xattrs say it is."""
        dtype = np.dtype(os.getxattr(place, "user.hdf5.dtype").decode())
        return np.frombuffer(read(place), dtype).reshape(json.loads(os.getxattr(place, "user.hdf5.shape")))

    def same(self, place, want):
        """Bit for bit, in type and shape too."""
        have, want = self.array(place), np.asarray(want)
        self.assertEqual((have.dtype.str, have.shape), (want.dtype.str, want.shape), place)
        self.assertEqual(have.tobytes(), want.tobytes(), (place, have, want))

    def refused(self, place, *words):
        """It is listed, says why, and cannot be read."""
        said = os.getxattr(place, "user.hdf5.error").decode("utf-8", "surrogateescape")
        for word in words:
            self.assertIn(word, said)
        if os.path.isdir(place):  # nothing can be joined
            self.assertEqual(error(os.listdir, place), "Input/output error")
            return
        self.assertEqual(os.stat(place).st_size, 1)  # so that tar and git open it
        self.assertEqual(error(read, place), "Input/output error")

    def rows(self, place):
        with open(place + ".h5/files.jsonl", encoding="utf-8", errors="surrogateescape") as file:
            return [json.loads(line) for line in file]

    def left_out(self, place):
        """Files that are left out, each with its reason."""
        return {
            row["file"]: row["error"] for row in self.rows(place) if row["position"] is None and row["error"]
        }

    def as_the_rules_say(self, place, options=None):
        """Everything, against the oracle."""
        files = [
            (os.path.relpath(os.path.join(top, name), "src"), os.path.join(top, name))
            for top, _, names in os.walk("src")
            for name in names
        ]
        whole = joined(files, options or Options())
        found = compare(MountedTree(self.mnt), whole)
        self.assertEqual(found.problems, [])
        return whole
