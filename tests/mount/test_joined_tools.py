"""Joined files by the tools of the trade: xarray, zarr-python, netCDF-C, CDO, NCO, DuckDB, and the file of
virtual datasets by libhdf5; and what those tools themselves make of the same files, right or wrong."""
import importlib.util
import json
import os
import re
import shutil
import sys
import unittest

import h5py
import netCDF4
import numpy as np

from joined_files import JoinedCase, SRC, days, decoded, h5, nc
from mounting import MountTest, ROOT, read
from support.join_oracle import Options, joined
from support.join_sets import make_set
from support.program import H5MOUNT, installed, run

HERE = os.path.join(ROOT, "tests", "mount", "fixtures")
RNG = np.random.default_rng(54)
XY = ("time", "x")


def has(*modules):
    return all(importlib.util.find_spec(name) for name in modules)


def alike():
    """Three files that every tool joins rightly, with equal packings and units."""
    parts = []
    for i in range(3):
        packed = RNG.integers(-99, 99, (4, 3)).astype("i2")
        attrs = {"scale_factor": 0.1, "add_offset": 5.0, "_FillValue": np.int16(-99)}
        variables = {"time": days(*range(4 * i, 4 * i + 4), kind="f8", calendar="standard")}
        variables["x"] = ("x",), np.array([1.0, 2, 3]), {"units": "m"}
        variables["v"] = XY, RNG.normal(0, 1, (4, 3)).astype("f4"), {"units": "K"}
        variables["p"] = XY, packed, attrs
        parts.append(variables)
        nc("a%d.nc" % i, variables, {"time": None})
    return {name: np.concatenate([p[name][1] for p in parts]) for name in ("time", "v", "p")}


def unlike():
    """Two files as measured: other packings, hours beside days, an own fill."""
    for i in range(2):
        attrs = {
            "scale_factor": (0.1, 0.5)[i],
            "add_offset": (0.0, 10.0)[i],
            "_FillValue": np.int16((-1, -2)[i]),
        }
        packed = np.array([[1, -1 - i, 3], [4, 5, 6]], "i2")
        units = ("days since 2000-01-01", "hours since 2000-01-01")[i]
        numbers = ((0, 1), (54, 60))[i]
        nc("u%d.nc" % i, {"time": days(*numbers, units=units), "p": (XY, packed, attrs)}, {"time": None})
    return decoded(["u0.nc", "u1.nc"], "p"), np.array([0, 1, 2.25, 2.5])


class JoinedTools(JoinedCase):
    def merged(self, *command):
        """What another program makes of the files: raw values by name, and attributes."""
        ended = run(*command)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        with netCDF4.Dataset("out.nc") as out:
            out.set_auto_maskandscale(False)
            return {name: out[name][...] for name in out.variables}, {
                n: out[n].__dict__ for n in out.variables
            }

    def test_ncrcat_and_cdo_agree_where_they_are_right(self):
        want = alike()
        place = self.joined()
        names = [SRC + "a%d.nc" % i for i in range(3)]
        for program, *words in (
            ["ncrcat", "-O", *names, "out.nc"],
            ["cdo", "-s", "-O", "mergetime", *names, "out.nc"],
        ):
            if not installed(program):
                continue
            have, _ = self.merged(program, *words)
            for name, values in want.items():
                self.assertEqual(have[name].tobytes(), values.tobytes(), (program, name))
                self.assertEqual(read(place + name), have[name].tobytes(), (program, name))

    def test_ncrcat_and_cdo_are_still_wrong_where_they_were(self):
        """Measured on two small files; this mount has netCDF4-python's values."""
        values, times = unlike()
        place = self.joined()
        self.same(place + "p", values)
        self.same(place + "time", times)
        names = [SRC + "u0.nc", SRC + "u1.nc"]
        if installed("ncrcat"):
            have, _ = self.merged("ncrcat", "-O", *names, "out.nc")
            raw = [[1, -1, 3], [4, 5, 6], [1, -2, 3], [4, 5, 6]]
            self.assertEqual(have["p"].tolist(), raw)  # the second's bytes under the first's packing
            self.assertEqual(have["time"].tolist(), [0, 1, 2, 2])
        if installed("cdo"):
            have, attrs = self.merged("cdo", "-s", "-O", "mergetime", *names, "out.nc")
            self.assertEqual(have["time"].astype("i8").tolist(), [0, 1, 2, 2])
            own = have["p"] * attrs["p"].get("scale_factor", 1) + attrs["p"].get("add_offset", 0)
            missing = np.isnan(own) | (have["p"] == attrs["p"].get("_FillValue", np.nan))
            self.assertFalse(missing[2, 1])  # the second's missing value is a number

    def test_units_that_all_keep_in_silence(self):
        """K beside degC is refused here, and kept by the others."""
        for i, unit in enumerate(("K", "degC")):
            nc(
                "k%d.nc" % i,
                {"time": days(i), "t": (XY, np.full((1, 2), 20.0 + i), {"units": unit})},
                {"time": None},
            )
        self.refused(self.joined() + "t", "k0.nc", "k1.nc", "join_conflict=first")
        self.same(self.joined("time", "join_conflict=first") + "t", np.array([[20.0] * 2, [21.0] * 2]))
        names = [SRC + "k0.nc", SRC + "k1.nc"]
        if installed("ncrcat"):
            have, attrs = self.merged("ncrcat", "-O", *names, "out.nc")
            self.assertEqual((have["t"][:, 0].tolist(), attrs["t"]["units"]), ([20, 21], "K"))

    def shown(self, text, name):
        """The numbers of a variable in CDL."""
        found = re.search(r"^ %s =([^;]*);" % re.escape(name), text.partition("data:")[2], re.M)
        self.assertTrue(found, text[-500:])
        return [float("nan" if w.strip() == "_" else w) for w in found[1].split(",")]

    def test_netcdf_programs_read_the_store(self):
        """By netCDF-C's own reader of Zarr."""
        want = alike()
        place = self.joined()
        url = "file://%s.h5/plain.zarr#mode=zarr,file" % place
        if installed("ncdump"):
            said = run("ncdump", "-p", "9,17", url)
            self.assertEqual(said.returncode, 0, said.stderr)
            self.assertEqual(self.shown(said.stdout, "time"), want["time"].tolist())
            self.assertEqual(
                np.float32(self.shown(said.stdout, "v")).tolist(), want["v"].reshape(-1).tolist()
            )
        if installed("cdo"):
            said = run("cdo", "-s", "outputf,%.9g,1", "-selname,v", url)
            if said.returncode == 0:
                self.assertEqual(np.float32(said.stdout.split()).tolist(), want["v"].reshape(-1).tolist())
        if installed("ncks"):
            said = run("ncks", "-H", "-C", "-s", "%.9g\n", "-v", "v", url)
            if said.returncode == 0:
                self.assertEqual(np.float32(said.stdout.split()).tolist(), want["v"].reshape(-1).tolist())

    @unittest.skipUnless(has("xarray", "zarr"), "no xarray and zarr for Python")
    def test_xarray_decodes_what_netcdf4_decodes(self):
        import xarray

        alike()
        names = ["a%d.nc" % i for i in range(3)]
        with xarray.open_zarr(self.joined() + ".h5/plain.zarr") as data:
            np.testing.assert_allclose(data["p"].values, decoded(names, "p"), rtol=1e-6)
            self.assertEqual(str(data["time"].values[5])[:10], "2000-01-06")
            self.assertEqual(data["v"].dims, XY)
        for name in os.listdir("src"):
            os.unlink(SRC + name)
        values, _ = unlike()
        with xarray.open_zarr(self.joined() + ".h5/plain.zarr") as data:
            self.assertEqual(data["p"].values.tobytes(), values.tobytes())
            self.assertEqual(str(data["time"].values[2]), "2000-01-03T06:00:00.000000000")

    def test_a_new_axis(self):
        """Runs beside each other, by number, date, attribute and name; NumPy's stack."""
        parts = {}
        for number in (10, 9, 100):
            parts[number] = RNG.normal(0, 1, (2, 3))
            variables = {"time": days(0, 1), "v": (XY, parts[number])}
            nc("run_%d.nc" % number, variables, attrs={"level": number * 0.5})
        want = np.stack([parts[n] for n in sorted(parts)])
        place = self.joined(r"+run:'run_(\d+)\.nc'")
        self.same(place + "run", np.array([9, 10, 100], "i8"))
        self.same(place + "v", want)
        self.same(place + "time", np.array([0, 1], "i4"))  # equal in all: there once
        place = self.joined("+level:@level")
        self.same(place + "level", np.array([4.5, 5, 50]))
        self.same(place + "v", want)
        place = self.joined("+run")
        self.assertEqual(read(place + "run"), b"run_9\nrun_10\nrun_100\n")
        for number, day in ((9, "20200229"), (10, "20200301"), (100, "20210101")):
            os.rename(SRC + "run_%d.nc" % number, SRC + "d%s.nc" % day)
        place = self.joined("+date:'%Y%m%d'")
        self.assertEqual(os.getxattr(place + "date", "user.units"), b"seconds since 1970-01-01")
        self.same(place + "date", np.array([1582934400, 1583020800, 1609459200], "i8"))
        self.same(place + "v", want)

    def test_a_union(self):
        """Members side by side; equal ones once, others refused."""
        for i in range(2):
            with h5("u%d.h5" % i) as f:
                f["v%d" % i] = np.arange(3) + i
                f["same"] = np.arange(4)
                f["other"] = np.arange(2) + i
        place = self.joined("union")
        for i in range(2):
            self.same(place + "v%d" % i, np.arange(3) + i)
        self.same(place + "same", np.arange(4))
        self.refused(place + "other", "u0.h5", "u1.h5")

    def test_the_file_of_virtual_datasets(self):
        """Put beside its sources, libhdf5 and netCDF-C read the same; what it cannot say it names."""
        want = alike()
        self.joined()
        said = run(H5MOUNT, "-o", "join=time", "--cat", "src", "/.h5/joined.h5", text=False)
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertEqual(said.stdout, read(self.mnt + ".h5/joined.h5"))
        os.mkdir("moved")
        shutil.move("src", "moved/here")
        with open("moved/here/joined.h5", "wb") as file:
            file.write(said.stdout)
        with h5py.File("moved/here/joined.h5", "r") as f:
            for name, values in want.items():
                self.assertEqual(f[name][...].tobytes(), values.tobytes(), name)
                self.assertTrue(f[name].is_virtual)
            self.assertEqual(f["v"].dims[0][0].name, "/time")
        with netCDF4.Dataset("moved/here/joined.h5") as f:
            self.assertEqual(f["v"].dimensions, XY)
            self.assertEqual(f["time"].calendar, "standard")

    def test_what_virtual_datasets_cannot_say(self):
        unlike()
        self.joined()
        with open("joined.h5", "wb") as file:
            file.write(read(self.mnt + ".h5/joined.h5"))
        with h5py.File("joined.h5", "r") as f:
            said = json.loads(f.attrs["h5mount_left_out"])
            self.assertEqual({path.lstrip("/") for path in said}, {"p", "time"})
            self.assertNotIn("p", f)

    def test_options_that_are_wrong(self):
        """Exit code 1, in one line."""
        nc("a.nc", {"time": days(0)})
        for options in (
            "join_order=name",
            "join=",
            "join=time,join_gap=x",
            "join=+",
            "join=time,join_order=up",
        ):
            ended = run(H5MOUNT, "--list", "-o", options, "src")
            self.assertEqual(ended.returncode, 1, options)
            self.assertEqual(ended.stderr.count("\n"), 1, ended.stderr)

    def test_without_a_mount(self):
        want = alike()
        words = [H5MOUNT, "-o", "join=time"]
        self.assertEqual(run(*words, "--cat", "src", "/.h5/joined/v", text=False).stdout, want["v"].tobytes())
        listed = run(*words, "--list", "-lR", "src", "/.h5/joined").stdout
        for name in ("time", "v", "p", "x"):
            self.assertRegex(listed, r"(?m)\b%s\b" % name)
        self.assertIn("user.hdf5.joined", run(*words, "--stat", "src", "/.h5/joined/v").stdout)


class JoinedStores(MountTest):
    seconds = 90

    @unittest.skipUnless(has("xarray", "zarr"), "no xarray and zarr for Python")
    def test_zarr_stores_of_generated_sets(self):
        """plain.zarr by zarr-python and xarray, v3.zarr by a reader of the specification's words."""
        for seed in range(20000, 20012):
            made = make_set(seed, "set%d" % seed)
            whole = joined(made.files, made.options)
            if whole.error:
                continue
            expected = {}
            for path, result in whole.datasets.items():
                plain = not result.error and not result.without_values and result.dtype.kind in "iuf"
                one_type = len(set(result.types or (0,))) == 1
                plain = plain and (result.axis is not None or one_type)  # a copy has the type of any file
                if plain and not h5py.check_enum_dtype(result.dtype) and result.unreadable is None:
                    expected[path.replace("/", "|")] = np.asarray(result.values).astype(result.dtype)
            np.savez("expected.npz", **expected)
            mnt = self.mount(*made.options.words(), made.directory)
            ended = run(sys.executable, HERE + "/joined_zarr.py", mnt + ".h5/joined/.h5", "expected.npz")
            self.assertEqual(ended.returncode, 0, (seed, made.options.words(), ended.stderr[-2000:]))

    @unittest.skipUnless(has("duckdb"), "no duckdb for Python")
    def test_parquet_by_duckdb(self):
        import duckdb

        os.mkdir("src")
        _, times = unlike()
        mnt = self.mount(*Options().words(), "src")
        rows = duckdb.sql("select * from '%s.h5/joined/.h5/parquet/time.parquet'" % mnt).fetchall()
        self.assertEqual([row[0] for row in rows], times.tolist())
        files = duckdb.sql("select distinct file from '%s.h5/joined/.h5/files.parquet'" % mnt).fetchall()
        self.assertEqual({row[0] for row in files}, {"u0.nc", "u1.nc"})
