#!/usr/bin/python3
"""Holds the Zarr stores of HDF5 files against h5py, by hand: compare_zarr.py H5MOUNT FILE…

Mounts each file on a directory of its own and opens /.h5/plain.zarr (and the other stores of version 2 that
there are) with zarr-python. Each dataset is compared by dtype, shape and elements. What cannot be compared is
counted by reason; the exit status is 1 where anything differs."""

import collections
import os
import subprocess
import sys
import tempfile

import h5py
import numpy as np
import zarr

from h5py_datasets import datasets

os.environ["HDF5_USE_FILE_LOCKING"] = "FALSE"
MAX_BYTES = 256 << 20
MAX_CHUNKS = 20000  # zarr-python holds all that it reads at once
STORES = ("plain.zarr", "stored.zarr")


def arrays(group, prefix=""):
    for name, array in group.arrays():
        yield prefix + name, array
    for name, inner in group.groups():
        yield from arrays(inner, prefix + name + "/")


def same(have, want):
    if want.dtype.kind == "O":
        return np.array_equal(np.asarray(have, object), np.asarray(want, object))
    if want.dtype.names and have.dtype != want.dtype:  # padding is not stored
        return have.dtype.names == want.dtype.names and all(same(have[n], want[n]) for n in want.dtype.names)
    if want.dtype.kind == "V" and have.dtype.kind != "V":
        return have.tobytes() == want.tobytes()
    return have.dtype == want.dtype and have.shape == want.shape and have.tobytes() == want.tobytes()


def compare(dataset, array, little):
    """Why the array is not what the dataset is; '' where it is."""
    try:
        text = h5py.check_string_dtype(dataset.dtype)
        want = (
            dataset.asstr(errors="surrogateescape")[()] if text and dataset.dtype.kind == "O" else dataset[()]
        )
    except Exception:  # what libhdf5 cannot read, a reader of the store need not either
        return "skip: h5py cannot read it"
    try:
        have = array[()]
    except Exception as error:
        return f"zarr: {type(error).__name__}: {error}"
    want = np.asarray(want)
    if little and want.dtype.kind != "O":
        want = want.astype(want.dtype.newbyteorder("<"))
    return "" if same(np.asarray(have), want) else f"differs: {have!r:.200} {want!r:.200}"


def why_absent(dataset):
    """As Zarr's types go; '' where it should be there."""
    dtype = dataset.dtype
    if dataset.shape is None:
        return "null dataspace"
    if dtype.kind == "O" and not h5py.check_string_dtype(dtype):
        return "variable-length or reference"
    if dtype.hasobject and dtype.kind == "V":
        return "compound with variable-length members or references"
    if str(dataset.attrs.get("NAME", "")).lstrip("b'").startswith("This is a netCDF dimension but"):
        return "a dimension without values"
    return ""


def compare_file(path, point, counts):
    with h5py.File(path, "r") as file:
        for store in STORES:
            root = os.path.join(point, ".h5", store)
            if not os.path.isdir(root):
                continue
            try:
                # A walk without them follows symlinks to groups for ever.
                shown = dict(arrays(zarr.open_consolidated(root, mode="r")))
            except Exception as error:
                counts[store, f"root: {type(error).__name__}"] += 1
                print(f"{path}: {store}: {error}")
                continue
            for name, dataset in datasets(file).items():
                try:
                    array = shown.get(name)
                    if array is None:
                        reason = why_absent(dataset)
                        reason = "absent: " + reason if reason else "ABSENT"
                    elif dataset.nbytes > MAX_BYTES:
                        reason = "skip: large"
                    elif array.nchunks > MAX_CHUNKS:
                        reason = "skip: many chunks"
                    else:
                        reason = compare(dataset, array, store == "plain.zarr")
                except Exception as error:
                    reason = f"skip: h5py: {type(error).__name__}"
                counts[store, reason.split(":")[0] if reason.startswith(("zarr", "differs")) else reason] += 1
                if reason.startswith(("zarr", "differs", "ABSENT")):
                    print(f"{path}: {store}: {name}: {reason:.300}")


def main():
    program, files = sys.argv[1], sys.argv[2:]
    counts = collections.Counter()
    for path in files:
        with tempfile.TemporaryDirectory() as point:
            if subprocess.run([program, path, point], capture_output=True, check=False).returncode != 0:
                counts["-", "not mounted"] += 1
                continue
            try:
                compare_file(path, point, counts)
            except OSError:
                counts["-", "h5py cannot open it"] += 1
            finally:
                subprocess.run(["fusermount3", "-u", point], check=False)
    for (store, reason), count in sorted(counts.items()):
        print(f'{count:7d}  {store}  {reason or "equal"}')
    return int(any(r.startswith(("zarr", "differs", "ABSENT", "root")) for _, r in counts))


if __name__ == "__main__":
    sys.exit(main())
