#!/usr/bin/python3
"""Holds every file under /.h5/parquet of a mount against h5py, as readers that others wrote read it: DuckDB
and hyparquet, through scripts/read_parquet.mjs.

    scripts/compare_parquet.py MOUNTPOINT FILE.h5
"""
import json
import os
import subprocess
import sys
from urllib.parse import unquote

import h5py
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))


def columns(name, values):
    """The columns of a table: name and values, as the view splits them."""
    kind = values.dtype
    if values.ndim > 1:
        for place in np.ndindex(values.shape[1:]):
            yield from columns(".".join([name, *map(str, place)]).lstrip("."), values[(slice(None), *place)])
    elif kind.names:
        for member in kind.names:
            yield from columns(f"{name}.{member}" if name else member, values[member])
    elif h5py.check_enum_dtype(kind) and kind.itemsize == 1:
        names = {number: name for name, number in h5py.check_enum_dtype(kind).items()}
        yield name, [names.get(number, str(number)) for number in values.tolist()]
    elif kind.kind == "c":
        yield name + ".real", values.real
        yield name + ".imag", values.imag
    else:
        yield name, values


def categories(item):
    """The names of categorical data in either of AnnData's forms, None for missing values; else nothing."""
    if isinstance(item, h5py.Dataset) and isinstance(item.attrs.get("categories"), h5py.Reference):
        codes, names = item[()], item.file[item.attrs["categories"]][()]
    elif isinstance(item, h5py.Group) and item.attrs.get("encoding-type") == "categorical":
        codes, names = item["codes"][()], item["categories"][()]
    else:
        return None
    names = [name.decode() if isinstance(name, bytes) else str(name) for name in names.tolist()]
    return [None if code == -1 else names[code] for code in codes.tolist()]


def expected(item):
    if (names := categories(item)) is not None:
        return [("value", names)]
    if isinstance(item, h5py.Group):
        out = []
        for name, part in item.items():
            if (names := categories(part)) is not None:
                out.append((name, names))
            elif isinstance(part, h5py.Dataset) and part.ndim == 1:
                out += columns(name, part[()])
        return out
    values = item[()] if item.ndim else item[()].reshape(1)
    return list(columns("" if values.dtype.names or item.ndim == 2 else "value", values))


def same(cell, value):
    if value is None or isinstance(value, str):
        return cell == value
    if isinstance(value, (bytes, np.bytes_)):
        return cell == bytes(value).decode(errors="replace") or cell == bytes(value).hex()
    if isinstance(value, np.void):
        return cell == bytes(value).hex()
    if isinstance(value, np.bool_):
        return cell == bool(value)
    if isinstance(value, np.integer):
        return cell == value.tobytes().hex() or int(cell) == int(value)  # bit fields are bytes
    seen = float(cell)
    return seen == float(value) or (np.isnan(seen) and np.isnan(value))


def compare(reader, path, item):
    out = subprocess.run(["node", f"{HERE}/read_parquet.mjs", reader, path], capture_output=True, text=True)
    if out.returncode:
        return out.stderr.strip().splitlines()[-1]
    names, *rows = map(json.loads, out.stdout.splitlines())
    want = expected(item)
    if names != [name for name, _ in want]:
        return f"columns {names}"
    if len(rows) != len(want[0][1]):
        return f"{len(rows)} rows"
    for i, (name, values) in enumerate(want):
        for row, value in zip(rows, values):
            if not same(row[i], value):
                return f"{name}: {row[i]!r}, not {value!r}"
    return None


def main():
    mountpoint, source = sys.argv[1:]
    base = f"{mountpoint}/.h5/parquet"
    compared, wrong = 0, 0
    with h5py.File(source, "r") as file:
        for directory, _, names in os.walk(base):
            for name in sorted(names):
                path = f"{directory}/{name}"
                item = file[unquote(os.path.relpath(path, base).removesuffix(".parquet"))]
                for reader in ("duckdb", "hyparquet"):
                    compared += 1
                    if why := compare(reader, path, item):
                        wrong += 1
                        print(f"{reader}: {path}: {why}")
    print(f"{compared} compared, {wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
