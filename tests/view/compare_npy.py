#!/usr/bin/env python3
"""Holds the .npy view of every dataset of the given files against what h5py reads.

    compare_npy.py H5MOUNT FILE…

Mounts each file, loads /.h5/npy/PATH.npy by numpy.load, and compares dtype, shape and bytes.
Prints every difference, then counts: equal, different, absent (by reason), and what h5py itself cannot read.
Ends with 1 where something differs.
"""
import collections, os, re, subprocess, sys, tempfile

import h5py
import numpy as np


MOST_BYTES = 256 << 20  # of a dataset that is held in memory, twice


def shown(path):
    """The path of a link in the mount, for names that need no cut."""
    names = []
    for name in path.split("/"):
        name = re.sub(r"%(?=[0-9A-Fa-f]{2})", "%25", name)
        names.append({".": "%2E", "..": "%2E%2E", "%": "%25"}.get(name, name))
    return "/".join(names)


def datasets(group, prefix=""):
    """Paths of the datasets that hard links lead to, each group once."""
    seen, pending = set(), [(group, prefix)]
    while pending:
        group, prefix = pending.pop()
        for name in group:
            try:
                link = group.get(name, getlink=True)
                if not isinstance(link, h5py.HardLink):
                    continue
                item = group[name]
            except Exception:
                continue
            path = prefix + name
            if isinstance(item, h5py.Dataset):
                yield path, item
            elif isinstance(item, h5py.Group) and item.id.__hash__() not in seen:
                seen.add(item.id.__hash__())
                pending.append((item, path + "/"))


def reason_of(dataset):
    kind = dataset.id.get_type()
    if dataset.shape is None:
        return "null dataspace"
    variable_string = isinstance(kind, h5py.h5t.TypeStringID) and kind.is_variable_str()
    if variable_string or kind.detect_class(h5py.h5t.VLEN):
        return "variable length"
    return "reference" if kind.detect_class(h5py.h5t.REFERENCE) else f"type {kind.get_class()}"


def compare(place, path, dataset, counts):
    file = os.path.join(place, ".h5/npy", shown(path) + ".npy")
    if not os.path.lexists(file):
        try:
            counts["absent: " + reason_of(dataset)] += 1
        except Exception:
            counts["absent: h5py cannot tell"] += 1
        return
    if dataset.size and dataset.size * dataset.dtype.itemsize > MOST_BYTES:
        counts["too large to compare"] += 1
        return
    try:
        wanted = np.asarray(dataset[()], dtype=dataset.dtype if dataset.shape == () else None)
    except Exception as error:
        counts[f"h5py cannot read ({type(error).__name__})"] += 1
        return
    try:
        got = np.load(file, max_header_size=1 << 24)
    except Exception as error:
        got, why = None, repr(error)
    else:
        why = f"{got.dtype} {got.shape} for {wanted.dtype} {wanted.shape}"
    same = got is not None and got.dtype == wanted.dtype and got.shape == wanted.shape
    if same and got.tobytes() != wanted.tobytes():
        # Padding within elements is not data: h5py leaves it undefined.
        same, why = got.dtype.names is not None and np.array_equal(got, wanted), "other bytes"
    counts["equal" if same else "different"] += 1
    if not same:
        print(f"{dataset.file.filename}: {path}: {why}")


def main(program, files):
    counts = collections.Counter()
    for name in files:
        with tempfile.TemporaryDirectory() as place:
            if subprocess.run([program, name, place], capture_output=True).returncode != 0:
                counts["files that do not mount"] += 1
                continue
            try:
                with h5py.File(name, "r") as file:
                    counts["files"] += 1
                    for path, dataset in datasets(file):
                        compare(place, path, dataset, counts)
            except OSError:
                counts["files that h5py does not open"] += 1
            finally:
                subprocess.run(["umount", place], check=True)
    for what, count in sorted(counts.items()):
        print(f"{count:8} {what}")
    return 1 if counts["different"] else 0


if __name__ == "__main__":
    os.environ["HDF5_USE_FILE_LOCKING"] = "FALSE"
    sys.exit(main(sys.argv[1], sys.argv[2:]))
