"""--tar, held against GNU tar, Python's tarfile, and h5py."""
import io
import os
import tarfile
import unittest
import zlib

import h5py
import numpy as np

from support.program import H5MOUNT, ProgramTest, run, sanitized, shell

DEEP = "long/" + "n" * 250 + "/" + "m" * 250


def write_example():
    with h5py.File("f.h5", "w") as f:
        f.attrs["title"] = "root"
        f.attrs["a=b%c"] = "odd name"
        g = f.create_group("group")
        g.attrs["note"] = "of a group"
        g["numbers"] = np.arange(5000, dtype="<i4")
        g["numbers"].attrs["units"] = "K"
        f["again"] = g["numbers"]
        f["link"] = h5py.SoftLink("/group/numbers")
        f["lost"] = h5py.SoftLink("/nothing")
        holes = f.create_dataset("holes", (1 << 20,), "u1", chunks=(10000,))
        holes[300000:300010] = 7
        holes[700000] = 9
        f.create_dataset("nothing_but_hole", (100000,), "u1", chunks=(1000,))
        f.create_dataset("empty", (0,), "u1")
        f[DEEP] = b"deep"
        f["long/l"] = h5py.SoftLink("/long/" + "n" * 250)
        for name in (b"latin-\xe9", "ä".encode(), b"new\nline", b"back\\slash", b"%"):
            h5py.h5d.create(f.id, name, h5py.h5t.NATIVE_UINT8, h5py.h5s.create_simple((3,)))


def first_data(name):
    """Where the first data of a file with holes are; None where there are none."""
    fd = os.open(name, os.O_RDONLY)
    try:
        return os.lseek(fd, 0, os.SEEK_DATA)
    except OSError:
        return None
    finally:
        os.close(fd)


class Tar(ProgramTest):
    def setUp(self):
        super().setUp()
        write_example()

    def test_gnu_tar_unpacks_what_a_mount_shows(self):
        p = shell(
            """
            mkdir x && $H5MOUNT --tar f.h5 >f.tar && tar --xattrs -xpf f.tar -C x && cd x &&
            stat -c '%A %h %s %n' * && readlink link &&
            getfattr --absolute-names -n user.title --only-values . &&
            getfattr -n user.units --only-values again && getfattr -n user.note --only-values group &&
            getfattr -n 'user.a=b%c' --only-values .""",
            errors="replace",
        )
        assert p.returncode == 0 and p.stderr == "", p
        for words in (
            "-r--r--r-- 2 20000 again\n",
            "dr-xr-xr-x 2 ",
            "-r--r--r-- 1 1048576 holes\n",
            "-r--r--r-- 1 0 empty\n",
            "group/numbers\nrootKof a groupodd name",
        ):
            assert words in p.stdout, (words, p)
        with h5py.File("f.h5") as f:
            for name in ("group/numbers", "again", "holes", "nothing_but_hole", "empty"):
                with open("x/" + name, "rb") as unpacked:
                    assert unpacked.read() == f[name][:].tobytes(), name
        assert os.stat("x/again").st_ino == os.stat("x/group/numbers").st_ino
        assert first_data("x/nothing_but_hole") is None
        assert first_data("x/holes") == 300000 // 4096 * 4096
        names = {b"latin-\xe9", "ä".encode(), b"new\nline", b"back\\slash", b"%25"}
        assert names <= set(os.listdir(b"x")), os.listdir(b"x")
        with open("x/" + DEEP) as f:
            assert f.read() == "deep\n"
        shell("chmod -R u+w x")

    def test_readers_of_pax_other_than_gnu_tar(self):
        archive = run(H5MOUNT, "--tar", "f.h5", text=False, check=True).stdout
        assert len(archive) % 10240 == 0
        with tarfile.open(fileobj=io.BytesIO(archive)) as t, h5py.File("f.h5") as f:
            first = t.next()
            assert first.name in (".", "./") and first.isdir()
            assert first.pax_headers["SCHILY.xattr.user.title"] == "root"
            for name in ("group/numbers", "holes", "nothing_but_hole", "empty"):
                assert t.extractfile("./" + name).read() == f[name][:].tobytes(), name
            numbers = t.getmember("./group/numbers")
            assert numbers.linkname == "./again" and numbers.islnk()
            assert t.getmember("./link").linkname == "group/numbers"
            assert "./" + DEEP in t.getnames()

    def test_paths_are_named_by_their_place(self):
        p = shell("$H5MOUNT --tar f.h5 group link .h5/slice/again/3:5 | tar t")
        assert p.stdout == "./group/\n./group/numbers\n./link\n./.h5/slice/again/3:5\n", p
        missing = shell("$H5MOUNT --tar f.h5 none link >m.tar; echo $?; tar tf m.tar")
        assert missing.stdout == "1\n./link\n" and "/none" in missing.stderr, missing

    def test_what_cannot_be_read_is_left_out_and_named(self):
        with h5py.File("f.h5", "w") as f:
            places = []
            for name, size in (("small", 1 << 20), ("large", 80 << 20)):
                d = f.create_dataset(name, (size,), "u1", chunks=(1 << 19,), fletcher32=True)
                d[:] = 1
                places.append(d.id.get_chunk_info(1).byte_offset)
            f["last"] = np.arange(3)
        with open("f.h5", "r+b") as f:
            for place in places:
                f.seek(place + 5)
                f.write(b"\x55")
        p = shell("$H5MOUNT --tar f.h5 >f.tar")
        names = shell("tar tf f.tar", text=False).stdout
        assert p.returncode == 1, p
        assert b"small" not in names and b"large" not in names, names
        assert b"./last\n" in names, names
        assert "/small: " in p.stderr and "/large: " in p.stderr, p

    @unittest.skipIf(sanitized(), "sanitizers take terabytes of address space")
    def test_streams_large_files_in_bounded_memory(self):
        """Larger than is held in memory, and cut where nothing says so."""
        with h5py.File("f.h5", "w") as f:
            d = f.create_dataset("huge", (300 << 20,), "u1", chunks=(1 << 20,), compression="gzip")
            for i in range(300):
                d.id.write_direct_chunk((i << 20,), zlib.compress(bytes([i % 251]) * (1 << 20), 1))
        p = run(
            "bash",
            "-c",
            """
            (ulimit -v 700000; $H5MOUNT -o cache_size=32M --tar f.h5 huge) | tar xO | sha256sum
            echo ${PIPESTATUS[0]}
            $H5MOUNT --cat f.h5 huge | sha256sum""",
        )
        digest = p.stdout[:64]
        assert p.stdout == "%s  -\n0\n%s  -\n" % (digest, digest), p

    def test_a_full_disk_is_one_line(self):
        full = shell("$H5MOUNT --tar f.h5 >/dev/full")
        assert full.returncode == 1 and full.stderr.count("\n") == 1, full
        assert "No space left" in full.stderr, full
