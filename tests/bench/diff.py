#!/usr/bin/python3
"""h5mount --diff beside h5diff: files of 1 GiB that are equal, that differ in one value, and in all of them.

    diff.py H5MOUNT [--mebibytes 1024] [--rounds 3] [--directory DIR] [--only CASE…]

Prints a table of Markdown: medians of the rounds in seconds, in which both programs alternate. The files are
in the page cache."""
import argparse
import os
import statistics
import sys
import tempfile

import h5py
import numpy as np

sys.dont_write_bytecode = True
import measure  # noqa: E402

CHUNK = 1 << 17
TEXT_BYTES = 64  # of a string and what its heap keeps of it, about
CASES = {
    "contiguous float64": {},
    "float64 in chunks": {"chunks": (CHUNK,)},
    "float64 deflated, level 4": {"chunks": (CHUNK,), "compression": "gzip", "compression_opts": 4},
    "float64, deflated beside shuffled and deflated": {
        "chunks": (CHUNK,),
        "compression": "gzip",
        "compression_opts": 4,
    },
    "strings of variable length": None,
}


def write_numbers(path, count, layout):
    numbers = np.random.default_rng(1)
    with h5py.File(path, "w") as f:
        x = f.create_dataset("x", (count,), "f8", **layout)
        for at in range(0, count, 8 * CHUNK):
            n = min(8 * CHUNK, count - at)
            x[at : at + n] = np.round(100 * numbers.standard_normal(n), 1)


def write_strings(path, count):
    with h5py.File(path, "w") as f:
        x = f.create_dataset("x", (count,), h5py.string_dtype(), chunks=(CHUNK // 8,))
        for at in range(0, count, CHUNK):
            n = min(CHUNK, count - at)
            x[at : at + n] = np.array(
                ["element %d of all strings, and more" % i for i in range(at, at + n)], object
            )


def write(path, case, bytes_of_all):
    layout = CASES[case]
    if layout is None:
        return write_strings(path, bytes_of_all // TEXT_BYTES)
    if path.endswith("b.h5") and "shuffled" in case:
        layout = {**layout, "shuffle": True}
    write_numbers(path, bytes_of_all // 8, layout)


def change_one(path):
    with h5py.File(path, "r+") as f:
        x = f["x"]
        at = len(x) // 2
        x[at] = "changed" if x.dtype == object else x[at] + 1


def change_all(path):
    with h5py.File(path, "r+") as f:
        x = f["x"]
        for at in range(0, len(x), 8 * CHUNK):
            part = x[at : at + 8 * CHUNK]
            x[at : at + 8 * CHUNK] = [one + b"!" for one in part] if x.dtype == object else part + 1


def compare(arguments, case, what, code):
    ours, theirs = [], []
    for path in ("a.h5", "b.h5"):
        with open(path, "rb") as f:
            while f.read(1 << 24):
                pass
    for _ in range(arguments.rounds):
        # As many differences as --diff tells places, and no more.
        theirs.append(measure.run(["h5diff", "-n", "10", "a.h5", "b.h5"], allowed=(code,)).wall)
        ours.append(measure.run([arguments.h5mount, "--diff", "a.h5", "b.h5"], allowed=(code,)).wall)
    ratio = statistics.median(t / o for t, o in zip(theirs, ours))
    print(
        f"| {case} | {what} | {statistics.median(ours):.3f} | {statistics.median(theirs):.2f} | {ratio:.0f} |"
    )
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("h5mount")
    parser.add_argument("--mebibytes", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--directory")
    parser.add_argument("--only", nargs="*", default=list(CASES), choices=list(CASES))
    arguments = parser.parse_args()
    arguments.h5mount = os.path.abspath(arguments.h5mount)
    with tempfile.TemporaryDirectory(dir=arguments.directory) as place:
        os.chdir(place)
        print("| files | which | --diff, s | h5diff, s | times |\n|---|---|--:|--:|--:|")
        for case in arguments.only:
            for path in ("a.h5", "b.h5"):
                write(path, case, arguments.mebibytes << 20)
            compare(arguments, case, "equal", 0)
            change_one("b.h5")
            compare(arguments, case, "one value differs", 1)
            change_all("b.h5")
            compare(arguments, case, "all differ", 1)


if __name__ == "__main__":
    main()
