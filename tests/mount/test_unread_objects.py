"""One object that cannot be read: listings of views, stores and directories of /.h5 go on, and nothing is
left out in silence."""
import json
import os

import h5py
import numpy as np

from mounting import MountTest, error, inside, read
from support.program import H5MOUNT, run

STORES = ("plain.zarr", "stored.zarr", "v3.zarr")
OF_DATASETS = ("npy", "csv", "tsv", "ndjson", "parquet", "tiff", "text", "slice")


def damage(path, *addresses):
    """Makes the headers at these addresses wrong by their checksum."""
    with open(path, "rb") as f:
        bytes_ = bytearray(f.read())
    for at in addresses:
        bytes_[at + 20] ^= 0xFF
    with open(path, "wb") as f:
        f.write(bytes_)


class UnreadObjectsTest(MountTest):
    def setUp(self):
        super().setUp()
        with h5py.File("f.h5", "w", libver="latest") as f:
            for place in ("", "g/"):
                for name in "abc":
                    f[place + name] = np.arange(6.0).reshape(2, 3)
                    f[place + name].attrs["units"] = "K"
            f["pair"] = np.zeros(2, [("x", "i4")])
            f["broken"] = f["a"].dtype  # a committed type
            f["group/x"] = np.arange(3)
            f["group/y"] = np.arange(3)
            f["lost/x"] = np.arange(3)
            f["soft"] = h5py.SoftLink("/b")
            at = [h5py.h5o.get_info(f[name].id).addr for name in ("b", "g/b", "lost", "broken")]
        damage("f.h5", *at)
        self.mnt = self.mount("f.h5")

    def test_a_view_lists_them_under_their_own_names_with_mode_0(self):
        for view in OF_DATASETS + ("attributes", "fields", "sparse"):
            for place in ("", "g/"):
                there = self.mnt + ".h5/%s/%s" % (view, place)
                shown = os.listdir(there)
                assert "b" in shown, (view, shown)
                assert os.stat(there + "b").st_mode & 0o777 == 0, view
                assert os.stat(there + "b").st_mode == os.stat(self.mnt + place + "b").st_mode, view
                assert error(open, there + "b") == "Input/output error", view
                assert "checksum" in os.getxattr(there + "b", "user.hdf5.error").decode(), view
                if view in OF_DATASETS:
                    assert len([name for name in shown if name[0] in "ac"]) == 2, (view, shown)
            assert "lost" in os.listdir(self.mnt + ".h5/" + view), view
            assert os.readlink(self.mnt + ".h5/%s/soft" % view) == "b", view
        assert "b" not in os.listdir(self.mnt + ".h5")
        assert error(open, self.mnt + ".h5/npy/b.npy") == "Input/output error"  # it may be a dataset

    def test_the_log_tells_each_once_and_so_does_metadata(self):
        for _ in range(2):
            inside(self.mnt, "ls -lR .h5/npy .h5/csv .h5/plain.zarr .h5/v3.zarr")
        told = read(self.mnt + ".h5/log").decode()
        for path in ("/b", "/g/b", "/lost"):
            assert told.count(": %s: " % path) == 1, (path, told)
        lines = [json.loads(line) for line in read(self.mnt + ".h5/metadata.jsonl").decode().splitlines()]
        assert {line["path"] for line in lines if "error" in line} == {
            "/b",
            "/g/b",
            "/lost",
            "/broken",
        }, lines

    def test_a_store_leaves_them_out_and_opens(self):
        import zarr

        for store in STORES:
            there = self.mnt + ".h5/" + store
            assert {"a", "c", "g"} <= set(os.listdir(there)) and "b" not in os.listdir(there), store
            assert sorted(n for n in os.listdir(there + "/g") if n[0] != "." and n != "zarr.json") == [
                "a",
                "c",
            ], store
            assert error(os.listdir, there + "/b") == "Input/output error", store
            if store != "v3.zarr":
                root = zarr.open(there, "r")
                assert sorted(n for n, _ in root.arrays()) == ["a", "c", "pair"], store
                assert np.array_equal(zarr.open_consolidated(there)["g/a"][:], np.arange(6.0).reshape(2, 3))

    def test_commands_name_what_is_left_out(self):
        for place in (".h5/npy", ".h5/plain.zarr", ".h5/v3.zarr", ".h5/attributes"):
            for words in (
                ("--list", "-R", "f.h5", "/" + place),
                ("--tar", "f.h5", "/" + place),
                ("--copy", "f.h5", "/" + place, place.replace("/", "_")),
                ("--list", "-lR", "f.h5", "/" + place),
            ):
                p = run(H5MOUNT, *words, text=False)
                said = p.stderr.decode()
                assert p.returncode == 1, (words, said)
                for name in ("/b: ", "/g/b: ", "/lost: "):
                    assert name in said, (words, name, said)
        assert sorted(os.listdir(".h5_npy")) == ["a.npy", "c.npy", "g", "group", "pair.npy", "soft"]
        p = run(H5MOUNT, "--list", "f.h5", "/.h5/plain.zarr")
        assert p.returncode == 1 and "/b: " in p.stderr, p

    def test_a_table_is_that_of_its_other_columns(self):
        with h5py.File("t.h5", "w", libver="latest") as f:
            for name in "xyz":
                f["t/" + name] = np.arange(3)
            at = h5py.h5o.get_info(f["t/y"].id).addr
        damage("t.h5", at)
        mnt = self.mount("t.h5")
        assert read(mnt + ".h5/csv/t.csv") == b"x,z\n0,0\n1,1\n2,2\n"
        assert "y (not readable: " in os.getxattr(mnt + ".h5/csv/t.csv", "user.hdf5.left_out").decode()
        p = run(H5MOUNT, "--list", "-l", "t.h5", "/.h5/csv")
        assert "without y (not readable: " in p.stdout, p

    def test_lost_attributes_stand_beside_the_others(self):
        with h5py.File("m.h5", "w", libver="latest") as f:
            g = f.create_group("g", track_order=True)
            for i in range(40):
                g.attrs["attribute_%02d" % i] = i
        with open("m.h5", "rb") as f:
            bytes_ = bytearray(f.read())
        leaves = [
            at for at in range(len(bytes_)) if bytes_[at : at + 4] == b"BTLF" and bytes_[at + 5] in (8, 9)
        ]
        for at in leaves[:2]:  # of the names, and of the order
            bytes_[at + 20] ^= 0xFF
        with open("m.h5", "wb") as f:
            f.write(bytes_)
        mnt = self.mount("m.h5")
        shown = os.listdir(mnt + ".h5/attributes")
        assert 5 < len(shown) < 41 and "g@" in shown, shown
        assert error(open, mnt + ".h5/attributes/g@") == "Input/output error"
        assert os.stat(mnt + ".h5/attributes/g@").st_mode & 0o777 == 0
