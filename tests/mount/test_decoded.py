"""/.h5/decoded: the values that CF and netCDF's attribute conventions say, held against NumPy by the rules of
the manual, and against netCDF4-python and xarray where these have the same type."""
import csv
import io
import itertools
import json
import os
import warnings

import h5py
import numpy as np

from mounting import MountTest, read, unmount
from support.program import H5MOUNT, run, until

try:
    import netCDF4
    import xarray
except ModuleNotFoundError:
    netCDF4 = xarray = None

PACKED = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", ">i2", ">i4", ">f4", ">f8", ">u8")
SCALES = (None, np.float32(0.01), np.float64(0.01), np.int32(2))
OFFSETS = (None, np.float32(273.15), np.float64(-1e-3), np.float64(0))
MISSING = (
    {},
    {"_FillValue": 3},
    {"missing_value": [1, 5]},
    {"_FillValue": 0, "missing_value": 7},
    {"valid_range": [2, 6]},
    {"valid_min": 4, "_FillValue": 9},
    {"valid_max": 4},
)


def stored_values(dtype, rng):
    kind = np.dtype(dtype)
    values = rng.integers(0, 12, (6, 5)).astype(kind)
    if kind.kind == "f":
        values[0, 0], values[1, 1] = np.nan, -0.0
        values[2] *= kind.type(1.1)
    elif kind.kind == "i":
        values[0, :2] = np.iinfo(kind).min, -1
    values[5, 4] = np.iinfo(kind).max if kind.kind in "iu" else np.finfo(kind).max
    return values


def expected(values, attributes):
    """Values and which of them are missing, each step rounded in the type that the manual says."""
    kind = values.dtype.newbyteorder("=")
    raw = values.astype(kind)
    if attributes.get("_Unsigned") == "true" and kind.kind == "i":
        raw = raw.view("u%d" % kind.itemsize)
    missing = np.zeros(raw.shape, bool)
    for name in ("_FillValue", "missing_value"):
        for fill in np.atleast_1d(attributes.get(name, [])):
            fill = np.array(fill).astype(kind).view(raw.dtype)
            missing |= np.isnan(raw) if fill != fill else raw == fill
    low, high = attributes.get("valid_range", (attributes.get("valid_min"), attributes.get("valid_max")))
    if low is not None:
        missing |= raw < np.array(low).astype(kind).view(raw.dtype)
    if high is not None:
        missing |= raw > np.array(high).astype(kind).view(raw.dtype)
    steps = [attributes[name] for name in ("scale_factor", "add_offset") if name in attributes]
    out = raw
    if steps:
        single = all(np.asarray(step).dtype == "f4" for step in steps)
        small = raw.dtype.itemsize <= 2 if raw.dtype.kind in "iu" else raw.dtype == "f4"
        to = np.float32 if single and small else np.float64
        out = raw.astype(to)
        if "scale_factor" in attributes:
            out = (out * to(attributes["scale_factor"])).astype(to)
        if "add_offset" in attributes:
            out = (out + to(attributes["add_offset"])).astype(to)
    if out.dtype.kind == "f":
        out = np.where(missing, out.dtype.type(np.nan), out)
    return out, missing


def same_bits(have, want):
    """NaN is NaN, whatever its sign."""
    if have.dtype != want.dtype or have.shape != want.shape:
        return False
    if want.dtype.kind != "f":
        return np.array_equal(have, want)
    bits = "u%d" % want.itemsize
    return bool(np.all((np.isnan(have) & np.isnan(want)) | (have.view(bits) == want.view(bits))))


class DecodedTest(MountTest):
    def load(self, mnt, name):
        return np.load(io.BytesIO(read("%s.h5/decoded/npy/%s.npy" % (mnt, name))))

    def test_every_packing_is_what_numpy_makes_of_it(self):
        rng = np.random.default_rng(1)
        cases = {}
        with h5py.File("f.h5", "w") as f:
            for i, (dtype, scale, offset) in enumerate(itertools.product(PACKED, SCALES, OFFSETS)):
                values = stored_values(dtype, rng)
                attributes = {"scale_factor": scale, "add_offset": offset}
                attributes = {name: value for name, value in attributes.items() if value is not None}
                for name, value in MISSING[i % len(MISSING)].items():
                    attributes[name] = np.array(value).astype(values.dtype)
                if i % 3 == 0 and values.dtype.kind == "i":
                    attributes["_Unsigned"] = "true"
                d = f.create_dataset("d%d" % i, data=values, chunks=(4, 5), compression="gzip")
                for name, value in attributes.items():
                    d.attrs[name] = value
                cases["d%d" % i] = values, attributes
        mnt = self.mount("f.h5")
        applied = 0
        for name, (values, attributes) in cases.items():
            with np.errstate(all="ignore"):
                want, missing = expected(values, attributes)
            have = self.load(mnt, name)
            if not attributes:
                self.assertEqual(
                    read(mnt + ".h5/decoded/npy/%s.npy" % name), read(mnt + ".h5/npy/%s.npy" % name)
                )
                self.assertNotIn("user.hdf5.decoded", os.listxattr(mnt + name))
                continue
            told = json.loads(os.getxattr(mnt + name, "user.hdf5.decoded"))
            self.assertEqual(told["convention"], "CF")
            if "unpacked" in told:
                applied += 1
                self.assertEqual(told["unpacked"], want.dtype.name)
                self.assertTrue(same_bits(have, want), (name, values.dtype, attributes, have, want))
            else:
                self.assertTrue(np.array_equal(have, want, equal_nan=want.dtype.kind == "f"), name)
            self.assertEqual(
                read(mnt + ".h5/decoded/raw/" + name), have.tobytes(), "the bytes of the array, %s" % name
            )
            rows = list(csv.reader(io.StringIO(read(mnt + ".h5/decoded/csv/%s.csv" % name).decode())))
            self.assertEqual([[cell == "" for cell in row] for row in rows[1:]], missing.tolist(), name)
            lines = read(mnt + ".h5/decoded/ndjson/%s.ndjson" % name).decode().splitlines()
            gone = missing | np.isnan(want.astype(float))
            self.assertEqual(
                [[v is None for v in json.loads(line).values()] for line in lines], gone.tolist()
            )
        self.assertGreater(applied, 150)

    def test_netcdf4_python_and_xarray_give_the_same(self):
        if netCDF4 is None:
            self.skipTest("no netCDF4 or xarray")
        rng = np.random.default_rng(2)
        with netCDF4.Dataset("p.nc", "w") as nc:
            nc.createDimension("y", 6)
            nc.createDimension("x", 5)
            for i, (dtype, scale, offset, missing) in enumerate(
                itertools.product(("i1", "i2", "i4", "u2", "f4", "f8"), SCALES[:3], OFFSETS[:3], MISSING)
            ):
                fill = missing.get("_FillValue")
                v = nc.createVariable("v%d" % i, dtype, ("y", "x"), fill_value=fill)
                v.set_auto_maskandscale(False)
                for name, value in (("scale_factor", scale), ("add_offset", offset)):
                    if value is not None:
                        v.setncattr(name, value)
                for name, value in missing.items():
                    if name != "_FillValue":
                        v.setncattr(name, np.array(value).astype(dtype))
                v[:] = stored_values(dtype, rng)
        mnt = self.mount("p.nc")
        bits = values = 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of several fill values
            decoded = xarray.open_dataset("p.nc")
        with netCDF4.Dataset("p.nc") as nc, decoded:
            for name, v in nc.variables.items():
                have = self.load(mnt, name)
                v.set_always_mask(True)
                want = v[:]
                default = netCDF4.default_fillvals[v.dtype.str[1:]]
                v.set_auto_maskandscale(False)
                # Default fill values, of which no attribute tells, do not count.
                by_default = (v[:] == default) & (v.dtype.itemsize > 1)
                gone = np.ma.getmaskarray(want) & ~by_default
                seen = want.filled(np.nan) if want.dtype.kind == "f" else want.data
                if have.dtype == want.dtype and have.dtype.kind == "f":
                    kept = ~by_default
                    self.assertTrue(
                        same_bits(have[kept], np.where(gone, np.nan, seen)[kept].astype(have.dtype)), name
                    )
                    bits += 1
                bounded = any(hasattr(v, bound) for bound in ("valid_min", "valid_max", "valid_range"))
                theirs = decoded[name].values
                if theirs.dtype == "f8" and have.dtype == "f8" and not bounded:
                    self.assertTrue(np.array_equal(have, theirs, equal_nan=True), (name, have, theirs))
                    values += 1
        self.assertGreater(bits, 200)
        self.assertGreaterEqual(values, 80)

    def test_tables_tell_what_is_missing(self):
        from fixtures.parquet_table import read_table

        with h5py.File("f.h5", "w") as f:
            d = f.create_dataset("g/d", data=np.array([1, np.nan, 1e20, 4], "f4"))
            d.attrs["missing_value"] = np.float64(1e20)  # of another type, as is common
            i = f.create_dataset("i", data=np.array([5, -1, 7], "i8"))
            i.attrs["_FillValue"] = np.int64(-1)
            f["plain"] = np.arange(3)
        mnt = self.mount("f.h5") + ".h5/decoded/"
        self.assertEqual(read(mnt + "csv/g/d.csv"), b'value\n1.0\nNaN\n""\n4.0\n')
        self.assertEqual(read(mnt + "tsv/i.tsv"), b'value\n5\n""\n7\n')
        self.assertEqual([json.loads(line)["value"] for line in open(mnt + "ndjson/i.ndjson")], [5, None, 7])
        self.assertEqual(read_table(mnt + "parquet/i.parquet")[1], [[5], [None], [7]])
        have = read_table(mnt + "parquet/g/d.parquet")[1]
        self.assertEqual([row[0] is None for row in have], [False, False, True, False])
        self.assertEqual(read(mnt + "text/g/d"), b"1.0\nNaN\nNaN\n4.0\n")
        for view in ("csv", "tsv", "ndjson", "parquet", "npy"):
            name = "%s/plain.%s" % (view, view)
            self.assertEqual(read(mnt + name), read(mnt + "../" + name), view)
        self.assertEqual(read(mnt + "raw/plain"), read(mnt + "../../plain"))
        self.assertEqual(
            sorted(os.listdir(mnt)), sorted("csv mtx ndjson npy parquet raw slice text tiff tsv".split())
        )
        self.assertEqual(os.listdir(mnt + "npy/g"), ["d.npy"])
        told = {"convention": "CF", "missing": ["missing_value"]}
        self.assertEqual(json.loads(os.getxattr(mnt + "csv/g/d.csv", "user.hdf5.decoded")), told)
        self.assertEqual(os.listxattr(mnt + "csv/plain.csv"), [])

    def test_times_are_those_of_cftime(self):
        """Units, epochs and calendars, as numbers of each kind; to a microsecond."""
        if netCDF4 is None:
            self.skipTest("no netCDF4")
        import cftime

        units = (
            "days since 1850-01-01",
            "hours since 1900-01-01 00:00:0.0",
            "seconds since 1970-01-01T00:00:00Z",
            "minutes since 2001-12-31 23:30:15.25",
            "milliseconds since 1999-9-9 9:9:9",
            "days since 1-1-1",
            "days since 1582-10-01",
            "hours since 2000-02-28 12:00 -03:30",
            "Days since 1600-02-29 +01:00",
            "microseconds since 2000-01-01 UTC",
        )
        calendars = (
            "standard gregorian proleptic_gregorian julian noleap 365_day all_leap 366_day 360_day".split()
        )
        numbers = {
            "f8": [0, 1.5, 100.25, 36524.999999, 1e-6, 58.0, 59.0, 60.0, 12345.678901],
            "i4": [0, 1, 58, 59, 60, 365, 366, 577000, 100000],
            "f4": [0.5, 31.0, 59.25],
            "u2": [0, 59, 65535],
        }
        cases = {}
        with h5py.File("t.h5", "w") as f:
            for i, (unit, calendar, kind) in enumerate(itertools.product(units, calendars, numbers)):
                try:
                    want = cftime.num2date(np.array(numbers[kind], kind), unit, calendar=calendar)
                except (ValueError, OverflowError):
                    continue  # an epoch that the calendar does not have
                d = f.create_dataset("t%d" % i, data=np.array(numbers[kind], kind))
                d.attrs["units"], d.attrs["calendar"] = unit, calendar
                cases["t%d" % i] = unit, calendar, kind, want
        mnt = self.mount("t.h5")
        for name, (unit, calendar, kind, want) in cases.items():
            told = json.loads(os.getxattr(mnt + name, "user.hdf5.decoded"))
            self.assertEqual(told["time"], "%s, %s" % (unit, want[0].calendar), name)
            lines = read(mnt + ".h5/decoded/text/" + name).decode().splitlines()
            fraction = kind[0] == "f" or "15.25" in unit or unit.startswith(("milli", "micro"))
            self.assertEqual({len(line) for line in lines}, {26 if fraction else 19}, (name, unit, lines))
            for line, date in zip(lines, want):
                day, clock = line.split("T")
                year, month, day = map(int, day.rsplit("-", 2))
                self.assertEqual(
                    (year, month, day), (date.year, date.month, date.day), (unit, calendar, line)
                )
                hour, minute, second = clock.split(":")
                have = (int(hour) * 60 + int(minute)) * 60e6 + float(second) * 1e6
                exact = (date.hour * 60 + date.minute) * 60e6 + date.second * 1e6 + date.microsecond
                self.assertLessEqual(abs(have - exact), 1.01, (unit, calendar, line, date))
            array = np.load(io.BytesIO(read(mnt + ".h5/decoded/npy/%s.npy" % name)))
            if want[0].calendar in ("standard", "gregorian", "proleptic_gregorian"):
                self.assertEqual(array.dtype, np.dtype("M8[us]"))
                shown = [str(t) for t in array]
                self.assertEqual([t[: len(lines[0])].ljust(len(lines[0]), "0") for t in shown], lines)
                self.assertEqual(read(mnt + ".h5/decoded/raw/" + name), array.tobytes())
            else:
                self.assertEqual([t.decode() for t in array], lines)
                self.assertEqual(read(mnt + ".h5/decoded/raw/" + name).decode().splitlines(), lines)
            table = read(mnt + ".h5/decoded/csv/%s.csv" % name).decode().splitlines()
            self.assertEqual(table[1:], lines)
        self.assertGreater(len(cases), 250)

    def test_times_that_are_missing_or_none(self):
        from fixtures.parquet_table import read_table

        with h5py.File("t.h5", "w") as f:
            d = f.create_dataset("t", data=np.array([0, -1, 2**62, 5], "i8"))
            d.attrs["units"], d.attrs["_FillValue"] = "hours since 2020-01-01", np.int64(-1)
            d = f.create_dataset("packed", data=np.array([2, 4], "i2"))
            d.attrs["units"], d.attrs["scale_factor"] = "days since 2020-01-01", 0.25
            for i, unit in enumerate(
                (
                    "months since 2000-01-01",
                    "days",
                    "days since",
                    "days since 0000-01-01",
                    "days since 2001-02-29",
                )
            ):
                f.create_dataset("n%d" % i, data=np.arange(3)).attrs["units"] = unit
            d = f.create_dataset("n9", data=np.arange(3))
            d.attrs["units"], d.attrs["calendar"] = "days since 2000-01-01", "lunar"
        mnt = self.mount("t.h5") + ".h5/decoded/"
        self.assertEqual(read(mnt + "text/t"), b"2020-01-01T00:00:00\nNaT\nNaT\n2020-01-01T05:00:00\n")
        self.assertEqual(
            read(mnt + "csv/t.csv"), b'value\n2020-01-01T00:00:00\n""\n""\n2020-01-01T05:00:00\n'
        )
        with open(mnt + "ndjson/t.ndjson") as f:
            have = [json.loads(line)["value"] for line in f]
        self.assertEqual(have, ["2020-01-01T00:00:00", None, None, "2020-01-01T05:00:00"])
        times = np.load(io.BytesIO(read(mnt + "npy/t.npy")))
        self.assertEqual(np.isnat(times).tolist(), [False, True, True, False])
        self.assertEqual(read_table(mnt + "parquet/t.parquet")[1][3], [int(times[3].astype("i8"))])
        self.assertEqual([row[0] is None for row in read_table(mnt + "parquet/t.parquet")[1]], [0, 1, 1, 0])
        self.assertEqual(
            read(mnt + "text/packed"), b"2020-01-01T12:00:00.000000\n2020-01-02T00:00:00.000000\n"
        )
        self.assertEqual(read(mnt + "slice/t/::3.csv"), b"value\n2020-01-01T00:00:00\n2020-01-01T05:00:00\n")
        for name in ("n0", "n1", "n2", "n3", "n4", "n9"):
            self.assertNotIn("user.hdf5.decoded", os.listxattr(mnt + "../../" + name), name)

    def test_characters_and_flags(self):
        """Arrays of characters are strings, and codes have names, as netCDF4-python and xarray have them."""
        from fixtures.parquet_table import read_table

        if netCDF4 is None:
            self.skipTest("no netCDF4")
        with netCDF4.Dataset("c.nc", "w") as nc:
            for name, length in (("n", 3), ("m", 2), ("len", 5)):
                nc.createDimension(name, length)
            words = np.array([["abc", ""], ["de", "x y"], ["\u00fc", "hello"]])
            v = nc.createVariable("words", "S1", ("n", "m", "len"))
            v[:] = np.char.encode(words, "utf-8").astype("S5").view("S1").reshape(3, 2, 5)
            nc.createVariable("word", "S1", ("len",))[:] = np.array(["one"], "S5").view("S1")
            v = nc.createVariable("flag", "i1", ("n", "m"), fill_value=-9)
            v.set_auto_maskandscale(False)
            v.flag_values, v.flag_meanings = np.array([-1, 0, 4], "i1"), "bad good very_good"
            v[:] = [[-1, 0], [4, 7], [-9, 0]]
            v = nc.createVariable("bits", "i2", ("n",))
            v.flag_masks, v.flag_values = np.array([1, 2], "i2"), np.array([1, 2], "i2")
            v.flag_meanings = "a b"
            v = nc.createVariable("other", "i2", ("n",))
            v.flag_values, v.flag_meanings = np.array([1, 2], "i2"), "one"
        with h5py.File("s.h5", "w") as f:
            f["single"] = np.array([b"a", b"b"], "S1")
        top = self.mount("c.nc")
        mnt = top + ".h5/decoded/"
        encoded = np.char.encode(words, "utf-8")
        self.assertEqual(np.load(io.BytesIO(read(mnt + "npy/words.npy"))).tolist(), encoded.tolist())
        self.assertEqual(read(mnt + "raw/words"), read(top + "words"))
        self.assertEqual(read(mnt + "text/words").decode().splitlines(), words.reshape(-1).tolist())
        rows = list(csv.reader(io.StringIO(read(mnt + "csv/words.csv").decode())))
        self.assertEqual(rows[1:], words.tolist())
        self.assertEqual(read(mnt + "text/word"), b"one\n")
        self.assertEqual(read(mnt + "slice/words/1,:.csv").decode(), "value\nde\nx y\n")
        self.assertEqual(read(mnt + "slice/words/2,1"), b"hello")
        with xarray.open_dataset("c.nc") as decoded:
            self.assertEqual(decoded["words"].values.tolist(), encoded.tolist())
        told = json.loads(os.getxattr(top + "words", "user.hdf5.decoded"))
        self.assertEqual(told, {"convention": "CF", "characters": "strings"})
        self.assertEqual(read(mnt + "csv/flag.csv"), b"0,1\nbad,good\nvery_good,7\n,good\n")
        self.assertEqual(read(mnt + "text/flag"), b"bad\ngood\nvery_good\n7\nNaN\ngood\n")
        self.assertEqual(read_table(mnt + "parquet/flag.parquet")[1][2], [None, "good"])
        self.assertEqual(read(mnt + "npy/flag.npy"), read(top + ".h5/npy/flag.npy"))
        for name in ("bits", "other"):
            self.assertNotIn("user.hdf5.decoded", os.listxattr(top + name))
        single = self.mount("s.h5")
        self.assertNotIn("user.hdf5.decoded", os.listxattr(single + "single"))

    def test_slices(self):
        values = np.arange(60, dtype="i2").reshape(3, 4, 5)
        with h5py.File("f.h5", "w") as f:
            d = f.create_dataset("d", data=values, chunks=(1, 4, 5))
            d.attrs["scale_factor"], d.attrs["_FillValue"] = 0.5, np.int16(7)
        mnt = self.mount("f.h5") + ".h5/decoded/"
        want = np.where(values == 7, np.nan, values * 0.5)
        slices = mnt + "slice/d/"
        self.assertEqual(read(slices + "1:,::2,3"), want[1:, ::2, 3].tobytes())
        have = np.load(io.BytesIO(read(slices + "0,1.npy")))
        self.assertTrue(np.array_equal(have, want[0, 1], equal_nan=True))
        self.assertEqual(read(slices + "0,1.csv"), b'value\n2.5\n3.0\n""\n4.0\n4.5\n')
        self.assertEqual(read(slices + "0,1:3,1:3.csv"), b"0,1\n3.0,\n5.5,6.0\n")
        self.assertFalse(os.path.exists(mnt + "csv/d.csv"))  # more than two dimensions, as in csv/
        self.assertTrue(os.path.exists(mnt + "npy/d.npy"))

    def test_what_says_nothing_is_not_applied(self):
        """Values of other types, lists, and numbers that the type does not have."""
        with h5py.File("f.h5", "w") as f:
            d = f.create_dataset("d", data=np.arange(5, dtype="i1"))
            d.attrs["scale_factor"] = "0.1"
            d.attrs["add_offset"] = [1.0, 2.0]
            d.attrs["_FillValue"] = 1e20
            d.attrs["valid_range"] = [1, 2, 3]
            d.attrs["valid_max"] = 2.5
            s = f.create_dataset("s", data=["a", "b"])
            s.attrs["_FillValue"] = "a"
            e = f.create_dataset("e", data=np.arange(2), dtype=h5py.enum_dtype({"A": 0, "B": 1}))
            e.attrs["scale_factor"] = 2.0
            f.create_dataset("scalar", data=np.int16(3)).attrs["scale_factor"] = np.float32(0.5)
            f.create_dataset("none", (0, 3), "i2").attrs["scale_factor"] = 0.5
            huge = f.create_dataset("huge", (1 << 62,), "i1", chunks=(1 << 20,))
            huge.attrs["scale_factor"], huge.attrs["_FillValue"] = 0.5, np.int8(1)
        mnt = self.mount("f.h5")
        for name in ("d", "s", "e"):
            self.assertNotIn("user.hdf5.decoded", os.listxattr(mnt + name), name)
            self.assertEqual(read(mnt + ".h5/decoded/raw/" + name), read(mnt + name))
        self.assertEqual(read(mnt + ".h5/decoded/raw/scalar"), np.float32(1.5).tobytes())
        self.assertEqual(self.load(mnt, "none").shape, (0, 3))
        for view in ("npy", "csv", "parquet"):  # more bytes than a file can have
            self.assertNotIn("huge." + view, os.listdir(mnt + ".h5/decoded/" + view))
        self.assertEqual(os.stat(mnt + "huge").st_size, 1 << 62)

    def test_a_file_that_grows(self):
        with h5py.File("f.h5", "w", libver="latest") as f:
            d = f.create_dataset("d", data=np.arange(10, dtype="i2"), chunks=(4,), maxshape=(None,))
            d.attrs["scale_factor"], d.attrs["_FillValue"] = np.float64(0.5), np.int16(11)
            f.swmr_mode = True
            mnt = self.mount("f.h5")
            name = mnt + ".h5/decoded/raw/d"
            table = mnt + ".h5/decoded/csv/d.csv"
            self.assertEqual(read(table).splitlines()[-1], b"4.5")
            for count in (11, 12, 40):
                d.resize((count,))
                d[:] = np.arange(count)
                f.flush()
                want = np.where(np.arange(count) == 11, np.nan, np.arange(count) * 0.5)
                until(lambda: read(name) == want.tobytes(), "the values of %d" % count)
                lines = [b"value"] + [b'""' if x != x else b"%g" % x if x % 1 else b"%.1f" % x for x in want]
                until(lambda: read(table).splitlines() == lines, "the lines of %d" % count)
            unmount(mnt)

    def test_without_a_mount(self):
        with h5py.File("f.h5", "w") as f:
            f.create_dataset("d", data=np.arange(3, dtype="i2")).attrs["add_offset"] = np.float32(0.25)
        self.assertEqual(
            run(H5MOUNT, "--cat", "f.h5", "/.h5/decoded/csv/d.csv").stdout, "value\n0.25\n1.25\n2.25\n"
        )
        told = json.loads(run(H5MOUNT, "--stat", "f.h5", "/d").stdout)["xattrs"]["user.hdf5.decoded"]
        self.assertEqual(json.loads(told), {"convention": "CF", "unpacked": "float32"})
