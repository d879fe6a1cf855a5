"""Files of a directory that cannot be opened: nothing that reads the directory may take them for empty."""
import errno
import fcntl
import json
import os
import unittest

import h5py

from many_files import soon
from mounting import MountTest, read
from support.program import FSCK, H5MOUNT, run
from support.unopened_files import AS_READER, KINDS, REASONS, write_unopened_files

BAD = sorted(KINDS) + ["sub/text.h5"]


def number(what, *arguments):
    """The errno of a call; 0: it did not fail."""
    try:
        what(*arguments)
    except OSError as e:
        return e.errno
    return 0


class UnopenedFilesTest(MountTest):
    def setUp(self):
        super().setUp()
        self.lock = write_unopened_files()
        self.addCleanup(self.lock.close)

    def mount_as_reader(self, *words):
        place = self.mount_point()
        p = run(*AS_READER, H5MOUNT, *words, place)
        assert p.returncode == 0, p
        return place

    def test_a_mount_lists_them_and_fails_below_them(self):
        mnt = self.mount_as_reader("src")
        assert sorted(os.listdir(mnt)) == sorted([*KINDS, "good.h5", "sub"])
        for name in os.listdir(mnt):
            os.stat(mnt + name)
        with open(mnt + ".h5/status") as f:
            assert "files_in_memory: 0\n" in f.read()
        for name, why in KINDS.items():
            for again in range(2):  # it is the same when the kernel may have kept something
                assert number(os.listdir, mnt + name) == why, (name, again)
                for below in ("/d", "/.h5", "/.h5/text/d"):
                    assert number(os.stat, mnt + name + below) == why, (name, below, again)
            assert REASONS[name] in os.getxattr(mnt + name, "user.hdf5.error").decode(), name
            assert os.listxattr(mnt + name) == ["user.hdf5.error"]
        assert len(read(mnt + "good.h5/d")) == 800

    def test_programs_that_read_a_mount_complain(self):
        mnt = self.mount_as_reader("src")
        for words in (
            ["ls", "-R", "."],
            ["find", "."],
            ["cp", "-a", ".", self.mount_point()],
            ["rsync", "-a", "./", self.mount_point()],
            ["tar", "-cf", "archive.tar", "-C", mnt, "."],
            ["diff", "-r", ".", os.path.abspath("src")],
            ["du", "-s", "."],
        ):
            p = run(*words, cwd=None if words[0] == "tar" else mnt)
            assert p.returncode != 0, p
            for name in BAD:
                assert name in p.stderr + (p.stdout if words[0] == "diff" else ""), (words, name, p.stderr)

    def test_commands_name_each_and_end_with_one(self):
        with open("list", "w") as f:
            f.write("src/\nsrc/cut.h5\nsrc/good.h5\n")
        for sources, prefix in (["src"], ""), (["@list"], "src/"):
            bad = [prefix + name for name in BAD] + (["cut.h5"] if prefix else [])
            for words in (
                ["--list", "-R", *sources],
                ["--list", "-lR", *sources],
                ["--text", *sources],
                ["--tar", *sources],
                ["--copy", *sources, "/", "copy" + prefix.strip("/")],
                ["--stat", *sources, *bad],
                ["--cat", *sources, *[name + "/d" for name in bad]],
                ["--list", *sources, *bad],
            ):
                p = run(*AS_READER, H5MOUNT, *words, text=False)
                said = p.stderr.decode()
                assert p.returncode == 1, (words, p.returncode, said)
                for name in bad:
                    lines = [
                        line
                        for line in said.splitlines()
                        if "/%s" % name in line and ("sub/" in name) == ("/sub/" in line)
                    ]
                    # One of the sources has the name of a file in a directory among them.
                    assert 1 <= len(lines) <= (2 if name == "cut.h5" else 1), (words, name, said)
                    assert REASONS[name.split("/")[-1]] in lines[0], (name, lines)
                assert "good" not in said, said
                if words[0] == "--stat":
                    told = [json.loads(line) for line in p.stdout.splitlines()]
                    assert [one["path"] for one in told] == ["/" + name for name in bad]
                    assert all("user.hdf5.error" in one["xattrs"] for one in told), told
        assert os.path.getsize("copy/good.h5/d") == 800
        assert run(H5MOUNT, "--list", "src").returncode == 0  # nothing is opened for the names alone

    def test_fsck_names_each(self):
        p = run(*AS_READER, FSCK, "src")  # it checks also what a writer has open
        assert p.returncode == 4 | 8, p
        assert "/src/private.h5 cannot be opened" in p.stderr, p
        for name in set(BAD) - {"private.h5", "locked.h5", "writing.h5"}:
            assert "\nsrc/%s: " % name in "\n" + p.stdout, (name, p)

    def test_what_recovers_is_shown_within_a_second(self):
        mnt = self.mount_as_reader("src")
        for name, why in KINDS.items():
            assert number(os.listdir, mnt + name) == why, name
        self.lock.close()  # the file itself does not change
        soon(lambda: os.listdir(mnt + "locked.h5") == ["d"], "unlocked")
        os.chmod("src/private.h5", 0o644)
        for name in ("cut.h5", "text.h5", "empty.h5", "zeros.h5", "writing.h5", "sub/text.h5"):
            with h5py.File("new.h5", "w") as f:
                f["d"] = list(range(100))
            os.rename("new.h5", "src/" + name)
        for name in BAD:
            soon(lambda: len(read(mnt + name + "/d")) == 800, name)

    def test_force_opens_what_a_writer_holds(self):
        mnt = self.mount_as_reader("-o", "force", "src")
        for name, why in KINDS.items():
            assert number(os.listdir, mnt + name) == (0 if why == errno.EBUSY else why), name

    def test_one_that_breaks_while_it_is_mounted_fails_too(self):
        mnt = self.mount_as_reader("src")
        assert os.listdir(mnt + "good.h5") == ["d"]
        os.truncate("src/good.h5", 100)
        soon(lambda: number(os.listdir, mnt + "good.h5") == errno.EIO, "cut")
        with open("src/good.h5", "wb") as f:
            f.write(b"no HDF5")
        soon(lambda: b"not an HDF5 file" in os.getxattr(mnt + "good.h5", "user.hdf5.error"), "written over")


class DamagedObjectTest(MountTest):
    def test_stat_of_a_damaged_object_prints_its_line_and_ends_with_one(self):
        with h5py.File("f.h5", "w", libver="latest") as f:
            f["sound"] = [1]
            f["broken"] = [2]
            address = h5py.h5o.get_info(f["broken"].id).addr
        with open("f.h5", "r+b") as f:
            f.seek(address + 8)
            f.write(b"\xff\xff")
        p = run(H5MOUNT, "--stat", "f.h5", "broken", "sound")
        assert p.returncode == 1 and [json.loads(line)["path"] for line in p.stdout.splitlines()] == [
            "/broken",
            "/sound",
        ], p
        assert p.stderr.count("\n") == 1 and "/broken" in p.stderr, p
        assert run(H5MOUNT, "--stat", "f.h5", "sound").returncode == 0
