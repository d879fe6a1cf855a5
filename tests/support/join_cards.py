"""What a test's oracle of joined files reads of each file, by h5py: names, types, values as stored."""
import os
import re

import h5py
import numpy as np

os.environ["HDF5_USE_FILE_LOCKING"] = "FALSE"

# What says what dimensions are, and what netCDF keeps for itself.
HIDDEN = {
    *"CLASS NAME DIMENSION_LIST REFERENCE_LIST DIMENSION_LABELS".split(),
    *"_Netcdf4Dimid _Netcdf4Coordinates _NCProperties _nc3_strict _NCCOPY".split(),
}
WITHOUT_VALUES = "This is a netCDF dimension but not a netCDF variable"


class Member:
    """A dataset of one file. `scales`: for each dimension the path of its first scale, or None."""

    def __init__(self, file, path, dataset):
        self.file, self.path, self.attrs = file, path, attributes_of(dataset)
        self.dtype, self.shape = dataset.dtype, dataset.shape
        self.values = dataset[()]
        self.lends = False  # its units of time are those of the coordinate whose bounds it has
        text = h5py.check_string_dtype(dataset.dtype)
        self.utf8 = bool(text) and text.encoding == "utf-8"
        self.is_scale = dataset.attrs.get("CLASS", b"") in (b"DIMENSION_SCALE", "DIMENSION_SCALE")
        name = dataset.attrs.get("NAME", b"") if self.is_scale else b""
        name = name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)
        self.without_values = name.startswith(WITHOUT_VALUES)
        if self.is_scale and dataset.ndim == 1:
            self.scales = [path]
        else:
            scales = ([*dimension.values()] for dimension in dataset.dims)
            self.scales = [found[0].name.lstrip("/") if found else None for found in scales]

    def with_axis_in_front(self):
        self.values, self.shape = np.asarray(self.values)[None], (1, *self.shape)
        self.scales = [None, *self.scales]
        return self


class Card:
    """`error`: it is no HDF5 file. `links`: path to target."""

    def __init__(self, name, path):
        self.name, self.error = name, None
        self.datasets, self.groups, self.links = {}, {}, {}
        try:
            with h5py.File(path, "r") as file:
                self.read(file, "")
                self.attrs = attributes_of(file)
        except OSError as error:
            self.error = str(error)

    def read(self, group, prefix):
        for name in group:
            path = prefix + name
            link = group.get(name, getlink=True)
            if isinstance(link, h5py.SoftLink):
                self.links[path] = link.path
                continue
            child = group[name]
            if isinstance(child, h5py.Group):
                self.groups[path] = attributes_of(child)
                self.read(child, path + "/")
            elif isinstance(child, h5py.Dataset):
                self.datasets[path] = Member(self.name, path, child)


def attributes_of(entry):
    """Numbers as arrays of one dimension at least, strings as str."""
    found = {}
    for name in entry.attrs:
        if name in HIDDEN:
            continue
        value = entry.attrs[name]
        if isinstance(value, bytes):
            value = value.decode("utf-8", "surrogateescape")
        if isinstance(value, h5py.Empty):
            value = np.array([], value.dtype)
        elif not isinstance(value, str):
            value = np.atleast_1d(value)
            if value.dtype.kind in "SO":
                texts = [v.decode() if isinstance(v, bytes) else v for v in value.reshape(-1).tolist()]
                value = texts[0] if len(texts) == 1 else np.array(texts, object)
        found[name] = value
    return found


def same_attribute(a, b, by_value=False):
    """Type and value; `by_value`: the value alone."""
    if isinstance(a, str) or isinstance(b, str):
        return isinstance(a, str) and isinstance(b, str) and a == b
    if a.dtype.kind == "O" or b.dtype.kind == "O":
        return a.dtype == b.dtype and a.tolist() == b.tolist()
    if a.shape != b.shape or (not by_value and a.dtype != b.dtype):
        return False
    if a.dtype.kind in "fc" or b.dtype.kind in "fc":
        return np.array_equal(a, b, equal_nan=True)
    return (
        [int(x) for x in a.reshape(-1)] == [int(x) for x in b.reshape(-1)]
        if a.dtype.kind in "iu"
        else (a.tolist() == b.tolist())
    )


def natural(name):
    """The key of natural order: components, runs of digits as numbers, then bytes."""
    parts = []
    for component in os.fsencode(name).split(b"/"):
        pieces = re.split(rb"(\d+)", component)
        parts.append([(0, int(p), b"") if i % 2 else (1, 0, p) for i, p in enumerate(pieces) if p])
    return parts, os.fsencode(name)
