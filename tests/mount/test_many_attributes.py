"""More attributes than the kernel lists: their names take more than 64 KiB."""
import json
import os
import subprocess
import tarfile

import h5py

from mounting import MountTest, read
from support.program import H5MOUNT, run

COUNT = 4000
NAMES = {"user.detector_calibration_parameter_%05d" % i for i in range(COUNT)}


class ManyAttributesTest(MountTest):
    def setUp(self):
        super().setUp()
        with h5py.File("f.h5", "w", libver="latest") as f:
            for name in ("d", "group/with space/d"):
                d = f.create_dataset(name, data=[1, 2, 3])
                for i in range(COUNT if name == "d" else 2000):
                    d.attrs["detector_calibration_parameter_%05d" % i] = i
            f["few"] = 1
            f["few"].attrs["one"] = 1

    def test_commands_give_all(self):
        told = json.loads(run(H5MOUNT, "--stat", "f.h5", "/d").stdout)["xattrs"]
        assert NAMES <= set(told) and "user.hdf5.more_attributes" not in told
        assert run(H5MOUNT, "--list", "-lR", "f.h5", "/d").stdout.count("@detector_") == COUNT
        assert run(H5MOUNT, "--text", "f.h5", "/d").stdout.count("@detector_") == COUNT
        p = subprocess.run([H5MOUNT, "--tar", "f.h5", "/d"], stdout=subprocess.PIPE)
        with open("f.tar", "wb") as f:
            f.write(p.stdout)
        with tarfile.open("f.tar") as tar:
            kept = {key.removeprefix("SCHILY.xattr.") for key in tar.getmembers()[0].pax_headers}
        assert p.returncode == 0 and NAMES <= kept

    def test_copy_names_what_the_disk_refuses(self):
        p = run(H5MOUNT, "--copy", "f.h5", "/d", "copied")
        kept = {name for name in os.listxattr("copied") if "detector" in name}
        said = {word.strip(",") for word in p.stderr.split() if word.startswith("user.detector")}
        assert kept | said == NAMES and not kept & said, (len(kept), len(said), p.stderr[:500])
        assert p.returncode == (1 if said else 0), p.returncode
        assert read("copied") == read("copied") and os.stat("copied").st_size == 24
        assert run(H5MOUNT, "--copy", "f.h5", "/few", "few").returncode == 0

    def test_a_mount_says_where_they_are(self):
        mnt = self.mount("f.h5")
        for path, count in (("d", COUNT), ("group/with space/d", 2000)):
            listed = os.listxattr(mnt + path)
            assert listed[0] == "user.hdf5.more_attributes", listed[:3]
            more = json.loads(os.getxattr(mnt + path, listed[0]))
            shown = [name for name in listed if "detector" in name]
            assert more == {"count": count - len(shown), "at": "/.h5/attributes/%s@" % path}, (
                more,
                len(shown),
            )
            for i in range(count):
                if i % 97 == 0 or i == count - 1:
                    name = "detector_calibration_parameter_%05d" % i
                    assert read(mnt.rstrip("/") + more["at"] + name) == b"%d" % i, name
                    assert os.getxattr(mnt + path, "user." + name) == b"%d" % i
        assert "user.hdf5.more_attributes" not in os.listxattr(mnt + "few")
