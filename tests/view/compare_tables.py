#!/usr/bin/python3
"""Holds the CSV views of HDF5 files against h5py, by hand: compare_tables.py H5MOUNT FILE…

Mounts each file on a directory of its own and reads every /.h5/csv/….csv of a dataset twice: with pandas'
parser, and with csvkit's agate (which takes more liberties with types, so all of it is read as text). Numbers
must be those of the dataset to the last bit, strings the same text. What cannot be compared is counted by
reason; the exit status is 1 where anything differs."""

import collections
import csv
import os
import subprocess
import sys
import tempfile

import agate
import h5py
import numpy as np
import pandas

from h5py_datasets import datasets

os.environ["HDF5_USE_FILE_LOCKING"] = "FALSE"
MAX_CELLS = 2_000_000


def columns_of(value, name=""):
    """The columns of a dataset as the table has them: (name, array of one dimension)."""
    if value.ndim > 1:
        flat = value.reshape(len(value), -1)
        for place in np.ndindex(value.shape[1:]):
            label = ".".join(map(str, place))
            yield from columns_of(
                flat[:, np.ravel_multi_index(place, value.shape[1:])], f"{name}.{label}" if name else label
            )
    elif value.dtype.names is None:
        yield name or "value", value
    elif value.dtype.names == ("r", "i"):
        yield name, None
    else:
        for member in value.dtype.names:
            yield from columns_of(value[member], f"{name}.{member}" if name else member)


def why_not(dataset):
    dtype = dataset.dtype
    if dataset.shape is None or dataset.ndim not in (1, 2) or dataset.size == 0:
        return "other shape"
    if dtype.names and dataset.ndim != 1:
        return "other shape"
    if dataset.size * max(1, len(dtype.names or ())) > MAX_CELLS:
        return "large"
    return ""


def text_of(value):
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


def same(cells, want):
    """Whether a column's texts say the same as the values; None for types that CSV writes in a form of its
    own."""
    kind = want.dtype.kind
    if kind in "iu":
        return [int(cell) for cell in cells] == want.tolist()
    if kind == "f" and want.dtype.itemsize <= 8:
        have = np.array([float(cell.replace("Infinity", "inf")) for cell in cells]).astype(want.dtype)
        return bool(((have == want) | (np.isnan(have) & np.isnan(want))).all())
    if kind == "S":
        return list(cells) == [text_of(value) for value in want.tolist()]
    if kind == "O" and h5py.check_string_dtype(want.dtype):
        return list(cells) == [text_of(value) for value in want.tolist()]
    return None


def native(dataset):
    """Whether NumPy has the very type: h5py reads others as wider ones, whose shortest decimals are
    longer."""
    stored = dataset.id.get_type()
    if dataset.dtype is None:
        return False
    if stored.get_class() == h5py.h5t.BITFIELD:  # written in hexadecimal
        return False
    return stored.get_class() not in (h5py.h5t.FLOAT, h5py.h5t.INTEGER) or stored.equal(
        h5py.h5t.py_create(dataset.dtype)
    )


def compare(dataset, path):
    try:
        if not native(dataset):
            return "skip: type"
    except (TypeError, ValueError, KeyError):
        return "skip: h5py has no such type"
    reason = why_not(dataset)
    if reason:
        return "skip: " + reason
    if h5py.check_enum_dtype(dataset.dtype):
        return "skip: type"
    try:
        value = dataset[()]
    except Exception:
        return "skip: h5py cannot read it"
    wanted = list(columns_of(value))
    with open(path, newline="", encoding="utf-8", errors="surrogateescape") as file:
        by_agate = list(agate.csv.reader(file))
    table = pandas.read_csv(
        path,
        dtype=str,
        keep_default_na=False,
        skip_blank_lines=False,
        encoding_errors="surrogateescape",
        header=None,
    )
    if by_agate != [list(row) for row in table.itertuples(index=False)]:
        return "pandas and agate read different tables"
    if len(by_agate[0]) != len(wanted) or len(by_agate) != len(value) + 1:
        return f"{len(by_agate)} rows of {len(by_agate[0])} columns, {len(value)} + 1 of {len(wanted)} wanted"
    compared = 0
    for place, (_, want) in enumerate(wanted):
        equal = None if want is None else same([row[place] for row in by_agate[1:]], want)
        if equal is False:
            return f"column {by_agate[0][place]} differs"
        compared += equal is True
    return "" if compared == len(wanted) else "skip: type"


def main():
    program, *files = sys.argv[1:]
    csv.field_size_limit(1 << 30)
    counts = collections.Counter()
    bad = 0
    for file in files:
        with tempfile.TemporaryDirectory() as mount:
            if subprocess.run([program, file, mount], capture_output=True).returncode != 0:
                counts["skip: no mount"] += 1
                continue
            try:
                with h5py.File(file, "r") as opened:
                    for name, dataset in datasets(opened).items():
                        path = f"{mount}/.h5/csv/{name}.csv"
                        if not os.path.exists(path):
                            counts["skip: no view"] += 1
                            continue
                        try:
                            result = compare(dataset, path)
                        except Exception as error:
                            result = f"{type(error).__name__}: {error}"
                        if result and not result.startswith("skip"):
                            bad += 1
                            print(f"{file}:{name}: {result}"[:300])
                            result = "differs"
                        counts[result or "equal"] += 1
            except OSError:
                counts["skip: h5py cannot open it"] += 1
            finally:
                subprocess.run(["umount", "-l", mount], check=True)
    for reason, count in sorted(counts.items()):
        print(f"{count:7} {reason}")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
