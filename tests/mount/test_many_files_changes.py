"""Many files that change while they are mounted."""
import os
import subprocess
import time
import unittest

import h5py
import numpy as np

from many_files import SRC, ManyFilesCase, make, soon
from mounting import ROOT, error, is_mounted, read, unmount
from support.program import H5MOUNT, run, until


def bytes_of(fd):
    """Which bytes an open file has, or its error."""
    try:
        return set(os.pread(fd, 1000, 0))
    except OSError as e:
        return os.strerror(e.errno)


class ManyFilesTest(ManyFilesCase):
    def test_what_is_added_removed_renamed_shows_within_a_second(self):
        mnt = self.mount("src")
        os.listdir(mnt)
        os.listdir(mnt + "sub/deep")
        assert not os.path.exists(mnt + "new.h5")
        make(SRC + "new.h5", 5)
        soon(lambda: read(mnt + "new.h5/d") == b"\5" * 1000 and "new.h5" in os.listdir(mnt), "added")
        os.rename(SRC + "new.h5", SRC + "moved.h5")
        soon(
            lambda: not os.path.exists(mnt + "new.h5") and read(mnt + "moved.h5/d") == b"\5" * 1000, "renamed"
        )
        os.unlink(SRC + "moved.h5")
        soon(lambda: not os.path.exists(mnt + "moved.h5") and "moved.h5" not in os.listdir(mnt), "removed")
        make(SRC + "sub/deep/k.h5", 1)
        soon(lambda: "k.h5" in os.listdir(mnt + "sub/deep"), "in a directory")
        os.mkdir(SRC + "dir")
        make(SRC + "dir/z.h5", 9)
        soon(lambda: read(mnt + "dir/z.h5/d") == b"\x09" * 1000, "a directory")
        os.rename(SRC + "dir", SRC + "dir2")
        soon(
            lambda: not os.path.exists(mnt + "dir") and read(mnt + "dir2/z.h5/d") == b"\x09" * 1000,
            "a moved directory",
        )
        os.symlink("a.h5", SRC + "s.h5")
        soon(lambda: read(mnt + "s.h5/d") == b"\1" * 1000, "a symlink")
        os.unlink(SRC + "s.h5")
        os.symlink("sub/b.nc", SRC + "s.h5")
        soon(lambda: read(mnt + "s.h5/d") == b"\2" * 1000, "another symlink")
        os.chmod(SRC + "a.h5", 0o600)
        soon(lambda: os.stat(mnt + "a.h5").st_mode & 0o777 == 0o500, "its mode")
        soon(lambda: os.stat(mnt + "a.h5/d").st_mode & 0o777 == 0o400, "the mode below it")

    def test_a_replaced_file_is_the_new_one_and_never_mixed(self):
        mnt = self.mount("src")
        static = os.open(mnt + "sub/b.nc/d", os.O_RDONLY)
        self.addCleanup(os.close, static)
        os.pread(static, 10, 0)
        for how in ("rename", "write", "remove"):
            make(SRC + "x.h5", 10)
            soon(lambda: read(mnt + "x.h5/d") == b"\x0a" * 1000, how + " before")
            fd = os.open(mnt + "x.h5/d", os.O_RDONLY | os.O_DIRECT)
            assert bytes_of(fd) == {10}
            make(SRC + "tmp", 11)
            if how == "rename":
                os.rename(SRC + "tmp", SRC + "x.h5")
            elif how == "write":
                with open(SRC + "x.h5", "r+b") as f:
                    f.write(read(SRC + "tmp"))
            else:
                os.unlink(SRC + "x.h5")
                os.rename(SRC + "tmp", SRC + "x.h5")
            assert bytes_of(fd) in ({10}, "Stale file handle", "Input/output error"), bytes_of(fd)
            soon(lambda: read(mnt + "x.h5/d") == b"\x0b" * 1000, how)
            assert bytes_of(fd) in ({10}, "Stale file handle", "Input/output error"), bytes_of(fd)
            os.close(fd)
        os.truncate(SRC + "x.h5", 100)
        soon(lambda: error(os.listdir, mnt + "x.h5") == "Input/output error", "cut")
        make(SRC + "x.h5", 12)
        soon(lambda: read(mnt + "x.h5/d") == b"\x0c" * 1000, "written again")
        assert bytes_of(static) == {2}

    def test_what_cannot_be_opened_says_why_and_is_tried_again(self):
        mnt = self.mount("src")
        assert error(os.listdir, mnt + "bad.h5") == "Input/output error"
        assert b"not an HDF5 file" in os.getxattr(mnt + "bad.h5", "user.hdf5.error")
        assert os.listxattr(mnt + "bad.h5") == ["user.hdf5.error"]
        assert error(os.stat, mnt + "bad.h5/d") == "Input/output error"
        make(SRC + "bad.h5", 6)
        soon(lambda: read(mnt + "bad.h5/d") == b"\6" * 1000, "mended")
        assert error(os.getxattr, mnt + "bad.h5", "user.hdf5.error") == "No data available"
        with h5py.File(SRC + "writing.h5", "w") as f:
            f["d"] = np.full(1000, 8, "u1")
            f.flush()
            soon(lambda: error(os.listdir, mnt + "writing.h5") == "Device or resource busy", "being written")
        soon(lambda: read(mnt + "writing.h5/d") == b"\x08" * 1000, "written")

    def test_a_growing_file_is_followed_and_leaves_the_others_cached(self):
        mnt = self.mount_point()
        with open("log", "w") as said:
            server = subprocess.Popen([H5MOUNT, "-d", "src", mnt], stderr=said)
        until(lambda: is_mounted(mnt), "mounted")

        def opcodes():
            with open("log", errors="replace") as f:
                return [line.split("opcode: ")[1].split()[0] for line in f if "opcode: " in line]

        with h5py.File(SRC + "s.h5", "w", libver="latest") as f:
            d = f.create_dataset("d", (10,), maxshape=(None,), chunks=(10,), dtype="u1")
            d[:] = 7
            f.swmr_mode = True
            soon(lambda: read(mnt + "s.h5/d") == b"\7" * 10, "there")
            fd = os.open(mnt + "s.h5/d", os.O_RDONLY)
            read(mnt + "a.h5/d")
            for n in range(2, 8):
                d.resize((n * 10,))
                d[:] = n
                d.flush()
                soon(
                    lambda: os.fstat(fd).st_size == n * 10 and read(mnt + "s.h5/d") == bytes([n]) * n * 10,
                    "grown",
                )
            os.close(fd)
            time.sleep(1.5)
            before = len(opcodes())
            assert read(mnt + "a.h5/d") == b"\1" * 1000
            time.sleep(0.1)
            of_a_cached_file = {"OPEN", "IOCTL", "FLUSH", "RELEASE", "FORGET", "BATCH_FORGET"}
            assert set(opcodes()[before:]) <= of_a_cached_file, opcodes()[before:]
        unmount(mnt)
        server.wait(60)

    @unittest.skipIf(os.geteuid() != 0, "not root")
    def test_without_watches_what_is_used_is_looked_at(self):
        """The system gives two watches: the others are looked at when they are used."""
        for i in range(6):
            os.mkdir("src/d%d" % i)
            with h5py.File("src/d%d/f.h5" % i, "w") as f:
                f["d"] = [i]
        seen = run(
            "unshare",
            "-Urm",
            "sh",
            "-c",
            """
            echo 3 >/proc/sys/user/max_inotify_watches && $H5MOUNT src $0 && /usr/bin/python3 $1 $0
            umount $0""",
            self.mount_point(),
            ROOT + "/tests/mount/fixtures/without_watches.py",
        )
        assert seen.stdout == "[2, 2, 2, 2, 2, 2]\nTrue\n1\n", seen
