"""Virtual datasets of types with parts, of variable length, behind external links, and sets of files: as
libhdf5 reads them."""
import ctypes
import os

import h5py
import numpy as np
from h5py import h5d, h5f, h5p, h5s, h5t

from mounting import MountTest, error, read, unmount
from support.program import H5MOUNT, run


def raw(dataset):
    """The elements as they are stored."""
    kind = dataset.id.get_type()
    out = np.zeros(dataset.size * kind.get_size(), "u1")
    dataset.id.read(h5s.ALL, h5s.ALL, out.view("V%d" % kind.get_size()), kind)
    return out.tobytes()


def view(f, name, source, count, dtype, file="s.h5"):
    layout = h5py.VirtualLayout((count,), dtype)
    layout[:] = h5py.VirtualSource(file, source, (count,))
    f.create_virtual_dataset(name, layout)


def low_view(f, name, source, count, kind):
    create = h5p.create(h5p.DATASET_CREATE)
    space = h5s.create_simple((count,))
    create.set_virtual(space, b"s.h5", source, h5s.create_simple((count,)))
    h5d.create(f.id, name, kind, space, create)


WORDS = ["", "a", "Grüße", "x" * 5000]
LISTS = [[1, 2, 3], [], [70000]]
PAIRS = np.array([(1, 2.5, b"ab"), (-3, 1e300, b"cdef")], [("a", "<i4"), ("b", "<f8"), ("c", "S4")])


def lines(values):
    return b"".join(
        ("[%s]\n" % ",".join(map(str, v)) if isinstance(v, list) else v + "\n").encode() for v in values
    )


class VirtualTypes(MountTest):
    seconds = 120

    def write_sources(self):
        with h5py.File("s.h5", "w") as f:
            f["words"] = np.array(WORDS, dtype=h5py.string_dtype())
            for name, kind in (("lists", "<i4"), ("big", ">i2")):
                d = f.create_dataset(name, (3,), h5py.vlen_dtype(kind))
                for i, values in enumerate(LISTS if kind == "<i4" else [[1, -2], [3], []]):
                    d[i] = values
            f["pairs"] = PAIRS
            f["deep/x"] = np.arange(4)
            mixed = np.empty(2, [("w", h5py.string_dtype()), ("n", "<i4")])
            mixed["w"], mixed["n"] = ["one", "two"], [1, 2]
            f["mixed"] = mixed
            arrays = h5t.array_create(h5t.STD_I32BE, (2,))
            h5d.create(f.id, b"arrays", arrays, h5s.create_simple((3,))).write(
                h5s.ALL, h5s.ALL, np.arange(6, dtype=">i4").reshape(3, 2), arrays
            )
            h5d.create(f.id, b"bits", h5t.STD_B16BE, h5s.create_simple((4,))).write(
                h5s.ALL, h5s.ALL, np.array([0, 1, 0x1234, 0xFFFF], ">u2"), h5t.STD_B16BE
            )
            f["complex"] = np.arange(4) * (1 + 2j)
            f["soft"] = h5py.SoftLink("/deep/x")
            f["out"] = h5py.ExternalLink("t.h5", "/far")
        with h5py.File("t.h5", "w") as f:
            f["far/words"] = np.array(["t1", "t2"], dtype=h5py.string_dtype())
            f["far/x"] = np.arange(10, 14)

    def test_elements_with_parts_are_converted(self):
        self.write_sources()
        with h5py.File("v.h5", "w", libver="latest") as f:
            view(f, "same", "pairs", 2, PAIRS.dtype)
            view(f, "subset", "pairs", 2, [("b", "<f8")])
            view(f, "swapped", "pairs", 2, [("c", "S6"), ("a", ">i8"), ("b", "<f4")])
            view(f, "orders", "pairs", 2, [("a", ">i4"), ("b", ">f8")])
            view(f, "single", "complex", 4, "c8")
            for name, kind in (
                (b"arrays_le", h5t.array_create(h5t.STD_I64LE, (2,))),
                (b"arrays_f", h5t.array_create(h5t.IEEE_F32LE, (2,))),
            ):
                low_view(f, name, b"arrays", 3, kind)
            for name, kind in ((b"bits_le", h5t.STD_B32LE), (b"bits_8", h5t.STD_B8LE)):
                low_view(f, name, b"bits", 4, kind)
        mnt = self.mount("v.h5")
        with h5py.File("v.h5", "r") as f:
            for name in f:
                assert read(mnt + name) == raw(f[name]), name

    def test_a_member_that_the_source_lacks_is_the_fill_value(self):
        self.write_sources()
        with h5py.File("v.h5", "w", libver="latest") as f:
            view(f, "more", "pairs", 2, [("a", "<i4"), ("z", "<i4")])
        shown = np.frombuffer(read(self.mount("v.h5") + "more"), [("a", "<i4"), ("z", "<i4")])
        assert shown.tolist() == [(1, 0), (-3, 0)]

    def test_an_array_of_another_shape_is_no_conversion(self):
        self.write_sources()
        with h5py.File("v.h5", "w", libver="latest") as f:
            low_view(f, b"a", b"arrays", 3, h5t.array_create(h5t.STD_I32BE, (3,)))
        assert error(read, self.mount("v.h5") + "a") == "Operation not supported"

    def test_values_of_variable_length(self):
        self.write_sources()
        with h5py.File("v.h5", "w", libver="latest") as f:
            view(f, "words", "words", 4, h5py.string_dtype())
            view(f, "lists", "lists", 3, h5py.vlen_dtype("<i4"))
            view(f, "converted", "big", 3, h5py.vlen_dtype("<f8"))
            view(f, "mixed", "mixed", 2, [("n", ">i8"), ("w", h5py.string_dtype())])
            f["own"] = np.array(["o1", "o2"], dtype=h5py.string_dtype())
            view(f, "own_view", "own", 2, h5py.string_dtype(), ".")
            both = h5py.VirtualLayout((6,), h5py.string_dtype())
            both[:4] = h5py.VirtualSource("s.h5", "words", (4,))
            both[4:] = h5py.VirtualSource(".", "own", (2,))
            f.create_virtual_dataset("both", both)
        with h5py.File("w.h5", "w", libver="latest") as f:
            view(f, "nested", "both", 6, h5py.string_dtype(), "v.h5")
            view(f, "nested_lists", "converted", 3, h5py.vlen_dtype("<i8"), "v.h5")
        expected = {
            "words": lines(WORDS),
            "lists": lines(LISTS),
            "own_view": b"o1\no2\n",
            "both": lines(WORDS) + b"o1\no2\n",
            "converted": b"[1.0,-2.0]\n[3.0]\n[]\n",
            "mixed": b'{"n":1,"w":"one"}\n{"n":2,"w":"two"}\n',
        }
        mnt = self.mount("v.h5")
        for name, text in expected.items():
            assert read(mnt + name) == text, (name, read(mnt + name)[:100])
        assert read(mnt + ".h5/csv/words.csv").split(b"\n")[-2].endswith(b"x" * 5000)
        assert b"o2" in read(mnt + ".h5/parquet/both.parquet")
        unmount(mnt)
        mnt = self.mount("w.h5")
        assert read(mnt + "nested") == expected["both"]
        assert read(mnt + "nested_lists") == b"[1,-2]\n[3]\n[]\n"

    def test_a_source_of_variable_length_that_is_gone_is_the_fill_value(self):
        with h5py.File("v.h5", "w", libver="latest") as f:
            view(f, "words", "words", 2, h5py.string_dtype(), "gone.h5")
        assert read(self.mount("v.h5") + "words") == b"\n\n"

    def test_sources_behind_links(self):
        self.write_sources()
        with h5py.File("v.h5", "w", libver="latest") as f:
            view(f, "soft", "soft", 4, "<i8")
            view(f, "out", "out/x", 4, "<i8")
            view(f, "words", "/out/words", 2, h5py.string_dtype())
            f["away"] = h5py.ExternalLink("s.h5", "/out")
            view(f, "twice", "away/x", 4, "<i8", ".")
        mnt = self.mount("v.h5")
        for name in ("out", "twice"):
            assert read(mnt + name) == np.arange(10, 14).tobytes(), name
        assert read(mnt + "soft") == np.arange(4).tobytes()
        assert read(mnt + "words") == b"t1\nt2\n"
        unmount(mnt)
        mnt = self.mount("-o", "external=none", "v.h5")
        assert error(read, mnt + "twice") != "none"

    def test_a_link_to_itself_ends(self):
        with h5py.File("v.h5", "w", libver="latest") as f:
            f["round"] = h5py.ExternalLink("v.h5", "/round")
            view(f, "x", "round", 4, "<i8", ".")
        assert error(read, self.mount("v.h5") + "x") != "none"


class MultiDriver(MountTest):
    def test_sets_whose_headers_have_a_member_of_their_own(self):
        with open("/proc/self/maps") as f:
            library = ctypes.CDLL(next(line.split()[-1] for line in f if "libhdf5_serial.so" in line))
        library.H5Pset_fapl_multi.argtypes = [ctypes.c_int64] + [ctypes.c_void_p] * 4 + [ctypes.c_uint]
        for name, bounds in (("old", None), ("new", h5f.LIBVER_LATEST)):
            access = h5p.create(h5p.FILE_ACCESS)
            if bounds is not None:
                access.set_libver_bounds(bounds, bounds)
            library.H5Pset_fapl_multi(access.id, None, None, None, None, 1)
            with h5py.File(h5f.create(name.encode(), h5f.ACC_TRUNC, fapl=access)) as f:
                f["x"] = np.arange(1000)
                f["words"] = np.array(["a", "bc"], dtype=h5py.string_dtype())
                f.create_dataset("c", data=np.arange(500), chunks=(100,), compression="gzip")
            for path in (name, name + "-s.h5"):
                mnt = self.mount("-o", "external=beneath", path)
                assert read(mnt + "x") == np.arange(1000).tobytes(), path
                assert read(mnt + "c") == np.arange(500).tobytes(), path
                assert read(mnt + "words") == b"a\nbc\n", path
                unmount(mnt)
        os.remove("new-o.h5")
        p = run(H5MOUNT, "--list", "new")
        assert p.returncode != 0, p
