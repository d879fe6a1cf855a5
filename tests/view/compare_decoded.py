#!/usr/bin/python3
"""Holds /.h5/decoded of netCDF-4 files against netCDF4-python and cftime, by hand:
compare_decoded.py H5MOUNT FILE…

Mounts each file on a directory of its own. Each variable of numbers is compared by its values in npy, and by
what is missing; times by the moments that cftime makes of them. What cannot be compared is counted by reason;
the exit status is 1 where anything differs."""

import collections
import io
import json
import os
import subprocess
import sys
import tempfile
import warnings

import cftime
import netCDF4
import numpy as np

os.environ["HDF5_USE_FILE_LOCKING"] = "FALSE"
warnings.simplefilter("ignore")
MAX_ELEMENTS = 1 << 22


def variables(group):
    yield from ((group.path.strip("/"), v) for v in group.variables.values())
    for below in group.groups.values():
        yield from variables(below)


def times_differ(have, raw, missing, told):
    """`told`: what user.hdf5.decoded says of the time."""
    units, _, calendar = told.rpartition(", ")
    try:
        want = cftime.num2date(raw[~missing], units, calendar=calendar)
    except (ValueError, OverflowError):
        return "skip: cftime cannot"
    texts = have[~missing].reshape(-1)
    for text, date in zip(texts, np.atleast_1d(want)):
        text = text.decode() if isinstance(text, bytes) else str(text)
        day, clock = text[:10], text[11:]
        if day != "%04d-%02d-%02d" % (date.year, date.month, date.day):
            return "differs: day"
        hour, minute, second = clock.split(":")
        exact = date.hour * 3600 + date.minute * 60 + date.second + date.microsecond / 1e6
        if abs(int(hour) * 3600 + int(minute) * 60 + float(second) - exact) > 1.5e-6:
            return "differs: time"
    return "equal: times"


def compare(v, place, name):
    path = os.path.join(place, name)
    if not os.path.exists(path):
        return "skip: no such file"
    have = np.load(io.BytesIO(open(path, "rb").read()))
    attributes = (
        os.getxattr(path, "user.hdf5.decoded") if "user.hdf5.decoded" in os.listxattr(path) else b"{}"
    )
    told = json.loads(attributes)
    v.set_auto_maskandscale(False)
    raw = v[:]
    if not isinstance(raw, np.ndarray) or raw.dtype.kind not in "iuf" or raw.size > MAX_ELEMENTS:
        return "skip: another type, or large"
    v.set_auto_maskandscale(True)
    v.set_always_mask(True)
    want = v[:]
    default = netCDF4.default_fillvals.get(v.dtype.str[1:])
    stated = any(hasattr(v, name) for name in ("_FillValue", "missing_value"))
    by_default = np.zeros(raw.shape, bool) if stated or raw.dtype.itemsize == 1 else raw == default
    missing = np.ma.getmaskarray(want) & ~by_default
    if "time" in told:
        return times_differ(have, np.ma.getdata(want).astype("f8"), np.ma.getmaskarray(want), told["time"])
    data = np.ma.getdata(want)
    if have.dtype.kind == "f":
        seen = np.where(missing, np.nan, data.astype(have.dtype))
        same = np.array_equal(have[~by_default], seen[~by_default], equal_nan=True)
        kind = "equal: bits" if have.dtype == data.dtype else "equal: another type of netCDF4's"
        return kind if same else "differs: values"
    same = np.array_equal(have[~by_default], data[~by_default])
    return "equal: as stored" if same else "differs: values"


def main():
    program, *files = sys.argv[1:]
    counts = collections.Counter()
    for path in files:
        with tempfile.TemporaryDirectory() as point:
            try:
                nc = netCDF4.Dataset(path)
            except (OSError, RuntimeError):
                counts["skip: netCDF4 cannot open it"] += 1
                continue
            if subprocess.run([program, path, point], capture_output=True, check=False).returncode != 0:
                counts["not mounted"] += 1
                continue
            try:
                for group, v in variables(nc):
                    name = "/".join(filter(None, (group, v.name))) + ".npy"
                    try:
                        reason = compare(v, os.path.join(point, ".h5/decoded/npy"), name)
                    except (RuntimeError, IndexError, OSError, ValueError, TypeError) as error:
                        reason = "skip: %s" % type(error).__name__
                    counts[reason] += 1
                    if reason.startswith("differs"):
                        print(f"{path}: {name}: {reason}")
            finally:
                nc.close()
                subprocess.run(["fusermount3", "-u", point], check=False)
    for reason, count in sorted(counts.items()):
        print(f"{count:7d}  {reason}")
    return int(any(reason.startswith("differs") for reason in counts))


if __name__ == "__main__":
    sys.exit(main())
