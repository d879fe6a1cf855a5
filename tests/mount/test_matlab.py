"""/.h5/decoded of MATLAB's files of version 7.3: what hdf5storage writes, held against what was written and
against what it loads; and files as MATLAB writes them, held against a reader of a few lines on h5py."""
import csv
import io
import itertools
import json
import os
import random
import warnings

import h5py
import numpy as np

from mounting import MountTest, read
from support.program import H5MOUNT, run, until

try:
    import hdf5storage
except ModuleNotFoundError:
    hdf5storage = None


def put(group, name, data, cls, **options):
    """As MATLAB stores an array: reversed, with its class in a string that has no room for a NUL."""
    data = np.asarray(data)
    if cls == "char":
        data = np.array([np.frombuffer(row.encode("utf-16-le"), "u2") for row in data])
    made = group.create_dataset(name, data=data.T, **options)
    set_class(made, cls)
    return made


def set_class(made, cls):
    kind = h5py.h5t.C_S1.copy()
    kind.set_size(len(cls))
    kind.set_strpad(h5py.h5t.STR_NULLTERM)
    space = h5py.h5s.create(h5py.h5s.SCALAR)
    attribute = h5py.h5a.create(made.id, b"MATLAB_class", kind, space)
    attribute.write(np.array(cls.encode(), "S%d" % len(cls)), kind)


def put_empty(group, name, dims, cls):
    made = group.create_dataset(name, data=np.array(dims, "u8"))
    set_class(made, cls)
    made.attrs["MATLAB_empty"] = np.uint8(1)


def put_cell(group, name, targets, shape, cls="cell"):
    """`targets`: objects in MATLAB's order. Without a class: a field of an array of structures."""
    refs = np.empty(len(targets), h5py.ref_dtype)
    for i, target in enumerate(targets):
        refs[i] = target.ref
    made = group.create_dataset(name, data=refs.reshape(shape[::-1]), dtype=h5py.ref_dtype)
    if cls:
        set_class(made, cls)
    return made


def matlab_file(name):
    return h5py.File(name, "w", userblock_size=512)


def class_of(item):
    cls = item.attrs.get("MATLAB_class", b"")
    return cls.decode() if isinstance(cls, (bytes, np.bytes_)) else str(cls)


def expected(item, path=""):
    """What a file's arrays mean, by the paths of a decoded view: arrays, and lists of the rows of texts."""
    cls = class_of(item)
    is_group = isinstance(item, h5py.Group)
    if is_group:
        fields = [item[name] for name in item if name not in ("#refs#", "#subsystem#")]
        is_array = (
            cls == "struct"
            and fields
            and isinstance(fields[0], h5py.Dataset)
            and fields[0].dtype == h5py.ref_dtype
            and "MATLAB_class" not in fields[0].attrs
        )
        if not is_array:
            for field in fields:
                yield from expected(field, path + field.name.rpartition("/")[2] + "/")
            return
        for at in np.ndindex(fields[0].shape[::-1]):
            here = path + ",".join(str(i + 1) for i in at) + "/"
            for field in fields:
                name = field.name.rpartition("/")[2]
                yield from expected(item.file[field[at[::-1]]], here + name + "/")
        return
    if cls in ("cell", "struct"):
        if item.attrs.get("MATLAB_empty", 0):
            return
        for at in np.ndindex(item.shape[::-1]):
            if item[at[::-1]]:
                here = path + ",".join(str(i + 1) for i in at) + "/"
                yield from expected(item.file[item[at[::-1]]], here)
        return
    path = path.rstrip("/")
    numbers = "double single int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()
    if "MATLAB_object_decode" in item.attrs or cls not in numbers + ["char", "logical", "canonical empty"]:
        return  # an object, or a part of a sparse matrix
    if item.attrs.get("MATLAB_empty", 0):
        kind = {"single": "f4", "logical": "?"}.get(
            cls, "f8" if cls in ("double", "canonical empty") else cls
        )
        yield path, [] if cls == "char" else np.zeros(tuple(int(n) for n in item[()]), kind)
        return
    value = item[()].T
    if cls == "char":
        rows = np.moveaxis(value, 1, -1).reshape(-1, value.shape[1])
        rows = [np.ascontiguousarray(row).tobytes() for row in rows]
        coding = {1: "utf-8", 2: "utf-16-le", 4: "utf-32-le"}[value.dtype.itemsize]
        yield path, [row.decode(coding, "replace") for row in rows]
    elif cls == "logical":
        yield path, value.astype(bool)
    elif value.dtype.names == ("real", "imag"):
        yield path, value["real"] + 1j * value["imag"]
    else:
        yield path, value


def listed(top):
    out = set()
    for place, _, files in os.walk(top):
        out |= {os.path.relpath(os.path.join(place, name), top) for name in files}
    return out


def compare(mnt, path):
    """Holds a file's arrays against its mount; returns how many there were, and the paths that differ."""
    wrong, seen = [], 0
    with h5py.File(path, "r") as f:
        for name, want in expected(f):
            seen += 1
            have = np.load(io.BytesIO(read("%s.h5/decoded/npy/%s.npy" % (mnt, name))))
            if isinstance(want, list):
                text = read("%s.h5/decoded/text/%s" % (mnt, name)).decode("utf-8", "replace")
                rows = [s.rstrip(b"\0") for s in have.reshape(-1).tolist()]
                plain = all(c.isprintable() and c != "\\" for row in want for c in row)
                same = rows == [row.encode().rstrip(b"\0") for row in want or [""]]
                same = same and (not plain or text == "".join(row + "\n" for row in want or [""]))
            else:
                same = have.dtype == want.dtype and have.shape == want.shape
                same = same and (
                    have.tobytes() == want.tobytes() or np.array_equal(have, want, equal_nan=True)
                )
            if not same:
                wrong.append(name)
    return seen, wrong


WRITTEN = {
    "row": np.arange(6.0).reshape(1, 6),
    "matrix": np.arange(12.0).reshape(3, 4) / 7,
    "cube": np.arange(24, dtype="i4").reshape(2, 3, 4),
    "four": np.arange(120, dtype="u2").reshape(2, 3, 4, 5),
    "scalar": np.float64(2.5),
    "complex": np.array([[1 + 2j, 3], [-4j, 5]]),
    "complex64": np.array([1 + 2j], "c8"),
    "logical": np.array([[True, False, True]]),
    "yes": np.bool_(True),
    "nan": np.array([np.nan, np.inf, -0.0]),
    "text": "a text",
    "unicode": "häé 中 𝄞😀",
    "no_text": "",
    "cell": np.array([1.5, "two", np.arange(3), True], object),
    "cells": np.array([np.array(["a", np.array(["b", 2.0], object)], object), "c"], object),
    "struct": {"a": 1.0, "b": "text", "c": {"d": np.arange(4), "e": np.array(["x"], object)}},
    "empty_struct": {},
    "array": np.array([(1, 2.5), (3, 4.5), (5, 6.5)], [("a", "i4"), ("b", "f8")]),
}
WRITTEN.update(
    {"of_" + kind: np.arange(-3, 9).astype(kind) for kind in "i1 i2 i4 i8 u1 u2 u4 u8 f4 f8".split()}
)


class MatlabTest(MountTest):
    def load(self, mnt, name):
        return np.load(io.BytesIO(read("%s.h5/decoded/npy/%s.npy" % (mnt, name))))

    def holds(self, mnt, name, value):
        """A value as it was given to hdf5storage; returns the number of arrays."""
        directory = "%s.h5/decoded/npy/%s" % (mnt, name)
        if isinstance(value, dict):
            self.assertEqual(
                {entry.removesuffix(".npy") for entry in os.listdir(directory)}, set(value), name
            )
            return sum(self.holds(mnt, "%s/%s" % (name, key), value[key]) for key in value)
        if isinstance(value, str):
            self.assertEqual(read("%s.h5/decoded/text/%s" % (mnt, name)).decode(), value + "\n", name)
            return 1
        value = np.atleast_2d(value)
        if value.dtype.names:
            items = {
                "%d,%d" % (1, i + 1): dict(zip(value.dtype.names, row)) for i, row in enumerate(value[0])
            }
            return self.holds(mnt, name, items)
        if value.dtype == object:
            return self.holds(mnt, name, {"1,%d" % (i + 1): item for i, item in enumerate(value[0])})
        have = self.load(mnt, name)
        self.assertEqual(
            (have.dtype, have.shape, have.tobytes()), (value.dtype, value.shape, value.tobytes())
        )
        return 1

    def test_what_hdf5storage_writes_and_loads(self):
        if hdf5storage is None:
            self.skipTest("no hdf5storage")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            hdf5storage.savemat("s.mat", WRITTEN, format="7.3", oned_as="row", store_python_metadata=False)
            loaded = hdf5storage.loadmat("s.mat")
        mnt = self.mount("s.mat")
        arrays = sum(self.holds(mnt, name, value) for name, value in WRITTEN.items())
        self.assertGreater(arrays, 40)
        self.assertNotIn("#refs#", os.listdir(mnt + ".h5/decoded/npy"))
        same = 0
        for name, value in WRITTEN.items():
            if getattr(value, "dtype", None) not in (None, object) and not value.dtype.names:
                self.assertTrue(np.array_equal(self.load(mnt, name), loaded[name], value.dtype.kind in "fc"))
                same += 1
        self.assertGreaterEqual(same, 15)
        self.assertEqual(compare(mnt, "s.mat"), (arrays, []))

    def test_files_as_matlab_writes_them(self):
        with matlab_file("m.mat") as f:
            refs = f.create_group("#refs#")
            put(f, "M", np.arange(6.0).reshape(2, 3), "double")
            put(f, "chars", ["ab ", "cde"], "char")
            put(f, "yes", np.array([[1, 0, 2]], "u1"), "logical").attrs["MATLAB_int_decode"] = np.int32(1)
            pairs = np.zeros((2, 2), [("real", "f8"), ("imag", "f8")])
            pairs["real"], pairs["imag"] = [[1, 2], [3, 4]], [[0, -1], [0, 5]]
            put(f, "z", pairs, "double")
            for name, dims, cls in (
                ("e", (0, 3), "single"),
                ("e3", (2, 0, 4), "int16"),
                ("el", (1, 0), "logical"),
                ("es", (0, 0), "char"),
                ("ec", (0, 0), "cell"),
                ("ss", (1, 1), "struct"),
            ):
                put_empty(f, name, dims, cls)
            put_empty(refs, "a", (0, 0), "canonical empty")
            b = put(refs, "b", [[1.5, 2.5]], "double")
            c = put(refs, "c", ["text"], "char")
            inner = put_cell(refs, "d", [b, c], (2, 1))
            s = refs.create_group("e")
            set_class(s, "struct")
            put(s, "x", [[7]], "int8")
            sub = s.create_group("deep")
            set_class(sub, "struct")
            put(sub, "y", ["deep"], "char")
            put_cell(f, "C", [b, inner, c, s, refs["a"], refs["a"]], (2, 3))
            trials = f.create_group("session/trials")
            set_class(f["session"], "struct")
            set_class(trials, "struct")
            put_cell(trials, "start", [b, c], (1, 2), None)
            put_cell(trials, "more", [put_cell(refs, "f", [b], (1, 1)), refs["a"]], (1, 2), None)
            obj = put(f, "when", [[3707764736, 2, 1, 1, 1, 1]], "datetime")
            obj.attrs["MATLAB_object_decode"] = np.int32(3)
            handle = f.create_group("fun")
            set_class(handle, "function_handle")
            put(handle, "function", ["sin"], "char")
            sparse = f.create_group("S")
            set_class(sparse, "double")
            sparse.attrs["MATLAB_sparse"] = np.uint64(3)
            sparse["data"], sparse["ir"], sparse["jc"] = [1.0, 2.0], np.array([0, 1], "u8"), [0, 1, 2]
            f.create_group("#subsystem#")
            put(f["#subsystem#"], "MCOS", [[1]], "FileWrapper__")
            f["plain"] = np.arange(6).reshape(2, 3)
        mnt = self.mount("m.mat")
        top = mnt + ".h5/decoded/"
        self.assertEqual(compare(mnt, "m.mat"), (21, []))
        self.assertEqual(read(top + "text/C/2,1/2,1"), b"text\n")
        self.assertEqual(sorted(os.listdir(top + "npy/C/2,1")), ["1,1.npy", "2,1.npy"])
        self.assertEqual(read(top + "csv/session/trials/1,1/start.csv"), b"0,1\n1.5,2.5\n")
        self.assertEqual(self.load(mnt, "session/trials/1,2/more").shape, (0, 0))
        self.assertEqual(read(top + "raw/session/trials/1,1/more/1,1"), np.array([1.5, 2.5]).tobytes())
        self.assertEqual(read(top + "text/C/2,2/deep/y"), b"deep\n")
        self.assertEqual([os.listdir(top + "npy/" + name) for name in ("ec", "ss")], [[], []])
        for name in ("e", "e3", "el", "es"):
            self.assertEqual(read(top + "text/" + name), b"\n", name)
        for view in os.listdir(top):
            self.assertFalse({"#refs#", "#subsystem#"} & set(os.listdir(top + view)), view)
            self.assertFalse(os.path.exists(top + view + "/#refs#"), view)
        self.assertIn("#refs#", os.listdir(mnt))
        for name in ("S/ir", "plain"):
            self.assertEqual(read(top + "npy/%s.npy" % name), read("%s.h5/npy/%s.npy" % (mnt, name)))
        for place, cls in (
            (mnt + "M", "double"),
            (mnt + "when", "datetime"),
            (mnt + "fun", "function_handle"),
            (top + "npy/when.npy", "datetime"),
            (top + "npy/C", "cell"),
            (top + "npy/session/trials", "struct"),
            (top + "text/C/1,1", "double"),
        ):
            told = json.loads(os.getxattr(place, "user.hdf5.decoded"))
            self.assertEqual(told, {"convention": "MATLAB", "class": cls}, place)
        told = json.loads(os.getxattr(mnt + "S", "user.hdf5.decoded"))
        self.assertEqual(told, {"convention": "MATLAB", "matrix": "csc"})
        lines = [json.loads(line) for line in read(mnt + ".h5/metadata.jsonl").splitlines()]
        said = {line["path"]: line.get("views", {}).get("decoded") for line in lines}
        self.assertEqual(said["/when"], "an object of MATLAB's class datetime")
        self.assertEqual(said["/fun"], "an object of MATLAB's class function_handle")
        self.assertIsNone(said["/M"])
        self.assertEqual(read(top + "npy/when.npy"), read(mnt + ".h5/npy/when.npy"))
        # Selections are of MATLAB's orientation.
        m = np.arange(6.0).reshape(2, 3)
        self.assertEqual(read(top + "slice/M/1"), m[1].tobytes())
        self.assertEqual(read(top + "slice/M/:,2"), m[:, 2].tobytes())
        self.assertEqual(os.listdir(top + "slice/M"), ["0", "1"])
        self.assertEqual(read(top + "slice/C/1,1/0,:.csv"), b"value\n1.5\n2.5\n")
        rows = list(csv.reader(io.StringIO(read(top + "csv/M.csv").decode())))
        self.assertEqual(rows[1:], [["0.0", "1.0", "2.0"], ["3.0", "4.0", "5.0"]])

    def test_arrays_of_every_layout_are_turned(self):
        rng = np.random.default_rng(1)
        cases = {}
        shapes = (
            (700, 900),
            (40, 50, 60),
            (1, 5000),
            (5000, 1),
            (7, 1, 300),
            (12, 13, 14, 15),
            (2, 3, 4, 5, 6, 7),
        )
        with matlab_file("t.mat") as f:
            for i, (shape, kind) in enumerate(itertools.product(shapes, ("u1", "i2", "f4", "f8", "c16"))):
                values = (rng.random(shape) * 200).astype(kind)
                stored = values
                if kind == "c16":
                    stored = np.ascontiguousarray(values).view([("real", "f8"), ("imag", "f8")])
                options = {}
                if i % 3:
                    options["chunks"] = tuple(max(1, n // 3) for n in shape[::-1])
                if i % 3 == 2:
                    options["compression"] = "gzip"
                cls = {"u1": "uint8", "i2": "int16", "f4": "single"}.get(kind, "double")
                put(f, "a%d" % i, stored, cls, **options)
                cases["a%d" % i] = values
        mnt = self.mount("t.mat")
        chance = random.Random(3)
        for name, values in cases.items():
            self.assertTrue(np.array_equal(self.load(mnt, name), values), (name, values.shape, values.dtype))
            want = np.ascontiguousarray(values).tobytes()
            with open(mnt + ".h5/decoded/raw/" + name, "rb", buffering=0) as raw:
                for _ in range(20):
                    at, size = chance.randrange(len(want)), chance.choice((1, 3, 17, 1000, 70000))
                    self.assertEqual(os.pread(raw.fileno(), size, at), want[at : at + size], (name, at, size))
            at = tuple(chance.randrange(n) for n in values.shape[:-1])
            text = ",".join(map(str, at))
            self.assertEqual(read(mnt + ".h5/decoded/slice/%s/%s" % (name, text)), values[at].tobytes(), name)

    def test_a_large_array_is_read_in_bands(self):
        values = np.arange(3000 * 2500, dtype="f8").reshape(3000, 2500)
        with matlab_file("l.mat") as f:
            put(f, "L", values, "double", chunks=(500, 256))
        mnt = self.mount("l.mat")
        self.assertEqual(read(mnt + ".h5/decoded/raw/L"), values.tobytes())

    def test_characters(self):
        with matlab_file("c.mat") as f:
            put(f, "astral", ["a😀b", "𝄞𐍈"[:1] + "xy"], "char")
            half = put(f, "half", np.array([[0xD83D, 0x41, 0xDE00, 0xD83D]], "u2"), "uint16")
            half.attrs["MATLAB_class"] = np.bytes_("char")
            units = {
                "one": np.array([list("h\u00e9".encode())], "u1"),
                "four": np.array([[0x1F600, 0x110000, 65]], "u4"),
            }
            for name, data in units.items():
                put(f, name, data, "uint8")
                f[name].attrs["MATLAB_class"] = np.bytes_("char")
            cube = np.array([[[97, 98], [99, 100], [101, 102]]], "u2")  # 1×3×2: two texts
            put(f, "cube", cube, "uint16").attrs["MATLAB_class"] = np.bytes_("char")
            put(f, "column", np.array([[97], [98]], "u2"), "uint16").attrs["MATLAB_class"] = np.bytes_("char")
        top = self.mount("c.mat") + ".h5/decoded/text/"
        want = {"astral": "a😀b\n𝄞xy\n", "half": "\ufffdA\ufffd\ufffd\n", "one": "hé\n", "four": "😀\ufffdA\n"}
        for name, text in want.items():
            self.assertEqual(read(top + name).decode(), text, name)
        self.assertEqual(read(top + "cube"), b"ace\nbdf\n")
        self.assertEqual(read(top + "column"), b"a\nb\n")

    def test_references_in_circles_end(self):
        with matlab_file("h.mat") as f:
            refs = f.create_group("#refs#")
            x = put(refs, "x", [[1.0]], "double")
            a, b = (f.create_dataset(name, (1, 2), h5py.ref_dtype) for name in "AB")
            for cell in a, b:
                set_class(cell, "cell")
            a[0, 0], a[0, 1], b[0, 0], b[0, 1] = a.ref, b.ref, a.ref, x.ref
            # Each level refers to the next one twice: without bounds there would be 2**40 paths.
            level = x
            for i in range(40):
                level = put_cell(refs, "l%d" % i, [level, level], (1, 2))
            put_cell(f, "twice", [level, level], (1, 2))
            put_cell(f, "up", [f["/"], refs, x], (3, 1))
            lost = f.create_dataset("lost", (3, 1), h5py.ref_dtype)
            set_class(lost, "cell")
            lost[0, 0] = x.ref
            raw = np.array([[f.id.get_filesize() * 2], [0], [3]], "u8")
            lost.id.write(h5py.h5s.ALL, h5py.h5s.ALL, raw, lost.id.get_type())
            s = f.create_group("s")
            set_class(s, "struct")
            put_cell(s, "one", [x, x], (1, 2), None)
            put_cell(s, "other", [x, x, x], (1, 3), None)
            put(s, "value", [[1.0]], "double")
            f["again"] = f["A"]
            f["soft"] = h5py.SoftLink("/B")
            for name, dims in (("huge", (2**63, 0)), ("full", (2, 3)), ("many", (0,) * 40)):
                put_empty(f, name, dims, "double")
            f["class"] = np.arange(4)
            f["class"].attrs["MATLAB_class"] = [1, 2, 3]
            put(f, "float_text", np.arange(3.0).reshape(1, 3), "uint8").attrs["MATLAB_class"] = np.bytes_(
                "char"
            )
            fill = f.create_dataset("wide", (2**40, 2**20), h5py.ref_dtype, chunks=(1024, 1))
            set_class(fill, "cell")
        mnt = self.mount("h.mat")
        for view in ("npy", "text", "csv", "slice"):
            top = mnt + ".h5/decoded/" + view
            places = 0
            for place, directories, files in os.walk(top):
                places += 1
                self.assertLess(places, 500)
                for name in files:
                    if view != "slice":
                        try:
                            read(os.path.join(place, name))
                        except OSError:
                            pass
            self.assertTrue(os.path.isdir(top + "/soft"))
            self.assertTrue(os.path.islink(top + "/soft"))
        top = mnt + ".h5/decoded/text/"
        self.assertEqual(read(top + "B/2,1"), b"1.0\n")
        self.assertEqual(os.path.realpath(top + "again"), os.path.realpath(top + "A"))
        self.assertEqual(os.path.realpath(top + "A/1,1"), os.path.realpath(top + "A"))
        self.assertEqual(os.path.realpath(top + "twice/1,2"), os.path.realpath(top + "twice/1,1"))
        self.assertEqual(read(top + "twice/1,2/1,1" + "/1,2" * 39), b"1.0\n")
        self.assertEqual(sorted(os.listdir(top + "s/1,1")), ["one", "other"])
        self.assertEqual(sorted(os.listdir(top + "s")), ["1,1", "1,2"])
        self.assertNotIn("2,1", os.listdir(top + "lost"))
        for name in ("1,1", "3,1"):
            with self.assertRaises(OSError):
                read(top + "lost/" + name)
        for name in "0,1 1,0 4,1 1 1,1,1 1, 01,1 1,1, +1,1 99999999999999999999,1".split():
            self.assertFalse(os.path.exists(top + "up/" + name), name)
        for name in ("full", "huge", "class"):
            self.assertEqual(read(top + name), read(mnt + ".h5/text/" + name), name)
        self.assertEqual(read(top + "float_text"), b"0.0 1.0 2.0\n")

    def test_a_file_that_grows(self):
        with h5py.File("g.h5", "w", libver="latest") as f:
            d = f.create_dataset("d", data=np.zeros((2, 3)), chunks=(2, 2), maxshape=(None, None))
            t = f.create_dataset("t", data=np.full((2, 1), 97, "u2"), chunks=(4, 1), maxshape=(None, None))
            set_class(d, "double")
            set_class(t, "char")
            f.swmr_mode = True
            top = self.mount("g.h5") + ".h5/decoded/"
            self.assertEqual(read(top + "text/t"), b"aa\n")
            for rows, columns in ((3, 4), (5, 4), (70, 300)):
                values = np.arange(rows * columns, dtype="f8").reshape(rows, columns)
                d.resize((columns, rows))
                d[:] = values.T
                t.resize((2, rows))
                t[:] = 98
                f.flush()
                until(lambda: read(top + "raw/d") == values.tobytes(), "the values of %d" % rows)
                until(lambda: read(top + "slice/d/1") == values[1].tobytes(), "a row of %d" % rows)
                until(lambda: read(top + "text/t") == b"bb\n" * rows, "the texts of %d" % rows)

    def test_without_a_mount(self):
        with matlab_file("w.mat") as f:
            put_cell(f, "C", [put(f.create_group("#refs#"), "b", ["text"], "char")], (1, 1))
        self.assertEqual(run(H5MOUNT, "--cat", "w.mat", "/.h5/decoded/text/C/1,1").stdout, "text\n")
        told = json.loads(run(H5MOUNT, "--stat", "w.mat", "/C").stdout)["xattrs"]["user.hdf5.decoded"]
        self.assertEqual(json.loads(told), {"convention": "MATLAB", "class": "cell"})

    def test_indices_of_pytables_are_left_out(self):
        try:
            import tables
        except ModuleNotFoundError:
            self.skipTest("no tables")
        with tables.open_file("i.h5", "w") as f:
            table = f.create_table("/", "t", {"a": tables.Int64Col(), "b": tables.Float64Col()})
            table.append([(i, i / 2) for i in range(100)])
            table.cols.a.create_index()
            f.create_group("/", "#refs#")
        with h5py.File("i.h5", "a") as f:
            f["_i_own"] = np.arange(3)
            f.create_group("_i_group")
        mnt = self.mount("i.h5")
        self.assertIn("_i_t", os.listdir(mnt))
        have = os.listdir(mnt + ".h5/decoded/npy")
        self.assertNotIn("_i_t", have)
        self.assertTrue({"t.npy", "#refs#", "_i_own.npy", "_i_group"} <= set(have), have)
