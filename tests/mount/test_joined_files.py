"""Hard cases of joined files, 23 to 35, 39 and 40, 42 to 44: members that differ, and files of every kind.
What is expected is said by h5py's or netCDF4-python's reading of each file."""
import json
import os
import time

import h5py
import netCDF4
import numpy as np

from joined_files import JoinedCase, SRC, days, h5, nc
from mounting import error, read
from support.join_oracle import Options
from support.program import H5MOUNT, run

RNG = np.random.default_rng(53)
XY = ("time", "x")


def frames(name, first, count=2, **more):
    """A file of h5py's with a scale `time` and a dataset `v`."""
    with h5(name, libver=more.pop("libver", "earliest")) as f:
        f["time"] = np.arange(first, first + count, dtype="f8")
        f["time"].make_scale("time")
        put(f, "v", np.arange(first * 3, (first + count) * 3, dtype="i4").reshape(count, 3))
        for key, value in more.items():
            put(f, key, value)


def put(f, name, value, kind=None):
    f.create_dataset(name, data=value, dtype=kind).dims[0].attach_scale(f["time"])


class JoinedMembers(JoinedCase):
    def test_23_coordinates_that_differ_in_the_last_bit(self):
        """Refused, with both files named; `first` takes the first's."""
        lat = np.array([10.0, 20.5, 31.25])
        for i in range(2):
            here = lat if i == 0 else np.nextafter(lat, 99)
            variables = {"time": days(i), "lat": (("lat",), here), "v": (("time", "lat"), np.full((1, 3), i))}
            nc("l%d.nc" % i, variables)
        place = self.joined()
        self.refused(place + "lat", "l0.nc", "l1.nc", "join_conflict=first")
        self.refused(place + "v")
        self.same(place + "time", np.array([0, 1], "i4"))
        place = self.joined("time", "join_conflict=first")
        self.same(place + "lat", lat)
        self.same(place + "v", np.array([[0] * 3, [1] * 3]))

    def test_24_a_variable_missing_in_some(self):
        """Fill values or NaN in its place, also where the first file lacks it; integers without: refused."""
        for i in range(3):
            variables = {"time": days(2 * i, 2 * i + 1), "always": (XY, np.full((2, 2), i, "f4"))}
            if i != 1:
                variables["middle"] = XY, np.full((2, 2), i, "f4")
                variables["whole"] = XY, np.full((2, 2), i, "i2")
            if i != 0:
                variables["first"] = XY, np.full((2, 2), i, "i2"), {"_FillValue": np.int16(-7)}
            nc("m%d.nc" % i, variables)
        place = self.joined()
        self.same(place + "middle", np.repeat(np.float32([0, np.nan, 2]), 4).reshape(6, 2))
        self.same(place + "first", np.repeat(np.int16([-7, 1, 2]), 4).reshape(6, 2))
        self.assertEqual(self.told(place + "first")["missing_in"], 1)
        self.refused(place + "whole", "m1.nc")
        self.as_the_rules_say(place)

    def test_25_a_scalar_beside_one_of_length_1(self):
        """Whether it has the axis must not differ."""
        for i in range(2):
            variables = {"time": days(i), "p": ((), np.float64(3)) if i else (("time",), np.array([3.0]))}
            nc("s%d.nc" % i, variables)
        place = self.joined()
        self.refused(place + "p", "s0.nc", "s1.nc")
        self.as_the_rules_say(place)

    def test_26_strings(self):
        """Fixed ones of 10 and 12, ASCII beside UTF-8, of variable length; what was written."""
        for i in range(2):
            fixed = np.array([b"a", b"b" * (10 + 2 * i)], "S%d" % (10 + 2 * i))
            kind = h5py.string_dtype("utf-8" if i else "ascii", 12)
            frames("s%d.h5" % i, 2 * i, fixed=fixed)
            with h5py.File(SRC + "s%d.h5" % i, "r+") as f:
                put(f, "both", np.array(["\u00e4".encode() if i else b"a", b"z"], kind))
                put(f, "lines", ["one", "zw\u00f6lf %d" % i], h5py.string_dtype())
                put(f, "mixed", np.array([b"x", b"y"], "S3") if i else ["x", "y"])
                put(f, "chars", np.full((2, 10 + 2 * i), b"q"))
        place = self.joined()
        self.same(place + "fixed", np.array([b"a", b"b" * 10, b"a", b"b" * 12], "S12"))
        both = np.array([b"a", b"z", "\u00e4".encode(), b"z"], "S12")
        self.assertEqual(read(place + "both"), both.tobytes())
        self.assertEqual(read(place + "lines").decode(), "one\nzw\u00f6lf 0\none\nzw\u00f6lf 1\n")
        self.refused(place + "mixed", "s0.h5", "s1.h5")
        self.refused(place + "chars", "s0.h5", "s1.h5")
        self.as_the_rules_say(place)

    def test_27_an_enumeration_with_a_further_code(self):
        """Merged; a name with another code is refused."""
        for i, codes in enumerate(({"A": 0, "B": 1}, {"A": 0, "B": 1, "C": 2})):
            frames("e%d.h5" % i, 2 * i)
            with h5py.File(SRC + "e%d.h5" % i, "r+") as f:
                put(f, "e", np.array([1, i * 2], "i1"), h5py.enum_dtype(codes, "i1"))
                put(f, "other", np.array([0, 1], "i1"), h5py.enum_dtype({"A": i, "B": 1 - i}, "i1"))
        place = self.joined()
        self.assertEqual(read(place + "e"), bytes([1, 0, 1, 2]))
        self.assertEqual(os.getxattr(place + "e", "user.hdf5.dtype"), b'enum(<i1){"A":0,"B":1,"C":2}')
        self.assertEqual(read(place + ".h5/text/e"), b"B\nA\nB\nC\n")
        self.refused(place + "other", "e0.h5", "e1.h5")

    def test_28_members_in_another_order(self):
        """Packed, in the first's order (h5py's fields); equal ones stay with their padding."""
        one = np.dtype([("x", "<f4"), ("n", "<i2")])
        other = np.dtype([("n", "<i2"), ("x", "<f4")])
        padded = np.dtype({"names": ["a", "b"], "formats": ["i1", "<i4"], "offsets": [0, 4], "itemsize": 8})
        for i, dtype in enumerate((one, other)):
            value = np.zeros(2, dtype)
            value["x"], value["n"] = [1.5, 2.5 + i], [i, 9]
            same = np.zeros(2, padded)
            same["a"], same["b"] = [1, 2], [i, 70000]
            frames("c%d.h5" % i, 2 * i, c=value, same=same)
        place = self.joined()
        want = np.array([(1.5, 0), (2.5, 9), (1.5, 1), (3.5, 9)], one)
        self.assertEqual(read(place + "c"), want.tobytes())
        self.assertEqual(os.getxattr(place + "c", "user.hdf5.dtype"), b'{"x":"<f4","n":"<i2"}')
        have = np.frombuffer(read(place + "same"), padded)
        self.assertEqual(have.tolist(), [(1, 0), (2, 70000), (1, 1), (2, 70000)])
        self.assertEqual(read(place + ".h5/fields/c/n"), want["n"].tobytes())

    def test_29_byte_orders(self):
        """Little-endian where they differ; their own where they do not; what was written."""
        for i, order in enumerate("<>"):
            values = np.arange(6).reshape(2, 3)
            frames("b%d.h5" % i, 2 * i, i4=values.astype(order + "i4"), f8=values.astype(order + "f8"))
            with h5py.File(SRC + "b%d.h5" % i, "r+") as f:
                put(f, "big", values.astype(">u2"))
                put(f, "wide", values.astype((order + "i2", order + "i8")[i]))
        place = self.joined()
        twice = np.concatenate([np.arange(6).reshape(2, 3)] * 2)
        for name, dtype in {"i4": "<i4", "f8": "<f8", "big": ">u2", "wide": "<i8"}.items():
            self.same(place + name, twice.astype(dtype))
        self.as_the_rules_say(place)

    def test_30_references_to_objects(self):
        """As text they are paths with their file; raw they are nothing."""
        for i in range(2):
            frames("r%d.h5" % i, 2 * i)
            with h5py.File(SRC + "r%d.h5" % i, "r+") as f:
                put(f, "r", np.array([f["v"].ref, f["time"].ref], h5py.ref_dtype), h5py.ref_dtype)
        place = self.joined()
        lines = read(place + "r").decode().splitlines()
        self.assertEqual(len(lines), 4)
        for line, (file, path) in zip(lines, [(f, p) for f in ("r0.h5", "r1.h5") for p in ("/v", "/time")]):
            self.assertIn(file, line)
            self.assertIn(path, line)
        self.assertFalse(os.path.exists(place + ".h5/npy/r.npy"))

    def test_31_virtual_external_and_growing_members(self):
        """What h5py reads of each; the last one grows under SWMR."""
        frames("a.h5", 0)
        with h5("b.h5") as f:
            f["time"] = np.array([2.0, 3.0])
            f["time"].make_scale("time")
            layout = h5py.VirtualLayout((2, 3), "i4")
            layout[:] = h5py.VirtualSource("a.h5", "v", (2, 3))
            f.create_virtual_dataset("v", layout).dims[0].attach_scale(f["time"])
        raw = np.arange(100, 106, dtype="i4")
        raw.tofile(SRC + "raw.bin")
        with h5("c.h5") as f:
            f["time"] = np.array([4.0, 5.0])
            f["time"].make_scale("time")
            f.create_dataset("v", (2, 3), "i4", external=[("raw.bin", 0, 24)]).dims[0].attach_scale(f["time"])
        with h5py.File(SRC + "d.h5", "w", libver="latest") as f:
            t = f.create_dataset("time", (1,), "f8", data=[6.0], maxshape=(None,), chunks=(4,))
            t.make_scale("time")
            v = f.create_dataset("v", (1, 3), "i4", data=[[7, 8, 9]], maxshape=(None, 3), chunks=(2, 3))
            v.dims[0].attach_scale(t)
            f.swmr_mode = True
            first = np.arange(6, dtype="i4").reshape(2, 3)
            place = self.joined()
            want = np.concatenate([first, first, raw.reshape(2, 3), [[7, 8, 9]]]).astype("i4")
            self.same(place + "v", want)
            for d, more in ((v, [[1, 2, 3]]), (t, [7.0])):
                d.resize(2, 0)
                d[1:] = more
                d.flush()
            want = np.concatenate([want, np.array([[1, 2, 3]], "i4")])
            self.soon(lambda: np.array_equal(self.array(place + "v"), want), "grown", 3)
            self.soon(lambda: len(self.array(place + "time")) == 8, "its coordinate", 3)

    def soon(self, condition, what, seconds=2.5):
        """Within the two seconds that are promised, and what the machine's load adds."""
        end = time.monotonic() + seconds
        while True:
            try:
                if condition():
                    return
            except (OSError, ValueError):  # of two states
                pass
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.02)

    def test_32_groups(self):
        """Nested ones; a path that is a group here and a dataset there is refused, the rest is not."""
        for i in range(2):
            variables = {"time": days(i), "g/h/v": (("time",), np.array([i * 1.5]))}
            variables["p/x" if i else "p"] = ("time",), np.array([1])
            nc("g%d.nc" % i, variables)
            with netCDF4.Dataset(SRC + "g%d.nc" % i, "a") as f:
                f["g"].setncatts({"note": "same", "other": str(i)})
        place = self.joined()
        self.same(place + "g/h/v", np.array([0, 1.5]))
        self.assertEqual(os.getxattr(place + "g", "user.note"), b"same")
        self.assertNotIn("user.other", os.listxattr(place + "g"))
        self.assertIn(b"g0.nc", os.getxattr(place + "p", "user.hdf5.error"))

    def test_33_soft_links_to_the_axis(self):
        """They lead where they led; links that differ are refused."""
        for i in range(2):
            frames("l%d.h5" % i, 2 * i)
            with h5py.File(SRC + "l%d.h5" % i, "r+") as f:
                f["t"] = h5py.SoftLink("/time")
                f["other"] = h5py.SoftLink("/v" if i else "/time")
        place = self.joined()
        self.assertEqual(os.readlink(place + "t"), "time")
        self.same(place + "t", np.arange(4.0))
        self.assertNotEqual(error(read, place + "other"), "none")

    def test_34_dimensions_of_equal_length(self):
        """Plain HDF5 without scales: the first dimension of each, h5py's reading."""
        parts = [RNG.integers(0, 9, (3, 3, 3)).astype("i4") for _ in range(3)]
        for i, part in enumerate(parts):
            with h5("frame_%d.h5" % (i + 9)) as f:
                f.create_dataset("entry/data", data=part, chunks=(1, 3, 2), compression=1)
                f["entry/count"] = part[:, 0, 0]
                f["entry/one"] = 7
        place = self.joined(":0")
        self.same(place + "entry/data", np.concatenate(parts))
        self.same(place + "entry/count", np.concatenate(parts)[:, 0, 0])
        self.same(place + "entry/one", np.array(7))
        self.as_the_rules_say(place, Options(":0"))
        place = self.joined(":2")
        self.same(place + "entry/data", np.concatenate(parts, 2))

    def test_35_more_files_than_may_be_open(self):
        """200 files with max_open=8; every value, and all descriptors."""
        for i in range(200):
            frames("f%d.h5" % i, 2 * i)
        place = self.joined("time", "max_open=8")
        self.same(place + "v", np.arange(1200, dtype="i4").reshape(400, 3))
        self.same(place + "time", np.arange(400.0))
        self.assertEqual(len({row["file"] for row in self.rows(place)}), 200)
        served = int(run("pgrep", "-f", self.mnt.rstrip("/")).stdout.split()[0])
        opened = [os.readlink("/proc/%d/fd/%s" % (served, fd)) for fd in os.listdir("/proc/%d/fd" % served)]
        self.assertLessEqual(sum(name.endswith(".h5") for name in opened), 8, opened)

    def test_39_names(self):
        """9 before 10, names that are not UTF-8, equal names in two directories."""
        os.makedirs("src/a")
        os.makedirs("src/b")
        names = [b"9.nc", b"10.nc", b"a/same.nc", b"b/same.nc", b"b/\xff\xfe.nc"]
        for i, name in enumerate(names):
            with h5py.File("made.h5", "w") as f:
                f["v"] = np.array([i, i], "u1")
            os.rename(b"made.h5", b"src/" + name)
        place = self.joined(":0")
        self.same(place + "v", np.array([0, 0, 1, 1, 2, 2, 3, 3, 4, 4], "u1"))
        self.assertEqual(sorted({os.fsencode(row["file"]) for row in self.rows(place)}), sorted(names))
        table = read(place + ".h5/files.parquet")  # whose texts are UTF-8
        self.assertEqual((b"\xff\xfe.nc" in table, b"\\udcff\\udcfe.nc" in table), (False, True))
        place = self.joined(r"+run:'(\d+)\.nc'", "match=[0-9]*.nc")
        self.same(place + "run", np.array([9, 10], "i8"))
        self.same(place + "v", np.array([[0, 0], [1, 1]], "u1"))

    def test_40_attributes_of_a_megabyte(self):
        """Equal ones are kept whole; those that differ are named; h5py's value."""
        large = RNG.integers(0, 255, 1 << 20).astype("u1")
        for i in range(3):
            frames("a%d.h5" % i, 2 * i, libver="latest")
            with h5py.File(SRC + "a%d.h5" % i, "r+", libver="latest") as f:
                f["v"].attrs["large"] = large
                f["v"].attrs["other"] = np.roll(large, i)
                f.attrs["top"] = large
        place = self.joined()
        self.assertEqual(json.loads(read(place + ".h5/attributes/v@large")), large.tolist())
        self.assertEqual(json.loads(read(place + ".h5/attributes/@top")), large.tolist())
        self.assertIn("large", os.getxattr(place + "v", "user.hdf5.large_attributes").decode())
        self.assertEqual(self.told(place + "v")["attributes_differ"], ["other"])

    def test_42_hostile_cards(self):
        """2^60 records, and 70,000 names: they do no harm, and the good files are there."""
        frames("good.h5", 0)
        with h5("far.h5") as f:
            f.create_dataset("far", (1 << 60,), "u1", chunks=(1 << 20,))
        frames("many.h5", 2)
        with h5py.File(SRC + "many.h5", "r+") as f:
            f["many/first"] = np.arange(2)
            for i in range(70000):
                h5py.h5o.link(f["many/first"].id, f["many"].id, b"l%d" % i)
        began = time.monotonic()
        place = self.joined()
        self.same(place + "v", np.arange(6, dtype="i4").reshape(2, 3))
        self.assertEqual(set(self.left_out(place)), {"far.h5", "many.h5"})
        os.unlink(SRC + "many.h5")
        with h5("far.h5") as f:
            t = f.create_dataset("time", (1 << 60,), "f8", chunks=(1 << 17,))
            t.make_scale("time")
            f.create_dataset("v", (1 << 60, 3), "i4", chunks=(1024, 3)).dims[0].attach_scale(t)
        for options in ((), ("join_order=name",)):
            place = self.joined("time", *options)
            error(os.listdir, place)
            self.assertEqual(read(self.mnt + "good.h5/time"), np.arange(2.0).tobytes())
        self.assertLess(time.monotonic() - began, 40)

    def test_43_lengths_beyond_63_bits(self):
        """Their sum is an error, and no wrong length."""
        for i in range(3):
            with h5("w%d.h5" % i) as f:
                f.create_dataset("v", (1 << 62,), "u1", chunks=(1 << 20,))
                f["w"] = np.array([i])
        place = self.joined(":0")
        self.assertEqual(os.stat(place + "v").st_size, 1)
        self.assertIn(error(read, place + "v"), ("Input/output error", "File too large"))
        self.same(place + "w", np.arange(3))

    def test_44_other_formats_among_them(self):
        """netCDF-classic and HDF4: left out, and named with a reason."""
        frames("good.h5", 0)
        nc("classic.nc", {"time": days(9)}, fmt="NETCDF3_CLASSIC")
        with open(SRC + "four.hdf", "wb") as f:
            f.write(b"\x0e\x03\x13\x01" + bytes(500))
        place = self.joined()
        self.same(place + "time", np.array([0.0, 1.0]))
        self.assertEqual(set(self.left_out(place)), {"classic.nc", "four.hdf"})
        self.assertEqual(self.told(place)["left_out"], 2)
        self.assertIn(b"classic.nc", os.getxattr(place, "user.hdf5.error"))
        ended = run(H5MOUNT, "--list", "-o", "join=time", "src", "/.h5/joined")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("classic.nc", ended.stderr)
        self.as_the_rules_say(place)
