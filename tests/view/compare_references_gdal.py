#!/usr/bin/python3
"""Holds what GDAL reads through references against h5py, by hand:

    compare_references_gdal.py H5MOUNT GDALMDIMINFO FILE…

GDAL 3.11 or newer reads /.h5/references.json of each file while nothing is mounted. Its multidimensional
program prints the values of every array that it lists; numbers are compared, other types are counted, and so
is what GDAL refuses. The exit status is 1 where anything differs."""

import collections
import json
import os
import subprocess
import sys
import tempfile

import h5py
import numpy as np

os.environ["HDF5_USE_FILE_LOCKING"] = "FALSE"
MAX_ELEMENTS = 20_000


def printed(program, name, *options):
    said = subprocess.run(
        [program, *options, 'ZARR:"%s"' % name],
        capture_output=True,
        check=False,
        timeout=120,
        encoding="utf-8",
    )
    if said.returncode != 0:
        return None, (said.stderr or said.stdout).strip().splitlines()[:1]
    return json.loads(said.stdout), None


def arrays(group, prefix=""):
    for name in group.get("arrays", {}):
        yield prefix + name
    for name, below in group.get("groups", {}).items():
        yield from arrays(below, prefix + name + "/")


def compare(program, name, path, dataset):
    if dataset.dtype.kind not in "iufb" or dataset.dtype.itemsize > 8:
        return "skip: another type than numbers"
    if dataset.size > MAX_ELEMENTS:
        return "skip: large"
    shown, why = printed(program, name, "-detailed", "-array", "/" + path)
    if shown is None:
        return "GDAL: " + " ".join(why)
    try:
        want = np.asarray(dataset[()])
    except OSError:
        return "skip: h5py cannot read it"
    if "values" not in shown:
        return "skip: no values" if want.size == 0 else "GDAL: no values"
    have = np.array(shown["values"], dtype=object).reshape(-1)
    want = want.reshape(-1)
    if want.dtype.kind == "f":  # printed in decimal
        have = np.array([float(v) for v in have])
        return "" if np.allclose(have, want.astype("f8"), 1e-6, 0, True) else "differs: values"
    return "" if [int(v) for v in have] == [int(v) for v in want] else "differs: values"


def main():
    program, gdal, *files = sys.argv[1:]
    counts = collections.Counter()
    for path in files:
        with tempfile.TemporaryDirectory() as place:
            name = os.path.join(place, "refs.json")
            with open(name, "wb") as file:
                made = subprocess.run(
                    [program, "--cat", os.path.abspath(path), "/.h5/references.json"],
                    stdout=file,
                    stderr=subprocess.DEVNULL,
                    check=False,
                )
            if made.returncode != 0:
                counts["not mounted"] += 1
                continue
            group, why = printed(gdal, name)
            if group is None:
                counts["GDAL: the store: " + " ".join(why)[:60]] += 1
                continue
            try:
                with h5py.File(path, "r") as file:
                    for array in arrays(group):
                        known = array in file and isinstance(file[array], h5py.Dataset)
                        reason = compare(gdal, name, array, file[array]) if known else "skip: another name"
                        counts[reason[:70]] += 1
                        if reason.startswith("differs"):
                            print(f"{path}: {array}: {reason}")
            except OSError:
                counts["skip: h5py cannot open it"] += 1
    for reason, count in sorted(counts.items()):
        print(f'{count:7d}  {reason or "equal"}')
    return int(any(reason.startswith("differs") for reason in counts))


if __name__ == "__main__":
    sys.exit(main())
