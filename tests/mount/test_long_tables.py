"""/.h5/decoded: variables with coordinates as tables with a row for each element, held against xarray's
to_dataframe, and the tables of groups that conventions name (AnnData, NWB)."""
import csv
import io
import itertools
import json
import math
import os
import random
import unittest

import h5py
import numpy as np

from fixtures.parquet_table import read_table
from mounting import MountTest, error, read, unmount

try:
    import pandas
    import xarray
except ModuleNotFoundError:
    pandas = xarray = None
try:
    import anndata
except ModuleNotFoundError:
    anndata = None

RNG = np.random.default_rng(5)


def cases():
    """Datasets by name, and how they are written."""
    day = np.datetime64("2000-01-01", "ns")
    times = day + np.arange(6) * np.timedelta64(36, "h")
    lat, lon = np.linspace(-80, 80, 5), np.arange(0, 360, 60, dtype="f4")
    grid = xarray.Dataset(
        {
            "t": (("time", "lat", "lon"), RNG.normal(280, 9, (6, 5, 6))),
            "p": (("time", "lat", "lon"), RNG.normal(0, 1, (6, 5, 6)).astype("f4")),
            "mask": (("lat", "lon"), RNG.integers(0, 3, (5, 6))),
            "mean": (("time",), RNG.normal(0, 1, 6)),
            "edges": (("lat", "side"), RNG.normal(0, 1, (5, 2))),
        },
        {"time": times, "lat": lat, "lon": lon},
    )
    grid.t.values[1, 2, 3] = np.nan
    packed = {"dtype": "i2", "scale_factor": 0.01, "add_offset": 273.15, "_FillValue": -32768}
    names = ["a", "bb", 'ü,"x"']
    yield "grid", grid, {}
    yield "packed", grid, {"t": {**packed, "zlib": True, "chunksizes": (2, 3, 4)}}
    yield "falling", grid.isel(lat=slice(None, None, -1)), {"lat": {"dtype": "f4"}}
    yield "unlimited", grid, {"unlimited_dims": ["time"]}
    yield "words", xarray.Dataset({"v": (("n", "x"), np.arange(6).reshape(3, 2))}, {"n": names}), {}
    yield "text", xarray.Dataset({"v": (("x", "y"), np.array([["a", ""], ["b", "c"]]))}, {"x": [3, 4]}), {}
    yield "chars", xarray.Dataset(
        {"v": (("x", "y"), np.array([[b"a", b"bc"], [b"", b"d"]]))}, {"y": [1.5, 2.5]}
    ), {}
    yield "bool", xarray.Dataset({"v": (("x", "y"), np.eye(3) > 0)}, {"x": [1, 2, 3], "y": [7, 8, 9]}), {}
    yield "five", xarray.Dataset(
        {"v": (tuple("abcde"), np.arange(72).reshape(2, 3, 2, 3, 2))}, {"c": [0.5, 1.5], "a": [9, 8]}
    ), {}
    yield "one", xarray.Dataset({"v": (("x",), np.arange(4.0))}, {"x": [4, 3, 2, 1]}), {}
    yield "times", xarray.Dataset(
        {"v": (("x",), times), "w": (("x", "y"), np.arange(12).reshape(6, 2))}, {"x": np.arange(6)}
    ), {}
    yield "empty", xarray.Dataset({"v": (("x", "y"), np.zeros((2, 3)))}, {"x": [1, 2]}), {}
    calendar = xarray.cftime_range("2000-02-28", periods=3, calendar="360_day")
    yield "noleap", xarray.Dataset(
        {"v": (("time", "x"), np.arange(6.0).reshape(3, 2))}, {"time": calendar}
    ), {}
    yield "large", xarray.Dataset(
        {"v": (("x", "y"), np.arange(12000).reshape(120, 100))},
        {"x": np.arange(120) * 0.1, "y": np.arange(100)},
    ), {"v": {"chunksizes": (64, 30)}}

    table = np.arange(6).reshape(2, 3)
    for name, variables, coordinates, encoding in (
        ("names", {"my var": (("dim one", "b.c"), table)}, {"dim one": [1, 2], "b.c": [0.5, 1, 2]}, {}),
        (
            "unsigned",
            {"v": (("x", "y"), (table * 50).astype("u1"))},
            {"x": [1, 2]},
            {"v": {"_FillValue": 255}},
        ),
        (
            "masked",
            {"v": (("x", "y"), np.array([[1, np.nan], [3, 4]]))},
            {"y": [1, 2]},
            {"v": {"dtype": "i4", "_FillValue": -9}},
        ),
        (
            "odd chunks",
            {"v": (("x", "y"), np.arange(600.0).reshape(20, 30))},
            {"x": np.arange(20)},
            {"v": {"chunksizes": (7, 11), "zlib": True}},
        ),
        ("scalars", {"v": (("x", "y"), table)}, {"x": [1, 2], "h": 2.0, "s": "name"}, {}),
        ("down", {"v": (("x", "y"), table)}, {"x": [9, 3], "y": [2.5, 1.5, 0.5]}, {}),
        (
            "wide",
            {"v": (("x", "y"), table.astype("u8") + 2**40)},
            {"x": np.array([2**40, 2**50], "u8")},
            {},
        ),
        ("repeated", {"v": (("x", "y"), table)}, {"x": [1, 1], "y": [2, 2, 2]}, {}),
        ("one each", {"v": (("x", "y"), table[:1, :1])}, {"x": [7], "y": [8]}, {}),
        ("infinite", {"v": (("x", "y"), np.array([[np.inf, -np.inf], [np.nan, 0]]))}, {"x": [np.inf, 1]}, {}),
        ("small", {"v": (("x", "y"), table.astype("i1"))}, {"x": np.array([1, 2], "i1")}, {}),
        ("three", {"v": (("x", "y", "z"), np.arange(24).reshape(2, 3, 4))}, {"y": [1, 2, 3]}, {}),
        (
            "two sets",
            {"v": (("x", "y"), table), "w": (("y", "x"), table.T)},
            {"x": [1, 2], "y": [1, 2, 3]},
            {},
        ),
        ("mixed", {"v": (("x",), [1, 2]), "w": (("y",), [1, 2, 3])}, {"x": [1, 2], "y": [1, 2, 3]}, {}),
        (
            "shared",
            {"v": (("x", "y"), table), "w": (("x", "y"), table * 0.5), "u": (("x", "y"), table % 2 > 0)},
            {"x": [1, 2]},
            {},
        ),
        ("dates", {"v": (("x", "y"), times.reshape(2, 3))}, {"x": [1, 2]}, {}),
    ):
        yield name, xarray.Dataset(variables, coordinates), encoding


def shown(value):
    """A cell of CSV as its value."""
    try:
        return float(value)
    except ValueError:
        return value


def expected(value):
    if isinstance(value, bytes):
        return shown(value.decode())
    if isinstance(value, (pandas.Timestamp, np.datetime64)):
        return pandas.Timestamp(value).strftime("%Y-%m-%dT%H:%M:%S")
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, (bool, np.bool_)):
        return float(value)
    return shown(value) if isinstance(value, str) else float(value)


def same(have, want):
    if isinstance(have, float) and isinstance(want, float):
        return math.isclose(have, want, rel_tol=1e-6) or have != have and want != want
    return have == want or have == "" and want != want


class LongTables(MountTest):
    def table(self, path):
        header, *rows = csv.reader(io.StringIO(read(path).decode()))
        return header, [[shown(cell) for cell in row] for row in rows]

    def compare(self, path, frame):
        header, rows = self.table(path)
        self.assertEqual(header, list(frame.columns), path)
        self.assertEqual(len(rows), len(frame), path)
        for have, want in zip(rows, frame.itertuples(index=False)):
            for a, b in zip(have, want):
                self.assertTrue(same(a, expected(b)), (path, have, want))
        return len(rows) * len(header)

    def test_what_to_dataframe_has(self):
        if xarray is None:
            raise unittest.SkipTest("no xarray")
        compared = 0
        for name, dataset, encoding in cases():
            how = {"unlimited_dims": encoding.pop("unlimited_dims")} if "unlimited_dims" in encoding else {}
            dataset.to_netcdf(name + ".nc", encoding=encoding, **how)
            mnt = self.mount(name + ".nc")
            with xarray.open_dataset(name + ".nc") as opened:
                by_dims = {}
                for variable in opened.data_vars:
                    dims = opened[variable].dims
                    if not any(dim in opened.coords for dim in dims):
                        continue
                    frame = opened[variable].to_dataframe(dim_order=dims).reset_index()
                    frame = frame[[*dims, variable]]
                    compared += self.compare(mnt + ".h5/decoded/csv/%s.csv" % variable, frame)
                    by_dims.setdefault(dims, []).append(variable)
                for dims, variables in by_dims.items():
                    grid = "@" if len(by_dims) == 1 else "@" + ",".join(dims)
                    frame = opened[variables].to_dataframe(dim_order=dims).reset_index()
                    frame = frame[[*dims, *variables]]
                    path = mnt + ".h5/decoded/%%s/%s.%%s" % grid
                    compared += self.compare(path % ("csv", "csv"), frame)
                    rows = [json.loads(line) for line in read(path % ("ndjson", "ndjson")).splitlines()]
                    self.assertEqual(len(rows), len(frame))
                    self.same_rows(path)
        print("%d values are those of xarray" % compared)
        self.assertGreater(compared, 70000)

    def same_rows(self, path):
        """Parquet has the rows of CSV, in another order."""
        header, rows = self.table(path % ("csv", "csv"))
        names, found = read_table(path % ("parquet", "parquet"))
        self.assertEqual(names, header)

        def key(row, times):
            return tuple(
                np.datetime_as_string(np.datetime64(v, "us"), "s")
                if i in times and v is not None
                else ""
                if v is None or v != v
                else round(float(v), 4)
                if not isinstance(v, str)
                else v
                for i, v in enumerate(row)
            )

        times = {i for i, v in enumerate(rows[0]) if isinstance(v, str) and isinstance(found[0][i], int)}
        left = sorted((key(row, times) for row in found), key=str)
        right = sorted(
            (
                key(
                    [
                        np.datetime64(v, "us") if i in times and v != "" else None if v == "" else v
                        for i, v in enumerate(row)
                    ],
                    times,
                )
                for row in rows
            ),
            key=str,
        )
        self.assertEqual(left, right, path)

    def test_what_is_applied_is_said(self):
        if xarray is None:
            raise unittest.SkipTest("no xarray")
        _, dataset, _ = next(cases())
        dataset.to_netcdf("g.nc", encoding={"t": {"dtype": "i2", "scale_factor": 0.1, "_FillValue": -1}})
        mnt = self.mount("g.nc")
        said = json.loads(os.getxattr(mnt + ".h5/decoded/csv/t.csv", "user.hdf5.decoded"))
        self.assertEqual(said["dimensions"], ["time", "lat", "lon"])
        self.assertEqual(said["unpacked"], "float64")
        said = json.loads(os.getxattr(mnt + ".h5/decoded/csv/@lat,side.csv", "user.hdf5.decoded"))
        self.assertEqual(said["dimensions"], ["lat", "side"])

    def test_any_range_is_that_of_the_whole(self):
        with h5py.File("f.h5", "w") as f:
            for i, n in enumerate((40, 50, 60)):
                f["xyz"[i]] = np.arange(n) / 4
                f["xyz"[i]].make_scale()
            v = f.create_dataset(
                "v", data=RNG.integers(0, 99, (40, 50, 60)), chunks=(9, 8, 11), compression=1
            )
            for i in range(3):
                v.dims[i].attach_scale(f["xyz"[i]])
        mnt = self.mount("f.h5")
        for name in ("csv/v.csv", "parquet/v.parquet", "ndjson/v.ndjson"):
            path = mnt + ".h5/decoded/" + name
            whole = read(path)
            self.assertEqual(len(whole), os.path.getsize(path))
            with open(path, "rb", buffering=0) as f:
                for _ in range(60):
                    at, length = random.randrange(len(whole)), random.randrange(1, 70000)
                    self.assertEqual(os.pread(f.fileno(), length, at), whole[at : at + length], name)

    def test_scales_that_do_not_fit(self):
        with h5py.File("f.h5", "w") as f:
            f["short"] = np.arange(2.0)
            f["flat"] = np.zeros((3, 3))
            f["nothing"] = h5py.Empty("f8")
            f["good"] = np.arange(4)
            for name in ("short", "flat", "nothing", "good"):
                f[name].attrs["CLASS"] = np.bytes_("DIMENSION_SCALE")
            reference = h5py.vlen_dtype(h5py.ref_dtype)
            for i, scales in enumerate(
                (["short", "good"], ["flat", "good"], ["nothing", "good"], ["v3", "good"])
            ):
                v = f.create_dataset("v%d" % i, data=np.arange(12).reshape(3, 4))
                row = np.empty(2, reference)
                for k, scale in enumerate(scales):
                    row[k] = np.array([f[scale].ref], h5py.ref_dtype)
                v.attrs.create("DIMENSION_LIST", row, dtype=reference)
        mnt = self.mount("f.h5")
        header, rows = self.table(mnt + ".h5/decoded/csv/v0.csv")
        self.assertEqual(header, ["short", "good", "v0"])
        self.assertEqual([row[0] for row in rows], [0.0] * 4 + [1.0] * 4 + [""] * 4)
        for name, column in (("v1", "dim_0"), ("v2", "dim_0"), ("v3", "dim_0")):
            header, rows = self.table(mnt + ".h5/decoded/csv/%s.csv" % name)
            self.assertEqual(header, [column, "good", name])
            self.assertEqual([row[0] for row in rows], [0.0] * 4 + [1.0] * 4 + [2.0] * 4)
        grids = [name for name in os.listdir(mnt + ".h5/decoded/parquet") if name.startswith("@")]
        self.assertEqual(sorted(grids), ["@dim_0,good.parquet", "@short,good.parquet"])

    def test_a_grid_grows(self):
        with h5py.File("g.h5", "w", libver="latest") as f:
            f.create_dataset("time", (0,), "f8", maxshape=(None,), chunks=(4,)).make_scale()
            f["x"] = np.arange(3) * 0.5
            f["x"].make_scale()
            v = f.create_dataset("v", (0, 3), "i4", maxshape=(None, 3), chunks=(4, 3))
            w = f.create_dataset("w", (0,), "i2", maxshape=(None,), chunks=(4,))
            for of_time in (v, w):
                of_time.dims[0].attach_scale(f["time"])
            v.dims[1].attach_scale(f["x"])
        with h5py.File("g.h5", "a", libver="latest") as f:
            f.swmr_mode = True
            mnt = self.mount("g.h5", "-o", "swmr=on")
            # What is looked at while it is empty has the columns that it has later.
            for name, columns in (("v", ["time", "x", "v"]), ("w", ["time", "w"])):
                self.assertEqual(self.table(mnt + ".h5/decoded/csv/%s.csv" % name), (columns, []))
                read_table(mnt + ".h5/decoded/parquet/%s.parquet" % name)
            for steps in (2, 5, 9):
                for name in ("time", "v", "w"):
                    f[name].resize(steps, axis=0)
                    f[name][:] = np.arange(steps * (3 if name == "v" else 1)).reshape(f[name].shape)
                    f[name].flush()
                self.until_rows(mnt + ".h5/decoded/csv/v.csv", 3 * steps)
                _, rows = self.table(mnt + ".h5/decoded/csv/v.csv")
                self.assertEqual(rows, [[i // 3, i % 3 * 0.5, i] for i in range(3 * steps)])
                _, rows = read_table(mnt + ".h5/decoded/parquet/v.parquet")
                self.assertEqual(
                    sorted(map(tuple, rows)), [(i // 3, i % 3 * 0.5, i) for i in range(3 * steps)]
                )
                self.until_rows(mnt + ".h5/decoded/csv/w.csv", steps)
                _, rows = self.table(mnt + ".h5/decoded/csv/w.csv")
                self.assertEqual(rows, [[i, i] for i in range(steps)])

    def until_rows(self, path, rows):
        from support.program import until

        until(lambda: os.path.exists(path) and len(read(path).splitlines()) == rows + 1, "grown")


class TablesOfGroups(MountTest):
    def table(self, path):
        return list(csv.reader(io.StringIO(read(path).decode())))

    def test_dataframes_of_anndata(self):
        if anndata is None:
            raise unittest.SkipTest("no anndata")
        names = ["c%d" % i for i in range(5)]
        obs = pandas.DataFrame(
            {
                "z": [1.5, 2, np.nan, 4, 5],
                "a": pandas.Categorical(["x", None, "y", "x", "y"]),
                "n": pandas.array([1, None, 3, 4, 5], dtype="Int64"),
                "b": [True, False, True, True, False],
                "s": ["p", "", "q,", 'r"', "ü"],
            },
            index=pandas.Index(names, name="cell"),
        )
        anndata.AnnData(np.zeros((5, 2), "f4"), obs=obs).write_h5ad("a.h5ad")
        mnt = self.mount("a.h5ad")
        rows = self.table(mnt + ".h5/decoded/csv/obs.csv")
        self.assertEqual(rows[0], ["cell", "z", "a", "n", "b", "s"])
        self.assertEqual([row[0] for row in rows[1:]], names)
        self.assertEqual([row[2] for row in rows[1:]], ["x", "", "y", "x", "y"])
        self.assertEqual([row[3] for row in rows[1:]], ["1", "", "3", "4", "5"])
        self.assertEqual([row[5] for row in rows[1:]], ["p", "", "q,", 'r"', "ü"])
        self.assertEqual(os.getxattr(mnt + "obs", "user.hdf5.decoded"), b'{"convention":"AnnData"}')
        found = read_table(mnt + ".h5/decoded/parquet/obs.parquet")[1]
        self.assertEqual([row[2] for row in found], ["x", None, "y", "x", "y"])

    def test_every_kind_of_column_of_anndata(self):
        """What read_h5ad gives of obs, of 30 files with a column or two each."""
        if anndata is None:
            raise unittest.SkipTest("no anndata")
        columns = {
            "float32": np.arange(4, dtype="f4") / 3,
            "float64": [0.1, np.nan, -1e300, 4],
            "int8": np.array([-128, 0, 1, 127], "i1"),
            "uint64": np.array([0, 1, 2**63, 2**64 - 1], "u8"),
            "bool": [True, False, False, True],
            "text": ["a", "", "ü", "x,y"],
            "lines": ["a\nb", '"', " ", "\t"],
            "category": pandas.Categorical(["b", "a", "b", None]),
            "ordered": pandas.Categorical(["lo", "hi", "lo", "hi"], ["lo", "hi"], ordered=True),
            "numbers": pandas.Categorical([3, 1, 3, 2]),
            "floats": pandas.Categorical([0.5, 1.5, None, 0.5]),
            "empty": pandas.Categorical([None] * 4, ["never"]),
            "Int16": pandas.array([1, None, -3, 4], dtype="Int16"),
            "UInt32": pandas.array([None, 1, 2, 3], dtype="UInt32"),
            "boolean": pandas.array([True, None, False, True], dtype="boolean"),
        }
        indices = {"plain": ["w", "x", "y", "z"], "number": ["0", "1", "2", "3"]}
        compared = 0
        for (name, values), (kind, index) in itertools.product(columns.items(), indices.items()):
            frame = pandas.DataFrame({name: values, "second": range(4)}, index=index)
            if kind == "number":
                frame.index.name = "cell id"
            anndata.AnnData(np.zeros((4, 1), "f4"), obs=frame).write_h5ad("c.h5ad")
            mnt = self.mount("c.h5ad")
            want = anndata.read_h5ad("c.h5ad").obs
            header, *rows = self.table(mnt + ".h5/decoded/csv/obs.csv")
            self.assertEqual(header, [want.index.name or "_index", name, "second"])
            self.assertEqual([row[0] for row in rows], list(want.index))
            for have, value in zip((row[1] for row in rows), want[name].array):
                if value is None or value is pandas.NA or value != value:
                    self.assertIn(have, ("", "NaN"), name)
                elif isinstance(value, str):
                    self.assertEqual(have, value, name)
                elif isinstance(value, (bool, np.bool_)):
                    self.assertEqual(have, str(value).upper(), name)
                else:
                    self.assertEqual(np.asarray(value).dtype.type(have), value, name)
                compared += 2
            unmount(mnt)
        self.assertEqual(compared, 240)

    def write_nwb(self, name, ends=(2, 2, 5)):
        text = h5py.string_dtype()
        with h5py.File(name, "w") as f:
            f["target"] = np.arange(3)
            t = f.create_group("trials")
            t.attrs["neurodata_type"] = "DynamicTable"
            t.attrs.create("colnames", ["start", "spikes", "note", "object", "far"], dtype=text)
            t["id"] = np.arange(3)
            t["note"] = ["a", "", "c"]
            t["start"] = [0.5, 1.5, 2.5]
            t["spikes"] = np.arange(5) / 2
            t["spikes_index"] = np.array(ends, "u1")
            t.create_dataset("object", data=[f["target"].ref] * 3, dtype=h5py.ref_dtype)

    def test_dynamic_tables_of_nwb(self):
        self.write_nwb("n.nwb")
        mnt = self.mount("n.nwb")
        self.assertEqual(
            self.table(mnt + ".h5/decoded/csv/trials.csv"),
            [
                ["id", "start", "spikes", "note", "object"],
                ["0", "0.5", "[0.0,0.5]", "a", "/target"],
                ["1", "1.5", "[]", "", "/target"],
                ["2", "2.5", "[1.0,1.5,2.0]", "c", "/target"],
            ],
        )
        lines = read(mnt + ".h5/decoded/ndjson/trials.ndjson").splitlines()
        self.assertEqual(json.loads(lines[2])["spikes"], [1.0, 1.5, 2.0])
        names, rows = read_table(mnt + ".h5/decoded/parquet/trials.parquet")
        self.assertEqual(names, ["id", "start", "spikes", "note", "object"])
        self.assertEqual([row[2] for row in rows], [[0.0, 0.5], [], [1.0, 1.5, 2.0]])
        left_out = os.getxattr(mnt + ".h5/decoded/csv/trials.csv", "user.hdf5.left_out")
        self.assertEqual(left_out, b"far (not there)")

    def test_every_kind_of_column_of_nwb(self):
        """Files as the schema of DynamicTable says, each with a column and a ragged one of a type."""
        ends = np.array([0, 3, 3, 4, 9])
        numbers = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", ">i2", ">u4", ">f4", ">f8")
        for i, kind in enumerate((*numbers, "bool", "text")):
            values = (RNG.normal(0, 40, 9) if "f" in kind else RNG.integers(0, 99, 9)).astype(
                kind if kind in numbers else "i8"
            )
            if kind == "bool":
                values = values > 50
            if kind == "text":
                values = ['t%d "ü"' % v for v in values]
            with h5py.File("k%d.nwb" % i, "w") as f:
                t = f.create_group("acquisition/table")
                t.attrs["neurodata_type"] = "DynamicTable"
                t.attrs.create("colnames", ["flat", "lists"], dtype=h5py.string_dtype())
                t["id"] = np.arange(5, dtype="i4") * 10
                t["flat"], t["lists"] = values[:5], values
                t["lists_index"] = ends.astype(("u1", "u2", "i4", ">u8")[i % 4])
            mnt = self.mount("k%d.nwb" % i)
            path = mnt + ".h5/decoded/%s/acquisition/table.%s"
            rows = [json.loads(line) for line in read(path % ("ndjson", "ndjson")).splitlines()]
            have = [row["lists"] for row in rows]
            cells = [row[2] for row in self.table(path % ("csv", "csv"))[1:]]
            self.assertEqual([json.loads(cell) for cell in cells], have, kind)
            found = read_table(path % ("parquet", "parquet"))[1]
            self.assertEqual([row[0] for row in found], [0, 10, 20, 30, 40])
            if kind == "bool":
                want = [["TRUE" if v else "FALSE" for v in values[a:b]] for a, b in zip([0, *ends], ends)]
            else:
                want = [list(values[a:b]) for a, b in zip([0, *ends], ends)]
            if kind in numbers:
                have = [[np.dtype(kind).type(v) for v in one] for one in have]
                self.assertEqual([row[2] for row in found], [[v.item() for v in one] for one in want], kind)
            self.assertEqual(have, want, kind)
            unmount(mnt)

    def test_lists_that_end_before_they_begin(self):
        self.write_nwb("n.nwb", ends=(4, 2, 200))
        mnt = self.mount("n.nwb")
        for view in ("csv", "parquet"):
            path = "%s.h5/decoded/%s/trials.%s" % (mnt, view, view)
            self.assertEqual(error(read, path), "Input/output error")
        self.assertEqual(read(mnt + ".h5/decoded/csv/target.csv"), read(mnt + ".h5/csv/target.csv"))
