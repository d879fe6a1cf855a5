"""Hard cases of joined files, 1 to 22: shapes, storage, packings, times, order. What is expected is said by
netCDF4-python's decoding of each file, cftime, h5py or plain arithmetic, as each test says."""
import json
import os

import cftime
import h5py
import numcodecs
import numpy as np

from joined_files import JoinedCase, SRC, days, decoded, h5, nc
from mounting import error, read
from support.join_oracle import Options

RNG = np.random.default_rng(52)
XY = ("time", "x")


class Joined(JoinedCase):
    def dates(self, place, want):
        """The joined times by cftime, to a microsecond, or to what a double can tell apart."""
        units = os.getxattr(place, "user.units").decode()
        calendar = "standard"
        if "user.calendar" in os.listxattr(place):
            calendar = os.getxattr(place, "user.calendar").decode()
        numbers = self.array(place)
        have = cftime.num2date(numbers, units, calendar=calendar)
        unit = {"d": 86400, "h": 3600, "m": 60}[units[0]]
        apart = max(1e-6, unit * np.spacing(np.abs(numbers).max().astype("f8")))
        self.assertEqual(len(have), len(want))
        for a, b in zip(have, want):
            self.assertLessEqual(abs((a - b).total_seconds()), apart, (a, b))

    def test_01_unequal_chunks(self):
        """Two years of 365 and 366 days in chunks of 61 and of 100; h5py's reading of each."""
        parts = []
        for i, (year, n) in enumerate(((2019, 365), (2020, 366))):
            parts.append(RNG.normal(280, 9, (n, 7)).astype("f4"))
            how = {"chunksizes": ((61, 100)[i], 7), "zlib": bool(i)}
            time = days(*range(i * 365, i * 365 + n), units="days since 2019-01-01")
            nc("t%d.nc" % year, {"time": time, "t": (XY, parts[-1], how)}, {"time": None})
        place = self.joined()
        self.same(place + "t", np.concatenate(parts))
        self.same(place + "time", np.arange(731, dtype="i4"))
        self.assertEqual(self.told(place + "t")["files"], 2)
        self.assertFalse(self.told(place + "t")["unpacked"])
        self.as_the_rules_say(place)

    def test_02_codecs_side_by_side(self):
        """Deflate, Zstandard and contiguous; what was written."""
        parts = [RNG.integers(0, 9, (6, 50)).astype("<i2") for _ in range(3)]
        for i, part in enumerate(parts):
            with h5("f%d.h5" % i) as f:
                if i == 1:
                    create = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                    create.set_chunk((3, 50))
                    create.set_filter(32015, h5py.h5z.FLAG_OPTIONAL, (3,))
                    space = h5py.h5s.create_simple(part.shape)
                    d = h5py.Dataset(h5py.h5d.create(f.id, b"v", h5py.h5t.STD_I16LE, space, dcpl=create))
                    for at in (0, 3):
                        packed = numcodecs.zstd.compress(part[at : at + 3].tobytes(), 3)
                        d.id.write_direct_chunk((at, 0), packed)
                else:
                    f.create_dataset("v", data=part, **({} if i else {"compression": 4, "chunks": (4, 20)}))
        place = self.joined(":0")
        self.same(place + "v", np.concatenate(parts))
        if os.path.isdir(place + ".h5/stored.zarr/v"):  # no one codec serves all
            self.assertIsNone(json.loads(read(place + ".h5/stored.zarr/v/.zarray"))["compressor"])

    def test_03_chunks_larger_than_the_steps(self):
        """Chunks of 1,024 on 30 steps: less than a chunk is there; what was written."""
        parts = [np.arange(i * 90, i * 90 + 90, dtype="f8").reshape(30, 3) for i in range(4)]
        for i, part in enumerate(parts):
            how = {"chunksizes": (1024, 3), "zlib": True}
            time = ("time",), np.arange(30) + 30 * i, {"units": "days since 2000-1-1", "chunksizes": (1024,)}
            nc("m%02d.nc" % i, {"time": time, "v": (XY, part, how)}, {"time": None})
        place = self.joined()
        self.same(place + "v", np.concatenate(parts))
        self.same(place + "time", np.arange(120))
        self.assertEqual(read(place + ".h5/slice/v/28:32,1"), np.concatenate(parts)[28:32, 1].tobytes())

    def test_04_a_packing_per_file(self):
        """netCDF4-python's own decoding of each file, in double."""
        names = []
        for i, (scale, offset, fill) in enumerate(
            ((0.01, 273.15, -1), (0.02, 250.0, -32768), (0.1, -7.3, 5))
        ):
            attrs = {"scale_factor": scale, "add_offset": offset, "_FillValue": np.int16(fill), "units": "K"}
            values = RNG.integers(-2, 9, (4, 5)).astype("i2")
            names.append("p%d.nc" % i)
            nc(names[-1], {"time": days(*range(4 * i, 4 * i + 4)), "t": (XY, values, attrs)})
        place = self.joined()
        self.same(place + "t", decoded(names, "t"))
        self.assertTrue(self.told(place + "t")["unpacked"])
        listed = os.listxattr(place + "t")
        for gone in ("scale_factor", "add_offset", "_FillValue"):
            self.assertNotIn("user." + gone, listed)
        self.assertEqual(os.getxattr(place + "t", "user.units"), b"K")
        self.as_the_rules_say(place)
        self.refused(self.joined("time", "join_conflict=refuse") + "t", "p0.nc", "join_conflict")

    def test_05_fills_alone_differ(self):
        """Floats: the first fill; a value equal to it elsewhere is EIO of its range. Integers: NaN."""
        for i, fill in enumerate((-999.0, 7.0)):
            f4 = np.array([[1, fill], [3, -999.0 if i else 4]], "f4")
            clean = np.array([[1, fill], [3, 4]], "f4")
            ints = np.array([[1, -99], [5, 8]], "i2")
            variables = {
                "time": days(2 * i, 2 * i + 1),
                "f": (XY, clean, {"_FillValue": np.float32(fill)}),
                "e": (XY, f4, {"_FillValue": np.float32(fill)}),
                "n": (XY, ints, {"_FillValue": np.int16((-99, 5)[i])}),
            }
            nc("f%d.nc" % i, variables)
        place = self.joined()
        self.same(place + "f", np.array([[1, -999], [3, 4], [1, -999], [3, 4]], "f4"))
        self.same(place + "n", np.array([[1, np.nan], [5, 8], [1, -99], [np.nan, 8]]))
        self.assertEqual(error(read, place + "e"), "Input/output error")
        slices = place + ".h5/slice/e/"
        self.assertEqual(read(slices + "0:3"), np.array([[1, -999], [3, 4], [1, -999]], "f4").tobytes())
        self.assertEqual(error(read, slices + "3"), "Input/output error")
        self.assertTrue(self.told(place + "f")["unpacked"])
        self.as_the_rules_say(place)

    def test_06_both_kinds_of_fill(self):
        """_FillValue and missing_value: raw where they are equal, else both are NaN (netCDF4-python)."""
        values = np.array([[1, -1], [-2, 7]], "i2")
        for i in range(2):
            attrs = {"_FillValue": np.int16(-1), "missing_value": np.int16(-2), "scale_factor": 0.5}
            variables = {"time": days(2 * i, 2 * i + 1), "same": (XY, values, attrs)}
            variables["other"] = XY, values, {**attrs, "scale_factor": (0.5, 0.25)[i]}
            nc("b%d.nc" % i, variables)
        place = self.joined()
        self.same(place + "same", np.concatenate([values, values]))
        self.assertIn(os.getxattr(place + "same", "user.missing_value"), (b"-2", b"[-2]"))
        self.same(place + "other", decoded(["b0.nc", "b1.nc"], "other"))
        self.assertEqual(np.isnan(self.array(place + "other")).sum(), 4)

    def test_07_a_vector_of_missing_values(self):
        """Each of them is missing, as netCDF4-python has it."""
        for i in range(2):
            attrs = {"missing_value": np.array([-1, -3], "i2"), "scale_factor": (0.5, 2.0)[i]}
            values = np.array([[-1, 1], [-3, -2]], "i2")
            nc("v%d.nc" % i, {"time": days(2 * i, 2 * i + 1), "v": (XY, values, attrs)})
        place = self.joined()
        want = decoded(["v0.nc", "v1.nc"], "v")
        self.assertEqual(np.isnan(want).sum(), 4)
        self.same(place + "v", want)

    def test_08_unsigned_numbers_in_signed_ones(self):
        """_Unsigned with a fill and an unsigned valid_min: netCDF4-python's decoding."""
        for i in range(2):
            attrs = {"_Unsigned": "true", "_FillValue": np.int8(-1), "scale_factor": (1.0, 0.5)[i]}
            attrs["valid_min"] = np.uint8(3)
            values = np.array([[-1, -2], [2, 3]], "i1")
            nc("u%d.nc" % i, {"time": days(2 * i, 2 * i + 1), "u": (XY, values, attrs)})
        place = self.joined()
        want = np.array([[np.nan, 254.0], [np.nan, 3], [np.nan, 127], [np.nan, 1.5]])
        self.same(place + "u", want)

    def test_09_a_single_scale_and_a_double_offset(self):
        """They make doubles; each step is rounded in double (plain arithmetic)."""
        values = np.array([[1, 2], [3, 30000]], "i2")
        want = []
        for i, scale in enumerate((0.1, 0.3)):
            attrs = {"scale_factor": np.float32(scale), "add_offset": np.float64(273.15)}
            nc("s%d.nc" % i, {"time": days(2 * i, 2 * i + 1), "v": (XY, values, attrs)})
            want.append(values.astype("f8") * float(np.float32(scale)) + 273.15)
        self.same(self.joined() + "v", np.concatenate(want))

    def test_10_scales_that_are_none(self):
        """0, NaN and text are errors, unless they are equal in all: then all is raw."""
        values = np.array([[1, 2], [3, 4]], "i2")
        for i in range(2):
            variables = {"time": days(2 * i, 2 * i + 1)}
            for name, pair in {
                "z": (0.0, 2.0),
                "n": (np.nan, 2.0),
                "w": ("x", "y"),
                "same": (0.0, 0.0),
            }.items():
                variables[name] = XY, values, {"scale_factor": pair[i]}
            nc("z%d.nc" % i, variables)
        place = self.joined()
        for name in "znw":
            self.refused(place + name, "z0.nc")
        self.same(place + "same", np.concatenate([values, values]))

    def test_11_packed_beside_unpacked(self):
        """netCDF4-python's decoding of each; single where all is single, as NumPy reckons it."""
        names = ["k0.nc", "k1.nc"]
        packed = np.array([[1, -9], [3, 4]], "i2")
        for i, name in enumerate(names):
            variables = {"time": days(2 * i, 2 * i + 1)}
            for kind in ("f4", "f8"):
                attrs = {"scale_factor": np.dtype(kind).type(0.1), "_FillValue": np.int16(-9)}
                variables[kind] = (XY, packed, attrs) if i else (XY, RNG.normal(0, 1, (2, 2)).astype(kind))
            nc(name, variables)
        place = self.joined()
        self.same(place + "f8", decoded(names, "f8"))
        self.same(place + "f4", decoded(names, "f4", "f4"))
        self.as_the_rules_say(place)

    def test_12_days_and_hours(self):
        """Days 0 1 2 beside hours 54 60, which ncrcat and CDO truncate: 2.25 and 2.5. Hours first: int64."""
        nc("a.nc", {"time": days(0, 1, 2)})
        nc("b.nc", {"time": days(54, 60, units="hours since 2000-01-01")})
        place = self.joined()
        self.same(place + "time", np.array([0, 1, 2, 2.25, 2.5]))
        self.assertTrue(self.told(place + "time")["rebased"])
        self.assertEqual(os.getxattr(place + "time", "user.units"), b"days since 2000-01-01")
        nc("a.nc", {"time": days(0, 6, units="hours since 2000-01-01")})
        nc("b.nc", {"time": days(0, 1, units="days since 2000-01-02")})
        self.same(self.joined() + "time", np.array([0, 6, 24, 48], "i8"))
        # Days first, and all hours are whole days: the axis stays whole.
        nc("a.nc", {"time": days(0, 1)})
        nc("b.nc", {"time": days(48, 72, units="hours since 2000-01-01")})
        self.same(self.joined() + "time", np.array([0, 1, 2, 3], "i8"))

    def test_13_calendars(self):
        """cftime's dates; gregorian is standard; calendars that differ are refused."""
        for calendar in ("standard", "noleap", "360_day", "proleptic_gregorian"):
            nc("a.nc", {"time": days(693600, 693601, units="days since 1-1-1", calendar=calendar)})
            second = "gregorian" if calendar == "standard" else calendar
            units = "hours since 2100-01-01"
            nc("b.nc", {"time": days(6, 7, units=units, calendar=second)})
            place = self.joined()
            want = [
                *cftime.num2date([693600, 693601], "days since 1-1-1", calendar=calendar),
                *cftime.num2date([6, 7], units, calendar=calendar),
            ]
            self.dates(place + "time", want)
        nc("a.nc", {"time": days(0, calendar="standard"), "v": (XY, np.ones((1, 2)))})
        nc("b.nc", {"time": days(1, calendar="proleptic_gregorian"), "v": (XY, np.ones((1, 2)))})
        self.refused(self.joined(), "a.nc", "b.nc")

    def test_14_time_zones_and_fractions(self):
        """cftime's dates, to a microsecond."""
        units = ["hours since 2000-01-01 02:00:00.25 +01:00", "minutes since 2000-01-03T00:00:00.5Z"]
        units.append("days since 2000-01-05 00:30 -03:30")
        want = []
        for i, unit in enumerate(units):
            nc("z%d.nc" % i, {"time": days(0, 1.5, units=unit, kind="f8")})
            want += list(cftime.num2date([0, 1.5], unit))
        place = self.joined()
        self.dates(place + "time", want)
        self.assertEqual(os.getxattr(place + "time", "user.units").decode(), units[0])
        self.as_the_rules_say(place)

    def test_15_bounds_without_units(self):
        """They are rebased as their coordinate is (plain arithmetic)."""
        bounds = np.array([[0, 1], [1, 2]], "f8")
        for i, units in enumerate(("days since 2000-01-01", "hours since 2000-01-03")):
            scale = (1, 24)[i]
            time = ("time",), (bounds.mean(1) * scale), {"units": units, "bounds": "time_bnds"}
            nc("b%d.nc" % i, {"time": time, "time_bnds": (("time", "side"), bounds * scale)})
        place = self.joined()
        self.same(place + "time_bnds", np.array([[0.0, 1], [1, 2], [2, 3], [3, 4]]))
        self.assertTrue(self.told(place + "time_bnds")["rebased"])
        self.assertNotIn("user.units", os.listxattr(place + "time_bnds"))
        self.as_the_rules_say(place)

    def test_16_the_date_in_the_name(self):
        """Hours from 0 in each file; cftime of the joined units."""
        want = []
        for name in ("20200229", "20200301"):
            nc("t%s.nc" % name, {"time": days(0, 12, units="hours since 1970-01-01")})
            want += [
                cftime.DatetimeGregorian(2020, *map(int, (name[4:6], name[6:])), hour) for hour in (0, 12)
            ]
        self.dates(self.joined("time:'%Y%m%d'") + "time", want)

    def test_17_forecasts_that_overlap(self):
        """Refused with the names of both; by names they are joined."""
        for i in range(2):
            nc("run%d.nc" % i, {"time": days(*range(i, i + 3)), "v": (XY, np.full((3, 2), i, "f4"))})
        self.refused(self.joined(), "run0.nc", "run1.nc", "join_order")
        place = self.joined("time", "join_order=name")
        self.same(place + "time", np.array([0, 1, 2, 1, 2, 3], "i4"))
        self.same(place + "v", np.repeat(np.float32([0, 1]), 6).reshape(6, 2))

    def test_18_the_last_step_again_as_the_first(self):
        for i in range(2):
            nc("s%d.nc" % i, {"time": days(i * 2, i * 2 + 1, i * 2 + 2)})
        self.refused(self.joined(), "s0.nc", "s1.nc")
        self.same(self.joined("time", "join_order=name") + "time", np.array([0, 1, 2, 2, 3, 4], "i4"))

    def test_19_a_descending_axis(self):
        """Levels from above; the order of files is that of their values, not of their names."""
        for name, values in {"a": [300, 200], "b": [1000, 850, 500], "c": [100]}.items():
            levels = ("level",), np.array(values, "f4"), {"units": "hPa", "positive": "down"}
            nc(name + ".nc", {"level": levels, "v": (("level",), np.array(values) * 2.0)})
        place = self.joined("level")
        want = np.array([1000, 850, 500, 300, 200, 100], "f4")
        self.same(place + "level", want)
        self.same(place + "v", want.astype("f8") * 2)
        self.assertEqual(os.getxattr(place + "level", "user.positive"), b"down")
        nc("c.nc", {"level": (("level",), np.array([100, 150], "f4"), {"units": "hPa", "positive": "down"})})
        self.refused(self.joined("level"), "c.nc")

    def test_20_a_file_of_no_records(self):
        """It adds nothing, and its attributes count."""
        for i, numbers in enumerate(((4, 5), (), (1,))):
            variables = {"time": days(*numbers), "v": (XY, np.full((len(numbers), 2), i, "f4"))}
            variables["v"] += ({"units": "K", "note": "n%d" % (i == 1)},)
            nc("r%d.nc" % i, variables, {"time": None, "x": 2})
        place = self.joined()
        self.same(place + "time", np.array([1, 4, 5], "i4"))
        self.same(place + "v", np.array([[2, 2], [0, 0], [0, 0]], "f4"))
        self.assertEqual(self.told(place + "v")["attributes_differ"], ["note"])
        self.assertEqual(self.told(place)["files"], 3)
        self.as_the_rules_say(place)

    def test_21_the_axis_is_not_the_first(self):
        """NumPy's concatenation along the second and the third dimension."""
        parts = [RNG.integers(0, 99, (3, 2 + i, 4)).astype(("<i4", ">i4")[i % 2]) for i in range(3)]
        for i, part in enumerate(parts):
            at = sum(p.shape[1] for p in parts[:i])
            how = {"chunksizes": (2, 1, 3), "zlib": True, "endian": ("little", "big")[i % 2]}
            variables = {"time": days(*range(at, at + part.shape[1])), "v": (("y", "time", "x"), part, how)}
            variables["w"] = ("y", "x", "time"), part.transpose(0, 2, 1).astype("f8")
            nc("q%d.nc" % i, variables)
        place = self.joined()
        want = np.concatenate(parts, 1).astype("<i4")
        self.same(place + "v", want)
        self.same(place + "w", want.transpose(0, 2, 1).astype("f8"))
        self.assertEqual(read(place + ".h5/slice/v/1,1:6:2,::3"), want[1, 1:6:2, ::3].tobytes())
        self.as_the_rules_say(place)

    def test_22_the_axis_in_some_or_twice(self):
        """A variable without it is there once; one that has it twice is refused."""
        for i in range(2):
            variables = {"time": days(2 * i, 2 * i + 1), "mask": (("x",), np.arange(3))}
            variables["v"] = XY, np.full((2, 3), i)
            variables["cov"] = ("time", "time"), np.eye(2)
            nc("c%d.nc" % i, variables)
        place = self.joined()
        self.same(place + "mask", np.arange(3))
        self.same(place + "v", np.repeat([0, 1], 6).reshape(4, 3))
        self.refused(place + "cov", "c0.nc")
        self.assertFalse(os.path.exists(place + ".h5/npy/cov.npy"))
        self.as_the_rules_say(place, Options())
