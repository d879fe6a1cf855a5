#!/usr/bin/python3
"""Holds the Zarr stores of netCDF files against the files: compare_netcdf.py DIRECTORY FILE…

DIRECTORY is the .h5 of a mount of the one FILE, or, with several, holds one for each by its name. What xarray
sees through plain.zarr, stored.zarr and v3.zarr (the last by a reader of the specification's words, as Debian
12 has none) must be what its open_dataset sees in the file: names, dimensions, coordinates, attributes, and
values decoded and not. Prints differences; exits with 1 where there are any. `--tools`: also that ncdump, cdo
and ncks give equal figures from the file and from plain.zarr, of variables that netCDF-C can read there."""

import base64
import itertools
import json
import os
import re
import struct
import subprocess
import sys
import warnings

import h5py
import netCDF4
import numpy as np
import xarray as xr

os.environ["HDF5_USE_FILE_LOCKING"] = "FALSE"
warnings.simplefilter("ignore")


def equal(have, want):
    """Of attributes: JSON has one type of number."""
    if isinstance(have, dict):  # of a compound type
        return have == {n: want[n] if not want[n].dtype.names else have[n] for n in want.dtype.names}
    if isinstance(want, str) or isinstance(have, str):
        return isinstance(have, str) and isinstance(want, str) and have == want
    have, want = np.asarray(have), np.asarray(want)
    if have.size == 0:
        return want.size == 0
    if have.dtype.kind in "SUO" or want.dtype.kind in "SUO":
        return have.shape == want.shape and have.tolist() == want.tolist()
    return have.shape == want.shape and np.array_equal(have, want, equal_nan=True)


def same_values(have, want):
    if have.dtype != want.dtype or have.shape != want.shape:
        return False
    if have.dtype.kind == "O":
        return all(a == b or (a != a and b != b) for a, b in zip(have.reshape(-1), want.reshape(-1)))
    if have.dtype.kind in "fc":
        return np.array_equal(have, want, equal_nan=True)
    return np.array_equal(have, want)


def differences(have, want):
    for what, a, b in (
        ("names", set(have.variables), set(want.variables)),
        ("coordinates", set(have.coords), set(want.coords)),
        ("sizes", dict(have.sizes), dict(want.sizes)),
    ):
        if a != b:
            yield f"{what}: {sorted(a, key=str) if isinstance(a, set) else a} for {b}"
    for name in set(have.variables) & set(want.variables):
        a, b = have.variables[name], want.variables[name]
        if a.dims != b.dims:
            yield f"{name}: dimensions {a.dims} for {b.dims}"
        elif not same_values(np.asarray(a.values), np.asarray(b.values)):
            yield f"{name}: values {a.dtype} {a.values!r:.300} for {b.dtype} {b.values!r:.300}"
        yield from attribute_differences(name, a.attrs, b.attrs)
        for key in ("_FillValue", "missing_value", "scale_factor", "add_offset", "units", "calendar"):
            if (key in a.encoding) != (key in b.encoding):
                yield f"{name}: encoding {key} {a.encoding.get(key)!r} for {b.encoding.get(key)!r}"
            elif key in a.encoding and not equal(a.encoding[key], b.encoding[key]):
                yield f"{name}: encoding {key} {a.encoding[key]!r} for {b.encoding[key]!r}"
    yield from attribute_differences("", have.attrs, want.attrs)


def attribute_differences(name, have, want):
    for key in set(have) | set(want):
        if key not in have or key not in want:
            yield f"{name}@{key}: {have.get(key)!r:.100} for {want.get(key)!r:.100}"
        elif not equal(have[key], want[key]):
            yield f"{name}@{key}: {have[key]!r:.200} for {want[key]!r:.200}"


def numbers(value):
    """What strict JSON has no words for are strings."""
    if isinstance(value, dict):
        return {k: numbers(v) for k, v in value.items()}
    if isinstance(value, list):
        return [numbers(v) for v in value]
    return float(value) if value in ("NaN", "Infinity", "-Infinity") else value


class Version3:
    """A store of version 3 as far as netCDF's types need it."""

    def __init__(self, root):
        self.root = root

    def open(self, group, decode):
        place = os.path.join(self.root, group.strip("/"))
        variables = {}
        for name in os.listdir(place):
            path = os.path.join(place, name, "zarr.json")
            meta = self.load(path) if os.path.exists(path) else {"node_type": "group"}
            if meta["node_type"] == "array" and '"struct"' not in json.dumps(meta["data_type"]):
                variables[name] = self.variable(os.path.join(place, name), meta)
        attributes = numbers(self.load(os.path.join(place, "zarr.json"))["attributes"])
        # A coordinate of characters has one dimension only when it is decoded.
        variables, attributes, coordinates = xr.conventions.decode_cf_variables(
            variables, attributes, mask_and_scale=decode, decode_times=decode, concat_characters=decode
        )
        return xr.Dataset(variables, attrs=attributes).set_coords(coordinates & set(variables))

    @staticmethod
    def load(path):
        def no_constant(name):
            raise ValueError(name)

        with open(path, encoding="utf-8") as file:
            return json.loads(file.read(), parse_constant=no_constant)

    def variable(self, place, meta):
        attributes = numbers(meta["attributes"])
        if isinstance(meta["data_type"], dict):
            assert meta["data_type"]["name"] == "null_terminated_bytes", meta["data_type"]
            dtype = np.dtype("S%d" % meta["data_type"]["configuration"]["length_bytes"])
        else:
            dtype = np.dtype(object if meta["data_type"] == "string" else meta["data_type"])
        if meta["codecs"][0].get("configuration", {}).get("endian") == "big":
            dtype = dtype.newbyteorder(">")
        fill = attributes.get("_FillValue")
        if dtype.kind == "f" and fill is not None:
            attributes["_FillValue"] = struct.unpack("<d", base64.b64decode(fill))[0]
        shape, chunks = meta["shape"], meta["chunk_grid"]["configuration"]["chunk_shape"]
        values = np.empty(shape, dtype)
        for at in itertools.product(*(range(-(-s // c)) for s, c in zip(shape, chunks))):
            with open(os.path.join(place, ".".join(["c"] + [str(i) for i in at])), "rb") as file:
                chunk = self.decode(file.read(), dtype).reshape(chunks)
            box = tuple(slice(i * c, min((i + 1) * c, s)) for i, c, s in zip(at, chunks, shape))
            values[box] = chunk[tuple(slice(0, b.stop - b.start) for b in box)]
        return xr.Variable(meta["dimension_names"], values, attributes)

    @staticmethod
    def decode(content, dtype):
        if dtype.kind != "O":
            return np.frombuffer(content, dtype)
        out, at = [], 4
        while at < len(content):
            (length,) = struct.unpack_from("<I", content, at)
            out.append(content[at + 4 : at + 4 + length].decode())
            at += 4 + length
        return np.array(out + [None], object)[:-1]


def groups_of(path):
    def below(group):
        yield group.path
        for inner in group.groups.values():
            yield from below(inner)

    with netCDF4.Dataset(path) as file:
        return list(below(file))


def skipped(path, group):
    """Variables that xarray cannot read from the file: those of user-defined types, and those that netCDF-C
    takes from memory that nobody wrote to."""
    with h5py.File(path) as file:
        undefined = [
            n
            for n, d in file[group].items()
            if isinstance(d, h5py.Dataset)
            and d.id.get_storage_size() == 0
            and d.shape is not None
            and d.id.get_create_plist().get_fill_time() == h5py.h5d.FILL_TIME_NEVER
        ]
    with netCDF4.Dataset(path) as file:
        found = file[group] if group != "/" else file
        return undefined + [
            n
            for n, v in found.variables.items()
            if isinstance(v.datatype, (netCDF4.CompoundType, netCDF4.VLType))
            or not (isinstance(v.dtype, np.dtype) or v.dtype is str)
        ]


def compare(views, path):
    for group, decode in itertools.product(groups_of(path), (False, True)):
        drop = skipped(path, group)
        how = dict(mask_and_scale=decode, decode_times=decode, concat_characters=decode)
        try:
            want = xr.open_dataset(path, group=group, engine="netcdf4", drop_variables=drop, **how)
        except ValueError:  # nor what has a coordinate of two dimensions
            continue
        with want:
            want.load()
            for store in ("plain.zarr", "stored.zarr", "v3.zarr"):
                root = os.path.join(views, store)
                want_here = want
                if store == "v3.zarr":
                    have = Version3(root).open(group, decode).drop_vars(drop, errors="ignore")
                    want_here = without_text_fill(want, path, group, decode)
                else:
                    have = xr.open_zarr(
                        root,
                        group=group.strip("/") or None,
                        consolidated=True,
                        drop_variables=drop,
                        chunks=None,
                        **how,
                    )
                    have = have.drop_vars([n for n, v in have.variables.items() if v.dtype.kind == "V"])
                if store == "stored.zarr":
                    have = with_numbers(have)
                    want_here = without_nan_as_missing(want)
                for difference in differences(have, want_here):
                    yield f"{store}{group} decode={decode}: {difference}"


def with_numbers(have):
    out = have.copy()
    out.attrs = {k: numbers(v) for k, v in have.attrs.items()}
    for v in out.variables.values():
        v.attrs = {k: numbers(a) for k, a in v.attrs.items()}
    return out


def without_nan_as_missing(want):
    """The strict store does not say that NaN is missing in floats."""
    out = want.copy()
    for v in out.variables.values():
        for kept in (v.attrs, v.encoding):
            if v.dtype.kind == "f" and np.all(np.isnan(np.float64(kept.get("missing_value", 0)))):
                del kept["missing_value"]
    return out


def no_constant(word):
    raise ValueError(f"{word} is no JSON")


def strictness(views):
    for directory, _, names in itertools.chain(
        *(os.walk(f"{views}/{s}") for s in ("stored.zarr", "v3.zarr"))
    ):
        for name in names:
            if name in (".zarray", ".zattrs", ".zgroup", ".zmetadata", "zarr.json"):
                with open(f"{directory}/{name}", encoding="utf-8") as file:
                    try:
                        json.loads(file.read(), parse_constant=no_constant)
                    except ValueError as error:
                        yield f"{directory}/{name}: {error}"


def without_text_fill(want, path, group, decode):
    """xarray refuses a `_FillValue` of text in version 3, which therefore has none: nothing is masked."""
    with netCDF4.Dataset(path) as file:
        found = (file[group] if group != "/" else file).variables
        text = [
            n for n, v in found.items() if getattr(v.dtype, "kind", "") == "S" and "_FillValue" in v.ncattrs()
        ]
    if not text:
        return want
    plain = xr.open_dataset(
        path,
        group=group,
        engine="netcdf4",
        mask_and_scale=False,
        decode_times=decode,
        concat_characters=decode,
        drop_variables=skipped(path, group),
    )
    out = want.copy()
    for name in text:
        v = plain.variables[name].load()
        out[name] = xr.Variable(v.dims, v.values, {k: a for k, a in v.attrs.items() if k != "_FillValue"})
    return out


def output(command):
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    return done.stdout if done.returncode == 0 else f"exit code {done.returncode}: {done.stderr[-500:]}"


def figures_of(dump, fills):
    """The numbers that ncdump prints, by variable. It knows a fill value by an attribute of the variable's
    own type only, which JSON does not have, and prints others as they are."""
    data = "\n" + dump.split("\ndata:\n")[-1]
    return {
        name: [
            float(fills[name] if word == "_" else word.rstrip("f"))
            for word in text.replace(" ", "").replace("\n", "").split(",")
        ]
        for name, text in re.findall(r"\n ?(\w+) =([^;]*);", data)
    }


def compare_tools(views, path):
    store = f"file://{views}/plain.zarr#mode=zarr,file"
    with netCDF4.Dataset(path) as file:
        names = [n for n, v in file.variables.items() if v.ndim > 0]
        fills = {n: getattr(file[n], "_FillValue", np.nan) for n in names}
        fields = [n for n, v in file.variables.items() if v.dimensions[-2:] == ("lat", "lon")]
    want, have = (
        figures_of(output(["ncdump", "-v", ",".join(names), place]), fills) for place in (path, store)
    )
    for name in names:
        if name not in want or not np.array_equal(have.get(name, []), want[name], equal_nan=True):
            yield f"ncdump {name}: {have.get(name)!r:.300} for {want.get(name)!r:.300}"
    for name in fields:
        for of in ("fldmean", "fldsum"):
            have, want = (
                output(["cdo", "-s", "outputf,%.9g", "-" + of, "-selname," + name, place])
                for place in (store, path)
            )
            if have != want or not want.split():
                yield f"cdo {of} {name}: {have!r} for {want!r}"
        have, want = (
            output(["ncks", "-H", "-C", "-s", "%.9g\n", "-v", name, place]) for place in (store, path)
        )
        if have != want or not want.split():
            yield f"ncks {name}: {have!r:.300} for {want!r:.300}"


def main():
    tools = "--tools" in sys.argv
    directory, *files = [a for a in sys.argv[1:] if a != "--tools"]
    failed = 0
    for path in files:
        views = directory if len(files) == 1 else os.path.join(directory, os.path.basename(path), ".h5")
        for difference in (
            *strictness(views),
            *compare(views, path),
            *(compare_tools(views, path) if tools else ()),
        ):
            print(f"{os.path.basename(path)}: {difference}")
            failed += 1
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
