"""/.h5/refs: the elements of datasets of references as symlinks, held against what h5py finds at them."""
import errno
import os
import struct

import h5py
import numpy as np

from mounting import MountTest, error, read
from support.messages import change_body
from support.program import H5MOUNT, run, until

REFS = ".h5/refs/"


class RefsTest(MountTest):
    def test_objects(self):
        with h5py.File("r.h5", "w") as f:
            f["a/d"], f["odd%2F name\n"], f["type"] = np.arange(5), 1, np.dtype("i4")
            f["a/again"], f["b"] = f["a/d"], f["a"]  # a second link to each
            refs = f.create_dataset("in/refs", (2, 3, 2), h5py.ref_dtype, chunks=(1, 2, 2))
            targets = {
                (0, 0, 0): "a/d",
                (0, 0, 1): "a",
                (0, 2, 1): "/",
                (1, 0, 0): "odd%2F name\n",
                (1, 1, 1): "in/refs",
                (1, 2, 0): "type",
            }
            for index, name in targets.items():
                refs[index] = f[name].ref
            gone = f.create_group("gone")
            f.create_dataset("dangling", (2,), h5py.ref_dtype)[0] = gone.ref
            del f["gone"]
            f["dangling"][1] = f["in"].ref
            f.create_dataset("scalar", (), h5py.ref_dtype)[()] = f["a/d"].ref
            f.create_dataset("null", data=h5py.Empty(h5py.ref_dtype))
            f.create_dataset("none", (0, 3), h5py.ref_dtype)
            f.create_dataset("nothing", (3,), h5py.ref_dtype)
            f["table"] = np.array([(f["a"].ref, 1)], [("r", h5py.ref_dtype), ("n", "i4")])
            f["soft"] = h5py.SoftLink("in/refs")
        mnt = self.mount("r.h5")
        refs = mnt + REFS
        self.assertEqual(
            sorted(os.listdir(refs)), ["a", "b", "dangling", "in", "none", "nothing", "scalar", "soft"]
        )
        self.assertEqual(
            sorted(os.listdir(refs + "in/refs")), sorted(",".join(map(str, index)) for index in targets)
        )
        with h5py.File("r.h5") as f:
            for index, name in targets.items():
                path = refs + "in/refs/" + ",".join(map(str, index))
                self.assertTrue(os.path.islink(path))
                have = os.path.realpath(path)
                self.assertEqual(os.stat(have).st_ino, os.stat(path).st_ino)
                want = mnt + (name if name != "odd%2F name\n" else "odd%252F name\n")
                self.assertTrue(os.path.samefile(have, want), (index, have))
                self.assertEqual(f[f["in/refs"][index]], f[name])
                self.assertTrue(os.path.samefile(refs + "soft/" + os.path.basename(path), want))
        self.assertEqual(os.listdir(refs + "dangling"), ["1"])
        self.assertTrue(os.path.samefile(refs + "dangling/1", mnt + "in"))
        self.assertEqual(os.listdir(refs + "scalar"), ["0"])
        self.assertEqual(read(refs + "scalar/0"), read(mnt + "a/d"))
        self.assertEqual(os.listdir(refs + "none") + os.listdir(refs + "nothing"), [])
        absent = "dangling/0 dangling/2 scalar/1 scalar/00 in/refs/0,0 in/refs/0,1,0 in/refs/2,0,0 nothing/0"
        for name in absent.split():
            self.assertEqual(error(os.readlink, refs + name), "No such file or directory", name)
        for name in (
            "in/refs/00,0,0",
            "in/refs/0,0,-1",
            "in/refs/0,0,0,0",
            "in/refs/0, 0,0",
            "in/refs/x",
            "in/refs/,,",
        ):
            self.assertEqual(error(os.readlink, refs + name), "No such file or directory", name)
        p = run(H5MOUNT, "--stat", "r.h5", "/.h5/refs/in/refs/0,0,0")
        self.assertIn("../../../../a/again", p.stdout)  # the first path of the object

    def test_regions(self):
        """Each leads to the slice with the same elements, or to the dataset if no slice has just these."""
        selections = [
            np.s_[2:5, 1:4],
            np.s_[::3, ::2],
            np.s_[7, :],
            np.s_[:, 8:9],
            np.s_[1:12:5, 3:9],
            np.s_[0, 0],
            np.s_[12:13, 9:10],
        ]
        others = [np.s_[...], np.s_[[1, 2, 5], 3], np.s_[0:0, :]]
        for libver in "earliest", "latest":
            with h5py.File(libver + ".h5", "w", libver=libver) as f:
                d = f.create_dataset("g/d", data=np.arange(130).reshape(13, 10))
                e = f.create_dataset("e", data=np.arange(30))
                r = f.create_dataset("r", (20,), h5py.regionref_dtype)
                for i, selection in enumerate(selections + others):
                    r[i] = d.regionref[selection]
                r[18], r[19] = e.regionref[4:25:4], e.regionref[29]
                blocks = h5py.h5s.create_simple((13, 10))
                blocks.select_hyperslab((0, 1), (3, 2), (4, 4), (2, 2))
                r[15] = h5py.h5r.create(d.id, b".", h5py.h5r.DATASET_REGION, blocks)
                uneven = h5py.h5s.create_simple((13, 10))
                for start in (0, 0), (3, 3), (7, 7):
                    uneven.select_hyperslab(start, (1, 1), None, (2, 2), op=h5py.h5s.SELECT_OR)
                r[16] = h5py.h5r.create(d.id, b".", h5py.h5r.DATASET_REGION, uneven)
                want = [d[s] for s in selections] + [e[4:25:4], e[29:30]]
            mnt = self.mount(libver + ".h5")
            names = [str(i) for i in range(len(selections))] + ["18", "19"]
            for name, values in zip(names, want):
                path = mnt + REFS + "r/" + name
                self.assertIn("/.h5/slice/", os.path.realpath(path))
                self.assertEqual(read(path), values.tobytes(), name)
            for i in (*range(len(selections), len(selections) + len(others)), 15, 16):
                self.assertTrue(os.path.samefile(mnt + REFS + "r/%d" % i, mnt + "g/d"), i)
            self.assertEqual(os.readlink(mnt + REFS + "r/0"), "../../../.h5/slice/g/d/2:5,1:4")
            self.assertEqual(os.readlink(mnt + REFS + "r/18"), "../../../.h5/slice/e/4:25:4")
            self.assertEqual(sorted(map(int, os.listdir(mnt + REFS + "r"))), [*range(10), 15, 16, 18, 19])

    def test_a_region_that_its_dataset_no_longer_has(self):
        with h5py.File("s.h5", "w") as f:
            d = f.create_dataset("d", data=np.arange(20), maxshape=(None,))
            f.create_dataset("r", (1,), h5py.regionref_dtype)[0] = d.regionref[5:15]
            d.resize((10,))
        mnt = self.mount("s.h5")
        self.assertTrue(os.path.samefile(mnt + REFS + "r/0", mnt + "d"))

    def test_references_of_hdf5_1_12(self):
        """Elements as HDF5's H5T_STD_REF stores them, in datasets whose type is made one of references."""
        with h5py.File("n.h5", "w", libver="latest") as f:
            d = f.create_dataset("g/d", data=np.arange(60).reshape(6, 10))
            place = h5py.h5o.get_info(d.id).addr
            token = b"\x08" + struct.pack("<Q", place)
            block = struct.pack("<10I", 2, 1, 0, 24, 2, 1, 1, 2, 3, 5)  # from 1,2 to 3,5
            region = token + struct.pack("<II", len(block), 2) + block
            attribute = token + struct.pack("<H", 3) + b"att"
            elsewhere = token + struct.pack("<H", 4) + b"o.h5"
            heap = f.create_dataset("heap", (3,), h5py.vlen_dtype("u1"))
            for i, content in enumerate((region, attribute, elsewhere)):
                heap[i] = np.frombuffer(content, "u1")
            at = heap.id.get_offset()
            f.flush()
            with open("n.h5", "rb") as raw:
                raw.seek(at)
                stored = raw.read(48)
            places = [stored[i * 16 : i * 16 + 16] for i in range(3)]  # length, collection, index
            elements = [
                b"\x02\x00" + token,
                b"\x03\x00" + places[0],
                b"\x04\x00" + places[1],
                b"\x02\x01" + places[2],
                b"",
                b"\x07\x00" + token,
                b"\x02\x00\x08" + struct.pack("<Q", place + 8),
                b"\x03\x00" + struct.pack("<IQI", 9, place, 1),
            ]
            f["refs"] = np.array([element.ljust(18, b"\0") for element in elements], "V18")
        change_body(
            "n.h5", "refs", 3, lambda body: b"\x47" + struct.pack("<IB", 0x12, 0)[:3] + struct.pack("<I", 18)
        )
        mnt = self.mount("n.h5")
        self.assertEqual(sorted(os.listdir(mnt + REFS + "refs")), ["0", "1", "2"])
        self.assertTrue(os.path.samefile(mnt + REFS + "refs/0", mnt + "g/d"))
        self.assertEqual(os.readlink(mnt + REFS + "refs/1"), "../../../.h5/slice/g/d/1:4,2:6")
        self.assertEqual(
            read(mnt + REFS + "refs/1"), np.arange(60).reshape(6, 10)[1:4, 2:6].astype("i8").tobytes()
        )
        self.assertTrue(os.path.samefile(mnt + REFS + "refs/2", mnt + "g/d"))  # the object of an attribute
        for name in "3467":
            self.assertEqual(error(os.readlink, mnt + REFS + "refs/" + name) != "none", True, name)

    def test_other_files(self):
        with h5py.File("o.h5", "w") as f:
            f["in/d"] = np.arange(5)
            f.create_dataset("in/r", (2,), h5py.ref_dtype)[1] = f["in/d"].ref
            f.create_dataset("in/regions", (1,), h5py.regionref_dtype)[0] = f["in/d"].regionref[1:3]
        with h5py.File("m.h5", "w") as f:
            f["ext"] = h5py.ExternalLink("o.h5", "/in")
        mnt = self.mount("m.h5")
        self.assertEqual(read(mnt + "ext/d"), read(mnt + REFS + "ext/r/1"))
        self.assertEqual(read(mnt + REFS + "ext/regions/0"), np.arange(1, 3).tobytes())
        self.assertIn(".h5/slice/.h5/external/o.h5/in/d/1:3", os.path.realpath(mnt + REFS + "ext/regions/0"))

    def test_circles_and_many(self):
        with h5py.File("c.h5", "w") as f:
            f["a/loop"] = f.create_group("a")
            f.create_dataset("a/r", (1,), h5py.ref_dtype)[0] = f["a"].ref
            many = f.create_dataset("many", (300, 300), h5py.ref_dtype, chunks=(10, 300), compression="gzip")
            many[:] = np.full((300, 300), f["a/r"].ref, h5py.ref_dtype)
            sparse = f.create_dataset("sparse", (1 << 40,), h5py.ref_dtype, chunks=(1024,))
            sparse[1 << 39] = f["a"].ref
        mnt = self.mount("c.h5")
        self.assertTrue(os.path.samefile(mnt + REFS + "a/r/0", mnt + "a"))
        self.assertTrue(os.path.samefile(mnt + REFS + "a/loop/r/0", mnt + "a"))
        self.assertEqual(len(os.listdir(mnt + REFS + "many")), 65536)
        self.assertTrue(os.path.samefile(mnt + REFS + "many/299,299", mnt + "a/r"))
        self.assertEqual(os.listdir(mnt + REFS + "sparse"), [])
        self.assertTrue(os.path.samefile(mnt + REFS + "sparse/%d" % (1 << 39), mnt + "a"))

    def test_references_that_change(self):
        f = h5py.File("w.h5", "w", libver="latest")
        f["a"], f["b"] = 1, 2
        refs = f.create_dataset("r", (4,), h5py.ref_dtype, maxshape=(None,), chunks=(4,))
        refs[0] = f["a"].ref
        f.swmr_mode = True
        mnt = self.mount("w.h5")
        self.assertEqual(os.listdir(mnt + REFS + "r"), ["0"])
        self.assertTrue(os.path.samefile(mnt + REFS + "r/0", mnt + "a"))
        refs[0], refs[2] = f["b"].ref, f["a"].ref
        refs.flush()
        until(lambda: sorted(os.listdir(mnt + REFS + "r")) == ["0", "2"], "one more")
        until(lambda: os.path.samefile(mnt + REFS + "r/0", mnt + "b"), "another target")
        f.close()

    def test_damaged_references(self):
        with h5py.File("d.h5", "w") as f:
            f["a"] = 1
            objects = f.create_dataset("objects", (3,), h5py.ref_dtype)
            objects[0] = objects[2] = f["a"].ref
            regions = f.create_dataset("regions", (3,), h5py.regionref_dtype)
            f["line"] = np.arange(9)
            for i in range(3):
                regions[i] = f["line"].regionref[i : i + 2]
            packed = f.create_dataset("packed", (600,), h5py.ref_dtype, chunks=(300,), compression="gzip")
            packed[:] = np.full(600, f["a"].ref, h5py.ref_dtype)
            at = objects.id.get_offset(), regions.id.get_offset(), packed.id.get_chunk_info(1).byte_offset
        with open("d.h5", "r+b") as f:
            for place, content in (at[0] + 8, b"\x07" * 8), (at[1] + 12, b"\xee" * 4), (at[2], b"\xff" * 8):
                f.seek(place)
                f.write(content)
        mnt = self.mount("d.h5") + REFS
        self.assertEqual(sorted(os.listdir(mnt + "objects")), ["0", "2"])
        self.assertEqual(sorted(os.listdir(mnt + "regions")), ["0", "2"])
        self.assertEqual(error(os.readlink, mnt + "objects/1"), "No such file or directory")
        self.assertEqual(error(os.readlink, mnt + "regions/1") == "none", False)
        self.assertEqual(os.readlink(mnt + "packed/0"), "../../../a")
        self.assertEqual(error(os.readlink, mnt + "packed/599"), os.strerror(errno.EIO))
        self.assertEqual(error(os.listdir, mnt + "packed"), os.strerror(errno.EIO))
        self.assertEqual(os.readlink(mnt + "objects/2"), "../../../a")
