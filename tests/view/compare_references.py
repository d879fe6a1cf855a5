#!/usr/bin/python3
"""Holds the references of HDF5 files against h5py, by hand: compare_references.py H5MOUNT FILE…

Mounts each file on a directory of its own, takes /.h5/references.json and, while nothing is mounted any
more, opens it with fsspec and zarr-python. Each dataset is compared by dtype, shape and elements, and must
be there or be named, with a reason, by user.hdf5.references. What cannot be compared is counted by reason;
the exit status is 1 where anything differs."""

import collections
import json
import os
import subprocess
import sys
import tempfile

import fsspec
import h5py
import zarr
from compare_zarr import MAX_BYTES, MAX_CHUNKS, arrays, compare, why_absent

from h5py_datasets import datasets

os.environ["HDF5_USE_FILE_LOCKING"] = "FALSE"


def references_of(program, path):
    """The JSON of a file and the value of its attribute; nothing where it cannot be mounted."""
    with tempfile.TemporaryDirectory() as point:
        if subprocess.run([program, path, point], capture_output=True, check=False).returncode != 0:
            return None, None
        try:
            with open(os.path.join(point, ".h5/references.json"), encoding="utf-8") as f:
                text = f.read()
            size = os.stat(os.path.join(point, ".h5/references.json")).st_size
            assert size == len(text.encode()), (size, len(text))
            return json.loads(text), json.loads(os.getxattr(point, "user.hdf5.references"))
        finally:
            subprocess.run(["umount", point], check=True)


def opened(references, **options):
    return zarr.open_group(
        fsspec.get_mapper("reference://", fo=references, remote_protocol="file", **options), mode="r"
    )


def compare_file(path, references, told, counts):
    keys = sum(1 for key in references["refs"] if key.rsplit("/", 1)[-1][0] != ".")
    if keys != told["direct"] + told["inline"] + told["served"]:
        counts["COUNTED"] += 1
        print(f"{path}: {keys} keys, and {told} are told of")
    try:
        shown = dict(arrays(opened(references)))
    except Exception as error:
        counts["zarr: all of it"] += 1
        print(f"{path}: {type(error).__name__}: {error}")
        return
    with h5py.File(path, "r") as file:
        for name, dataset in datasets(file).items():
            try:
                array = shown.get(name)
                why = told["left_out"].get("/" + name)
                if array is None:
                    absent = why or why_absent(dataset)
                    reason = "absent: " + absent if absent else "ABSENT"
                elif why:
                    reason = "BOTH: there and left out"
                elif dataset.nbytes > MAX_BYTES:
                    reason = "skip: large"
                elif array.nchunks > MAX_CHUNKS:
                    reason = "skip: many chunks"
                else:
                    reason = compare(dataset, array, False)
            except Exception as error:
                reason = f"skip: h5py: {type(error).__name__}"
            counts[reason.split(":")[0] if reason.startswith(("zarr", "differs")) else reason] += 1
            if reason.startswith(("zarr", "differs", "ABSENT", "BOTH")):
                print(f"{path}: {name}: {reason:.300}")


def main():
    program, files = sys.argv[1], sys.argv[2:]
    counts = collections.Counter()
    for path in files:
        references, told = references_of(program, os.path.abspath(path))
        if references is None:
            counts["not mounted"] += 1
            continue
        try:
            compare_file(path, references, told, counts)
        except OSError:
            counts["h5py cannot open it"] += 1
    for reason, count in sorted(counts.items(), key=str):
        print(f"{count:6d} {reason or 'same'}")
    bad = ("zarr", "differs", "ABSENT", "BOTH", "COUNTED")
    return 1 if any(reason.startswith(bad) for reason in counts) else 0


if __name__ == "__main__":
    sys.exit(main())
