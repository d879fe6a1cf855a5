"""Files behind a user block: the end that a superblock states is counted from the beginning of the file as it
was written."""
import json
import os

import h5py
import numpy as np

from mounting import MountTest, read, unmount
from support.program import FSCK, run

KINDS = [(libver, block) for libver in ("earliest", "latest") for block in (0, 512, 2048)]
CUT = 100


class UserBlockTest(MountTest):
    seconds = 180

    def files(self):
        """Their names and lengths: with a user block, and one that was put behind something."""
        for libver, block in KINDS:
            name = f"{libver}_{block}.h5"
            with h5py.File(name, "w", libver=libver, userblock_size=block) as f:
                f["group/plain"] = np.arange(5000, dtype="<i8")
                f["group"].create_dataset("packed", data=np.arange(4000), chunks=(100,), compression=1)
                f["last"] = np.arange(1000, dtype="<i8")
            if block == 0:
                with open(name, "rb") as f:
                    whole = f.read()
                os.unlink(name)
                with open(name, "wb") as f:
                    f.write(b"x" * 512 + whole)
            yield name, os.path.getsize(name)

    def test_sound_ones_are_sound(self):
        for name, length in self.files():
            for words in ((), ("--salvage",)):
                checked = run(FSCK, *words, name)
                said = checked.stdout + checked.stderr
                if name.endswith("_0.h5"):  # the base address is that of before; all is read
                    assert checked.returncode == 4 and "Superblock.base_address" in said, (name, said)
                    assert " 1 damaged, 0 notes, 0 unchecked" in said, (name, said)
                    continue
                assert checked.returncode == 0 and "behind" not in said and "salvage" not in said, (
                    name,
                    said,
                )
            for options in ("salvage", "salvage=fill", "ro"):
                mnt = self.mount("-o", options, name)
                assert sorted(os.listdir(mnt)) == ["group", "last"], (name, options)
                for node in ("", "group", "group/plain", "group/packed", "last"):
                    assert "user.hdf5.salvage" not in os.listxattr(mnt + node), (name, options, node)
                assert read(mnt + "last") == np.arange(1000, dtype="<i8").tobytes()
                assert b"incomplete" not in read(mnt + ".h5/log"), read(mnt + ".h5/log")
                unmount(mnt)

    def test_cut_ones_are_incomplete(self):
        for name, length in self.files():
            os.truncate(name, length - CUT)
            words = f"{length - CUT:,} of {length:,} bytes: an incomplete copy?"
            mnt = self.mount(name)
            assert words in read(mnt + ".h5/log").decode(), (name, read(mnt + ".h5/log"))
            unmount(mnt)
            checked = run(FSCK, name)
            said = checked.stdout + checked.stderr
            assert checked.returncode == 4 and "the file is cut short" in said, (name, checked)
            assert hex(length) in said and hex(length - CUT) in said, (name, said)

    def test_a_last_byte_that_is_there_is_read_and_one_that_is_gone_is_an_error(self):
        for libver, block in KINDS:
            name = f"{libver}_{block}.h5"
            with h5py.File(name, "w", libver=libver, userblock_size=block) as f:
                f["plain"] = np.arange(5000, dtype="<i8")
            whole = os.path.getsize(name)
            os.truncate(name, whole - CUT)
            mnt = self.mount("-o", "salvage", name)
            os.listdir(mnt)
            told = json.loads(os.getxattr(mnt + "plain", "user.hdf5.salvage"))
            assert told["missing"] == [[40000 - CUT, 40000]], (name, told)
            fd = os.open(mnt + "plain", os.O_RDONLY)
            assert os.pread(fd, 40000, 0) == np.arange(5000, dtype="<i8").tobytes()[:-CUT], name
            os.close(fd)
            unmount(mnt)
