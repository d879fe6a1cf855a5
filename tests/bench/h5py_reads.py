"""Reads as an h5py user would; prints the seconds they took, including opening the file.

    h5py_reads.py whole|random|column|cell|first|tail|rows FILE [NUMBER…]
    h5py_reads.py selection FILE SELECTION      # as NumPy indexes, without brackets
    h5py_reads.py pandas|csv FILE               # the dataset as CSV, written to /dev/null
"""
import csv
import sys
import time

import h5py
import numpy


def places(count, size, total):
    """The same offsets as `reader random`."""
    state, mask, out = 88172645463325252, (1 << 64) - 1, []
    for _ in range(count):
        state ^= state << 13 & mask
        state ^= state >> 7
        state ^= state << 17 & mask
        out.append(state % (total // size) * size)
    return out


def write_table(mode, values):
    with open("/dev/null", "w") as out:
        if mode == "pandas":
            import pandas

            begin = time.perf_counter()
            pandas.DataFrame(values).to_csv(out, index=False)
        else:
            begin = time.perf_counter()
            csv.writer(out).writerows((value,) for value in values.tolist())
    return time.perf_counter() - begin


def read(mode, path, numbers):
    begin = time.perf_counter()
    with h5py.File(path, "r") as file:
        data = file["d"]
        if mode == "whole":
            data[...]
        elif mode == "random":
            count, size = numbers
            wanted = places(count, size, int(data.size) * data.dtype.itemsize)
            begin = time.perf_counter()
            for place in wanted:
                first = place // data.dtype.itemsize
                data[first : first + size // data.dtype.itemsize]
        elif mode == "column":  # as one selection
            data[:, numbers[0]]
        elif mode == "cell":  # one value per row
            for row in range(data.shape[0]):
                data[row, numbers[0]]
        elif mode == "tail":
            data[-max(1, numbers[0] // (data.nbytes // data.shape[0])) :]
        elif mode == "first":
            data[: numbers[0]]
        elif mode == "selection":
            data[eval(f"numpy.s_[{numbers[0]}]")]
        elif mode in ("pandas", "csv"):
            values = data[...]
            return time.perf_counter() - begin + write_table(mode, values)
    return time.perf_counter() - begin


print(f"{read(sys.argv[1], sys.argv[2], [int(n) if n.isdigit() else n for n in sys.argv[3:]]):.6f}")
