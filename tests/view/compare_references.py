#!/usr/bin/python3
"""Holds the references of HDF5 files against h5py, by hand: compare_references.py [--parquet] H5MOUNT FILE…

Mounts each file on a directory of its own, takes /.h5/references.json and, while nothing is mounted any
more, opens it with fsspec and zarr-python. Each dataset is compared by dtype, shape and elements, and must
be there or be named, with a reason, by user.hdf5.references. What cannot be compared is counted by reason;
the exit status is 1 where anything differs. With --parquet it is /.h5/references.parq, by a fsspec of 2023.9
or newer in PYTHONPATH; Parquet is decoded by tests/mount/parquet_references.py, as Debian 12 has no other
decoder for Python."""

import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile

import fsspec
import h5py
import pandas
import zarr
from compare_zarr import MAX_BYTES, MAX_CHUNKS, arrays, compare, why_absent

from h5py_datasets import datasets

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mount"))
import parquet_references

os.environ["HDF5_USE_FILE_LOCKING"] = "FALSE"


def references_of(program, path, parquet):
    """The JSON of a file, or the name of a copy of its Parquet, and the value of its attribute; nothing where
    it cannot be mounted."""
    with tempfile.TemporaryDirectory() as point:
        if subprocess.run([program, path, point], capture_output=True, check=False).returncode != 0:
            return None, None
        try:
            told = json.loads(os.getxattr(point, "user.hdf5.references"))
            if parquet:
                copy = tempfile.mkdtemp(suffix=".parq")
                shutil.copytree(os.path.join(point, ".h5/references.parq"), copy, dirs_exist_ok=True)
                return copy, told
            with open(os.path.join(point, ".h5/references.json"), encoding="utf-8") as f:
                text = f.read()
            size = os.stat(os.path.join(point, ".h5/references.json")).st_size
            assert size == len(text.encode()), (size, len(text))
            return json.loads(text), told
        finally:
            subprocess.run(["umount", point], check=True)


def read_parquet(file, **_):
    columns = ("path", "offset", "size", "raw")
    rows = parquet_references.rows_of(file.read())
    return pandas.DataFrame(
        [[text.decode() if text else text, *rest] for text, *rest in rows], columns=columns
    )


def opened(references, **options):
    return zarr.open_group(
        fsspec.get_mapper("reference://", fo=references, remote_protocol="file", **options), mode="r"
    )


def check_counts(path, references, told, counts):
    keys = sum(1 for key in references["refs"] if key.rsplit("/", 1)[-1][0] != ".")
    if keys != told["direct"] + told["inline"] + told["served"]:
        counts["COUNTED"] += 1
        print(f"{path}: {keys} keys, and {told} are told of")


def compare_file(path, references, told, counts):
    parquet = isinstance(references, str)
    if not parquet:
        check_counts(path, references, told, counts)
    left_out = {**told["left_out"], **(told["json_only"] if parquet else {})}
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
                why = left_out.get("/" + name)
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
    arguments = sys.argv[1:]
    parquet = arguments[0] == "--parquet"
    program, *files = arguments[parquet:]
    if parquet:
        pandas.read_parquet = read_parquet
    counts = collections.Counter()
    for path in files:
        references, told = references_of(program, os.path.abspath(path), parquet)
        if references is None:
            counts["not mounted"] += 1
            continue
        try:
            compare_file(path, references, told, counts)
        except OSError:
            counts["h5py cannot open it"] += 1
        if parquet:
            shutil.rmtree(references)
    for reason, count in sorted(counts.items(), key=str):
        print(f"{count:6d} {reason or 'same'}")
    bad = ("zarr", "differs", "ABSENT", "BOTH", "COUNTED")
    return 1 if any(reason.startswith(bad) for reason in counts) else 0


if __name__ == "__main__":
    sys.exit(main())
