"""--copy: onto disk, interrupted, continued, and beside what is there already."""
import os
import shutil
import signal
import subprocess
import time
import unittest
import zlib

import h5py
import numpy as np

from support.program import H5MOUNT, ProgramTest, has_namespaces, run, shell

AS_NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def copy(*words):
    return run(H5MOUNT, "--copy", *words)


def files_of(place):
    return [os.path.join(there, name) for there, _, names in os.walk(place) for name in names]


class CopyTest(ProgramTest):
    seconds = 300

    def setUp(self):
        super().setUp()
        with h5py.File("f.h5", "w") as f:
            f.attrs["title"] = "root"
            g = f.create_group("group")
            g.attrs["note"] = "of a group"
            g["numbers"] = np.arange(5000, dtype="<i4")
            g["numbers"].attrs["units"] = "K"
            f["again"] = g["numbers"]
            f["link"] = h5py.SoftLink("/group/numbers")
            holes = f.create_dataset("holes", (1 << 20,), "u1", chunks=(10000,))
            holes[300000:300010] = 7
            for i in range(20):
                f["many/%02d" % i] = np.full(1000, i)

    def test_is_what_cp_gives_of_a_mount(self):
        p = shell(
            """
            $H5MOUNT --copy f.h5 / x && stat -c '%A %h %n' x x/* && readlink x/link &&
            getfattr -n user.title --only-values x && getfattr -n user.units --only-values x/again &&
            getfattr -n user.note --only-values x/group"""
        )
        assert p.returncode == 0 and p.stderr == "", p
        for words in (
            "dr-xr-xr-x 4 x\n",
            "-r--r--r-- 2 x/again\n",
            "lrwxrwxrwx 1 x/link\n",
            "group/numbers\nrootKof a group",
        ):
            assert words in p.stdout, (words, p)
        compared = []

        def compare(name, d):
            if isinstance(d, h5py.Dataset):
                with open("x/" + name, "rb") as copied:
                    assert copied.read() == d[()].tobytes(), name
                compared.append(name)

        with h5py.File("f.h5") as f:
            f.visititems(compare)
        assert len(compared) == 22, compared  # a dataset of two names is visited once
        assert not [name for name in files_of("x") if os.path.basename(name).startswith(".h5mount")]
        assert os.stat("x/again").st_ino == os.stat("x/group/numbers").st_ino
        with open("x/holes", "rb") as holes:
            assert os.lseek(holes.fileno(), 0, os.SEEK_DATA) == 300000 // 4096 * 4096
        assert int(os.stat("x/group").st_mtime) == int(os.stat("f.h5").st_mtime)

    def test_where_a_path_goes(self):
        assert copy("f.h5", "group", "g").returncode == 0 and os.listdir("g") == ["numbers"]
        os.mkdir("d")
        assert copy("f.h5", "group/numbers", "d").returncode == 0 and os.listdir("d") == ["numbers"]
        assert copy("f.h5", "group/numbers", "d/other").returncode == 0
        assert sorted(os.listdir("d")) == ["numbers", "other"]
        assert copy("f.h5", "link", "d").returncode == 0 and os.readlink("d/link") == "group/numbers"
        assert copy("f.h5", "/.h5/npy/group", "v").returncode == 0 and os.listdir("v") == ["numbers.npy"]
        nowhere = copy("f.h5", "/", "no/such/place")
        assert nowhere.returncode == 1 and nowhere.stderr.count("\n") == 1, nowhere
        assert copy("f.h5", "/none", "n").returncode == 1

    def test_an_interrupt_ends_it_within_a_second_and_it_goes_on(self):
        stored = zlib.compress(np.random.RandomState(1).bytes(1 << 20), 1)
        with h5py.File("f.h5", "w") as f:
            for name in "abc":
                d = f.create_dataset(name, (150 << 20,), "u1", chunks=(1 << 20,), compression="gzip")
                for i in range(150):
                    d.id.write_direct_chunk((i << 20,), stored)

        def is_half_done():
            return any(name.startswith(".h5mount-copy-") for name in os.listdir("y"))

        for how in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            copying = subprocess.Popen([H5MOUNT, "--copy", "f.h5", "/", "y"])
            while not (os.path.isdir("y") and is_half_done()):
                time.sleep(0.001)
            copying.send_signal(how)
            assert copying.wait(10) == -how
            # Whatever is there under its name is whole.
            with h5py.File("f.h5") as f:
                for path in files_of("y"):
                    name = os.path.basename(path)
                    if not name.startswith(".h5mount"):
                        assert os.path.getsize(path) == f[os.path.relpath(path, "y")].nbytes, path
                    elif name != ".h5mount-copied":
                        assert how == signal.SIGKILL, name
        assert copy("f.h5", "/", "y").returncode == 0
        same = shell("for n in a b c; do $H5MOUNT --cat f.h5 $n | cmp - y/$n || exit 1; done")
        assert same.returncode == 0, same
        assert sorted(os.listdir("y")) == ["a", "b", "c"]

    def test_more_links_than_the_file_system_has(self):
        """ext4 has 65,000 links a file."""
        with h5py.File("f.h5", "w") as f:
            f["0"] = 1
            root, g = f["/"], f.create_group("g")
            for i in range(1, 66000):
                g.id.links.create_hard(b"%d" % i, root.id, b"0")
        p = run(H5MOUNT, "--copy", "f.h5", "/", "x", timeout=self.seconds)
        assert p.returncode == 0 and p.stderr == "", p
        names = os.listdir("x/g")
        assert len(names) == 65999 and not [name for name in names if "h5mount" in name]

    def test_what_cannot_be_read_is_named_and_not_there(self):
        with h5py.File("f.h5", "w") as f:
            d = f.create_dataset("damaged", (1 << 20,), "u1", chunks=(1 << 19,), fletcher32=True)
            d[:] = 1
            place = d.id.get_chunk_info(1).byte_offset
            f["last"] = np.arange(3)
        with open("f.h5", "r+b") as f:
            f.seek(place + 5)
            f.write(b"\x55")
        p = copy("f.h5", "/", "x")
        assert p.returncode == 1 and os.listdir("x") == ["last"], p
        assert p.stderr.count("\n") == 1 and "/damaged: " in p.stderr, p

    def test_nothing_leaves_the_destination(self):
        os.mkdir("x")
        os.mkdir("outside")
        os.symlink("../outside", "x/group")
        with open("outside/numbers", "w") as f:
            f.write("mine\n")
        os.symlink("../outside/numbers", "x/holes")
        p = copy("f.h5", "/", "x")
        assert p.returncode == 1 and "/group: " in p.stderr, p
        with open("outside/numbers") as f:
            assert f.read() == "mine\n"
        assert os.listdir("outside") == ["numbers"]
        assert os.path.isfile("x/holes") and not os.path.islink("x/holes")

    @unittest.skipIf(os.geteuid() != 0, "not root")
    @unittest.skipIf(not has_namespaces(), "no mount namespaces here")
    def test_a_full_disk_is_one_line(self):
        os.mkdir("small")
        p = run(
            "unshare",
            "--mount",
            "sh",
            "-c",
            """mount -t tmpfs -o size=64k none small
            $H5MOUNT --copy f.h5 / small/x
            echo $?
            ls -A small/x | grep h5mount-copy-""",
        )
        assert p.stdout == "1\n", p
        assert "small/x: " in p.stderr and "No space left" in p.stderr and p.stderr.count("\n") == 1, p
        assert "f.h5" not in p.stderr, p  # it is not the source that is full
        os.mkdir("ro")
        p = run(
            "unshare",
            "--mount",
            "sh",
            "-c",
            """mount -t tmpfs -o ro none ro
            $H5MOUNT --copy f.h5 / ro/x
            $H5MOUNT --copy f.h5 /group/numbers ro/x
            $H5MOUNT --copy f.h5 / ro""",
        )
        assert p.stderr.count("\n") == 3 and "f.h5" not in p.stderr and "/ro/x: " in p.stderr, p

    @unittest.skipIf(os.geteuid() != 0, "not root")
    def test_an_ordinary_user_goes_on_into_read_only_directories(self):
        os.chmod(".", 0o777)
        os.chmod("f.h5", 0o644)
        shutil.copy(H5MOUNT, "h5mount")
        first = run(*AS_NOBODY, "./h5mount", "--copy", "f.h5", "/", "n")
        assert first.returncode == 0, first
        os.remove("n/many/07")
        again = run(*AS_NOBODY, "./h5mount", "--copy", "f.h5", "/", "n")
        assert again.returncode == 0, again
        assert (
            run("stat", "-c", "%A %U", "n/many", "n/many/07").stdout
            == "dr-xr-xr-x nobody\n-r--r--r-- nobody\n"
        )

    def test_progress_is_shown_on_terminals_only(self):
        terminal = run("script", "-qec", "$H5MOUNT --copy f.h5 / x", "/dev/null")
        assert "iB/s" in terminal.stdout and "files" in terminal.stdout, terminal
        assert copy("f.h5", "/", "y").stderr == ""
