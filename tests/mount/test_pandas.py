"""/.h5/decoded of files that pandas and PyTables wrote, held against what these read from them."""
import csv
import datetime
import io
import json
import os
import random
import shutil
import warnings

import h5py
import numpy as np

from fixtures.parquet_table import read_table
from mounting import MountTest, error, read

try:
    import pandas as pd
    import tables
except ModuleNotFoundError:
    pd = tables = None

N = 7


def frames():
    """Frames and series by name."""
    rng = np.random.default_rng(3)
    dates = pd.to_datetime(
        ["2020-01-01", None, "2020-01-03 04:05:06.789012345", "1969-12-31 23:59:59.5"] * 2
    )[:N]
    texts = ["a", None, "é日本", "", "nan", 'with,comma and "quotes"', "two\nlines"]
    numbers = pd.DataFrame(
        {kind: np.arange(N).astype(kind) * 3 for kind in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")}
    )
    floats = pd.DataFrame({"f4": np.float32([1.1, np.nan, np.inf, -0.0, 5, 6, 7]), "f8": rng.normal(size=N)})
    mixed = pd.DataFrame(
        {
            "i": np.arange(N),
            "f": [1.5, np.nan, 2, 3, 4, 5, np.inf],
            "b": [True, False, True, True, False, False, True],
            "d": dates,
            "t": pd.to_timedelta([1, None, 3, -4, 5, 6, 7], unit="s"),
            "z": pd.date_range("2021-03-28", periods=N, freq="H", tz="Europe/Berlin"),
            "g": np.arange(N) * 1.5,
        }
    )
    text = pd.DataFrame({"s": texts, "n": range(N), "s2": ["x" * i for i in range(N)]})
    levels = pd.MultiIndex.from_arrays([list("abcabca"), range(N), dates], names=["k", None, "when"])
    plain = pd.DataFrame(rng.integers(0, 99, (N, 3)), columns=["p", "q", "r"])
    return {
        "numbers": numbers,
        "floats": floats,
        "mixed": mixed,
        "text": text,
        "bools": pd.DataFrame(rng.random((N, 3)) > 0.5, columns=list("xyz")),
        "wide": pd.DataFrame(rng.normal(size=(N, 60))),
        "whole_names": pd.DataFrame(np.zeros((2, 3)), columns=[0, 5, 2]),
        "float_names": pd.DataFrame(np.zeros((2, 2)), columns=[0.5, 2.0]),
        "unicode_names": pd.DataFrame({"é": [1], "日本": [2], "a/b": [3], "a'b": [4]}),
        "index_named": plain.set_index(pd.Index(range(10, 10 + N), name="row")),
        "index_dates": plain.set_index(pd.date_range("2000-01-01", periods=N, name="day")),
        "index_zone": plain.set_index(pd.date_range("2000-01-01", periods=N, tz="UTC")),
        "index_texts": plain.set_index(pd.Index(["r%d" % i for i in range(N)], name="who")),
        "index_floats": plain.set_index(pd.Index(np.arange(N) / 2)),
        "index_deltas": plain.set_index(pd.to_timedelta(range(N), unit="h")),
        "index_days": plain.set_index(pd.Index([datetime.date(2020, 2, 27 + i % 3) for i in range(N)])),
        "index_column": pd.DataFrame({"index": [1, 2], "b": [3, 4]}, index=pd.Index([5, 6], name="index.1")),
        "levels": plain.set_index(levels),
        "level_columns": pd.DataFrame(
            np.ones((2, 3)), columns=pd.MultiIndex.from_tuples([("a", 1), ("b", 2), ("it's", 3)])
        ),
        "interleaved": pd.DataFrame({"a": [1, 2], "x": [0.5, 1], "b": [3, 4], "y": [2.5, 3], "c": [5, 6]}),
        "series": pd.Series(np.arange(N) / 3, name="values of it"),
        "series_unnamed": pd.Series(np.arange(N)),
        "series_dates": pd.Series(dates, name="d"),
        "series_levels": pd.Series(range(N), index=levels, name="v"),
        "index_bools": pd.DataFrame({"a": [1, 2]}, index=[True, False]),
        "one_row": pd.DataFrame({"a": [1], "b": [np.nan]}),
    }


def tables_only():
    some = pd.DataFrame({"i": range(N)})
    odd = pd.DataFrame(
        {
            "u": pd.Categorical(["x", None, "y", "x", "z", "", "y"], categories=["z", "y", "x", ""]),
            "i": range(N),
            "w": pd.Categorical([3, 1, None, 3, 1, 1, 2]),
            "d": pd.Categorical(pd.to_datetime(["2020-01-01", "2021-01-01"] * 3 + [None])),
            "s": list("abcdefg"),
        }
    )
    return {
        "categories": odd,
        "empty_categories": some.assign(
            c=pd.Categorical([None] * N, categories=["a"]).remove_unused_categories()
        ),
    }


def fixed_only():
    return {
        "no_rows": pd.DataFrame({"i": np.arange(2), "f": [0.5, 1], "b": [True, False]}).iloc[:0],
        "no_rows_levels": pd.Series([1], index=pd.MultiIndex.from_tuples([("a", 1)])).iloc[:0],
        "no_rows_dates": pd.DataFrame({"d": pd.to_datetime(["2020"])}).iloc[:0],
        "no_columns": pd.DataFrame({"b": [3, 4]}, index=[1, 2])[[]],
        "multi_zone": pd.DataFrame({c: pd.date_range("2020", periods=3, tz="Asia/Tokyo") for c in "ab"}),
    }


def flat(value):
    """A frame's columns with their names in the order of the view, the index first."""
    frame = (
        value.to_frame("values" if value.name is None else value.name)
        if isinstance(value, pd.Series)
        else value
    )
    index = value.index
    many = isinstance(index, pd.MultiIndex)
    names = [
        name if name is not None else "level_%d" % i if many else "index"
        for i, name in enumerate(index.names)
    ]
    columns = [index.get_level_values(i) for i in range(index.nlevels)] + [
        frame.iloc[:, i] for i in range(frame.shape[1])
    ]
    return [str(n) for n in names] + [str(c) for c in frame.columns], columns


def cells_of(column):
    """What a CSV file has of a column."""
    zone = getattr(column.dtype, "tz", None) or getattr(getattr(column, "cat", None), "tz", None)
    out = []
    for value in column.tolist() if column.dtype.kind not in "mM" and zone is None else column:
        if value is None or value is pd.NaT or value != value:
            out.append("")
        elif isinstance(value, bool):
            out.append("TRUE" if value else "FALSE")
        elif isinstance(value, (pd.Timestamp, datetime.datetime)):
            stamp = pd.Timestamp(value)
            stamp = stamp.tz_convert("UTC").tz_localize(None) if stamp.tz else stamp
            out.append(stamp.strftime("%Y-%m-%dT%H:%M:%S.%f") + "%03d" % stamp.nanosecond)
        elif isinstance(value, (pd.Timedelta, datetime.timedelta)):
            out.append(str(pd.Timedelta(value).value))
        elif isinstance(value, datetime.date):
            out.append(value.isoformat())
        else:
            out.append(value)
    return out


class PandasTest(MountTest):
    compared = 0

    def setUp(self):
        if tables is None:
            self.skipTest("no pandas or PyTables")
        super().setUp()
        warnings.simplefilter("ignore")

    def table(self, mnt, name):
        return list(csv.reader(io.StringIO(read("%s.h5/decoded/csv/%s.csv" % (mnt, name)).decode())))

    def assert_is(self, rows, value, name, without=()):
        names, columns = flat(value)
        kept = [i for i, n in enumerate(names) if n not in without]
        self.assertEqual(rows[0], [names[i] for i in kept], name)
        self.assertEqual(len(rows) - 1, len(value), name)
        for place, i in enumerate(kept):
            want = cells_of(columns[i])
            have = [row[place] for row in rows[1:]]
            for a, b in zip(have, want):
                if isinstance(b, float):
                    kind = np.float32 if columns[i].dtype == "f4" else float
                    self.assertEqual(kind(a), kind(b), (name, names[i]))
                else:
                    self.assertEqual(a, str(b), (name, names[i]))
            PandasTest.compared += len(want)

    def stored(self, path, form, values, **options):
        """Writes, reads back and compares all."""
        with pd.HDFStore(path, "w", **options) as store:
            for name, value in values.items():
                columns = getattr(value, "columns", [])
                data = [c for c in columns if c in ("g", "i", "s2")] if form == "table" else None
                store.put(name, value, format=form, **({"data_columns": data} if data else {}))
        mnt = self.mount(path)
        told = {}
        with pd.HDFStore(path, "r") as store:
            for name in values:
                value = store[name]
                if name == "index_days":  # of tables pandas gives the days' numbers
                    value.index = frames()[name].index
                told[name] = json.loads(os.getxattr(mnt + name, "user.hdf5.decoded"))
                self.assertEqual((told[name]["convention"], told[name]["format"]), ("pandas", form))
                without = ("s", "s2") if form == "fixed" and name == "text" else ()
                self.assert_is(self.table(mnt, name), value, "%s %s" % (form, name), without)
        return mnt, told

    def test_tables_are_what_pandas_reads(self):
        values = {**frames(), **tables_only()}
        mnt, told = self.stored("t.h5", "table", values)
        self.assertEqual(told["mixed"]["index"], ["index"])
        self.assertEqual(told["mixed"]["time_zones"], {"z": "Europe/Berlin"})
        self.assertEqual(told["mixed"]["nanoseconds"], ["t"])
        self.assertEqual(told["levels"]["index"], ["k", "level_1", "when"])
        lines = [json.loads(line) for line in read(mnt + ".h5/decoded/ndjson/text.ndjson").splitlines()]
        self.assertEqual([line["s"] for line in lines[:5]], ["a", None, "é日本", "", None])
        print("%d values of tables are those of pandas" % PandasTest.compared)

    def test_fixed_frames_are_what_pandas_reads(self):
        for options in ({}, {"complevel": 5, "complib": "zlib"}):
            mnt, told = self.stored("f%d.h5" % len(options), "fixed", {**frames(), **fixed_only()}, **options)
            self.assertEqual(told["mixed"]["time_zones"], {"z": "Europe/Berlin"})
            left = os.getxattr(mnt + ".h5/decoded/csv/text.csv", "user.hdf5.left_out").decode()
            self.assertIn("s (pickled)", left)
        print("%d values of both formats are those of pandas" % PandasTest.compared)

    def test_parquet_has_times_and_missing_values(self):
        frame = frames()["mixed"].assign(s=frames()["text"]["s"], c=pd.Categorical(list("abcabc") + [None]))
        frame.to_hdf("q.h5", "q", format="table")
        open("q.parquet", "wb").write(read(self.mount("q.h5") + ".h5/decoded/parquet/q.parquet"))
        names, rows = read_table("q.parquet")
        self.assertEqual(names, flat(frame)[0])
        for row, (i, value) in zip(rows, pd.read_hdf("q.h5", "q").iterrows()):
            micros = [None if t is pd.NaT else t.value // 1000 for t in (value["d"], value["z"])]
            delta = None if value["t"] is pd.NaT else value["t"].value
            rest = [None if v != v else v for v in (value["s"], value["c"])]
            number = None if value["f"] != value["f"] else value["f"]
            want = [i, value["i"], number, value["b"], micros[0], delta, micros[1], value["g"], *rest]
            self.assertEqual(list(row), want)

    def test_appended_and_encoded_tables(self):
        frame = frames()["text"]
        with pd.HDFStore("a.h5", "w") as store:
            for i in range(3):
                store.append("a", frame.set_index(frame.index + N * i), min_itemsize=40, nan_rep="missing")
        frame = pd.DataFrame({"s": ["é", None, "ab"], "i": [1, 2, 3]})
        frame.to_hdf("l.h5", "l", format="table", encoding="latin-1")
        self.assert_is(self.table(self.mount("a.h5"), "a"), pd.read_hdf("a.h5", "a"), "appended")
        self.assert_is(self.table(self.mount("l.h5"), "l"), pd.read_hdf("l.h5", "l"), "latin-1")

    def test_names_that_are_not_plain_are_numbers(self):
        days = pd.DataFrame(np.ones((2, 2)), columns=pd.date_range("2020", periods=2))
        days.to_hdf("d.h5", "d", format="table")
        mnt = self.mount("d.h5")
        self.assertEqual(self.table(mnt, "d")[0], ["index", "0", "1"])
        self.assertEqual(json.loads(os.getxattr(mnt + "d", "user.hdf5.decoded"))["names"], "numbers")

    def test_all_that_is_pickled_is_said_to_be(self):
        with pd.HDFStore("p.h5", "w") as store:
            store.put("p", pd.DataFrame({"a": ["x", None], "n": [1, 2], "o": [[1], {}]}, index=["q", 3]))
        mnt = self.mount("p.h5")
        self.assertEqual(self.table(mnt, "p"), [["n"], ["1"], ["2"]])
        left = os.getxattr(mnt + ".h5/decoded/csv/p.csv", "user.hdf5.left_out").decode()
        for name in ("index (pickled)", "a (pickled)", "o (pickled)"):
            self.assertIn(name, left)
        told = json.loads(os.getxattr(mnt + "p/block1_values", "user.hdf5.decoded"))
        self.assertEqual(told, {"convention": "PyTables", "pickled": "object"})

    def test_pytables_values_are_what_pytables_reads(self):
        class Row(tables.IsDescription):
            i = tables.Int32Col()
            t32 = tables.Time32Col()
            t64 = tables.Time64Col()
            b = tables.BoolCol()
            many = tables.Time64Col(shape=(2,))
            flags = tables.BoolCol(shape=(3,))

            class inner(tables.IsDescription):
                b = tables.BoolCol()
                t = tables.Time64Col()

        times = [0.0, 1.5, -1.25, 1e9 + 0.123456, 1577836800.999999, -1e9 - 0.3]
        texts = ["", "plain", "é日本", "a\nb", "𝄞"]
        with tables.open_file("t.h5", "w") as f:
            table = f.create_table("/", "table", Row)
            for i, t in enumerate(times):
                row = table.row
                row["i"], row["t32"], row["t64"], row["b"] = i, int(t), t, i % 2
                row["many"], row["flags"] = [t, -t], [i % 2, 1, 0]
                row["inner/b"], row["inner/t"] = i % 3 == 0, t / 3
                row.append()
            table.flush()
            for name, atom in (
                ("t64", tables.Time64Atom()),
                ("t32", tables.Time32Atom()),
                ("b", tables.BoolAtom()),
            ):
                a = f.create_earray("/", name, atom, (0, 2))
                a.append(np.array([times, times]).T if name != "b" else np.array([[1, 0]] * 6, bool))
            f.create_array("/", "flags", np.array([True, False, True]))
            unicode = f.create_vlarray("/", "unicode", tables.VLUnicodeAtom())
            string = f.create_vlarray("/", "string", tables.VLStringAtom())
            objects = f.create_vlarray("/", "objects", tables.ObjectAtom())
            for text in texts:
                unicode.append(text)
                string.append(text.encode())
                objects.append({text: 1})
        mnt = self.mount("t.h5")
        compared = 0
        with tables.open_file("t.h5") as f:
            want = f.root.table.read()
            lines = [json.loads(line) for line in read(mnt + ".h5/decoded/ndjson/table.ndjson").splitlines()]
            for line, row in zip(lines, want):
                self.assertEqual(line["i"], row["i"])
                self.assertEqual([line["t32"], line["t64"]], [row["t32"], row["t64"]])
                self.assertEqual([line["many.0"], line["many.1"]], row["many"].tolist())
                have = [line[name] == "TRUE" for name in ("inner.b", "b", "flags.0", "flags.1", "flags.2")]
                self.assertEqual(have, [row["inner"]["b"], row["b"], *row["flags"]])
                self.assertEqual(line["inner.t"], row["inner"]["t"])
                compared += len(line)
            self.assertEqual(len(lines), len(want))
            for name in ("t64", "t32", "b", "flags"):
                have = np.load(io.BytesIO(read("%s.h5/decoded/npy/%s.npy" % (mnt, name))))
                value = f.get_node("/", name).read()
                self.assertEqual(have.dtype.kind, value.dtype.kind)
                np.testing.assert_array_equal(have, value)
                compared += have.size
            for name in ("unicode", "string"):
                lines = read("%s.h5/decoded/ndjson/%s.ndjson" % (mnt, name)).splitlines()
                self.assertEqual([json.loads(line)["value"] for line in lines], texts)
                compared += len(lines)
        self.assertEqual(read(mnt + ".h5/decoded/text/unicode").decode().splitlines()[1:3], texts[1:3])
        told = json.loads(os.getxattr(mnt + "objects", "user.hdf5.decoded"))
        self.assertEqual(told, {"convention": "PyTables", "pickled": "object"})
        print("%d values are those of PyTables" % compared)

    def test_attributes_that_lie_do_no_harm(self):
        some = {name: frames()[name] for name in ("mixed", "text", "levels", "series", "level_columns")}
        with pd.HDFStore("o.h5", "w") as store:
            for name, value in some.items():
                store.put("t/" + name, value, format="table")
                store.put("f/" + name, value, format="fixed")
            store.put("t/categories", tables_only()["categories"], format="table")
        for seed in range(12):
            rng = random.Random(seed)
            shutil.copy("o.h5", "h.h5")
            with h5py.File("h.h5", "r+") as f:
                objects = []
                f.visititems(lambda name, o: "_i_" in name or objects.append(o))
                for o in objects:
                    for name in list(o.attrs):
                        if rng.random() < 0.15 and name != "pandas_type":
                            lie(o.attrs, name, rng)
                    if rng.random() < 0.05 and o.name.count("/") > 2 and isinstance(o, h5py.Dataset):
                        place = o.name
                        del f[place]
                        f[place] = rng.choice(
                            [np.zeros((0, 3)), np.zeros((2, 2, 2)), 5, np.array([b"a", b"b"])]
                        )
            mnt = self.mount("h.h5")
            for form in ("csv", "parquet", "ndjson"):
                for folder, _, files in os.walk("%s.h5/decoded/%s" % (mnt, form)):
                    for name in files:
                        error(read, os.path.join(folder, name))
            self.assertTrue(os.listdir(mnt))


def lie(attrs, name, rng):
    old = attrs[name]
    kind = rng.randrange(6)
    if kind == 0:
        del attrs[name]
    elif kind == 1:
        attrs[name] = rng.choice([-1, 1 << 62, 1.5, [1, 2, 3]])
    elif kind == 2 and isinstance(old, np.bytes_) and len(old) > 2:
        attrs[name] = np.bytes_(old[: rng.randrange(1, len(old))] + b".")
    elif kind == 3 and isinstance(old, np.bytes_):
        flipped = bytearray(old)
        flipped[rng.randrange(len(old))] = rng.randrange(1, 256)
        attrs[name] = np.bytes_(bytes(flipped))
    elif kind == 4:
        attrs[name] = rng.choice(["", "x" * 3000, np.bytes_(b"(lp0\ng0\na."), np.bytes_(b"((((t.")])
    else:
        attrs[name] = np.bytes_(b"(lp0\n" + b"I1\na" * 5000 + b".")
