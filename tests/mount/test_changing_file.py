"""Files that are written or replaced while they are mounted.

No read mixes two states, and with -o reload the new file is taken up.
"""
import collections
import errno
import glob
import os
import shutil
import subprocess
import threading
import time

import h5py
import numpy as np

from mounting import MountTest, direct, error, is_mounted, read, unmount
from support.program import run, until

N = 300000


def make(name, value, names=("d", "e"), **how):
    with h5py.File(name, "w") as f:
        for n in names:
            f.create_dataset(n, data=np.full(N, value, "u1"), **how)


def make_family(name, value, bytes_):
    with h5py.File(name, "w", driver="family", memb_size=bytes_) as f:
        for n in ("d", "e"):
            f.create_dataset(n, data=np.full(N, value, "u1"))


def write_over(name, other, put_back=False):
    st = os.stat(name)
    with open(name, "r+b") as f:
        f.write(read(other))
    if put_back:
        os.utime(name, ns=(st.st_atime_ns, st.st_mtime_ns))


def becomes(path, value):
    """Waits until the file has these bytes alone; errors on the way are those of the old state."""
    until(lambda: set(read(path)) == {value}, "%s of %s" % (value, path))


class ChangingFileTest(MountTest):
    seconds = 120

    # ---- no mixed bytes

    def test_written_with_its_time_put_back(self):
        for how in ({}, {"chunks": (30000,)}, {"chunks": (30000,), "compression": "gzip"}):
            make("f.h5", 7, **how)
            make("other.h5", 9, **how)
            mnt = self.mount("f.h5")
            assert direct(mnt + "d", 0, 4096) == bytes([7]) * 4096
            time.sleep(0.05)
            write_over("f.h5", "other.h5", put_back=True)
            for n in ("d", "e"):
                assert isinstance(direct(mnt + n), OSError), (how, n)
                assert run("cat", mnt + n, text=False).returncode != 0, (how, n)

    def test_what_leaves_the_bytes_alone_does_not_matter(self):
        make("f.h5", 7, chunks=(30000,))
        mnt = self.mount("f.h5")

        def is_there(what):
            time.sleep(0.03)
            assert direct(mnt + "d") == bytes([7]) * N, what

        is_there("at first")
        os.chmod("f.h5", 0o640)
        is_there("chmod")
        os.link("f.h5", "second.h5")
        is_there("link")
        os.unlink("second.h5")
        is_there("unlink")
        os.rename("f.h5", "g.h5")
        is_there("rename")
        os.rename("g.h5", "f.h5")
        is_there("back")
        error(os.setxattr, "f.h5", "user.x", b"1")
        is_there("setxattr")

    def test_written_while_it_is_read(self):
        """All that a reader gets, while the file is written in place, is of the file that was mounted."""
        make("other.h5", 9, chunks=(30000,))
        make("old.h5", 7, chunks=(30000,))
        met = 0
        for _ in range(25):
            shutil.copy("old.h5", "f.h5")
            mnt = self.mount("f.h5")
            fd = os.open(mnt + "d", os.O_RDONLY | os.O_DIRECT)
            writer = threading.Timer(0.002, write_over, ("f.h5", "other.h5"))
            writer.start()
            of_the_new_state = 0
            for i in range(4000):
                try:
                    of_the_new_state += os.pread(fd, 4096 * 15, (i % 4) * 4096 * 15).count(9)
                except OSError:
                    met += 1
                    break
            writer.join()
            os.close(fd)
            assert of_the_new_state == 0
            unmount(mnt)
        assert met >= 1, "no read met the change"

    def test_raw_files_and_virtual_sources(self):
        with open("raw", "wb") as f:
            f.write(bytes([7]) * N)
        with h5py.File("f.h5", "w") as f:
            f.create_dataset("raw", (N,), "u1", external=[("raw", 0, N)])
            layout = h5py.VirtualLayout((N,), "u1")
            layout[:] = h5py.VirtualSource("source.h5", "d", (N,))
            f.create_virtual_dataset("virtual", layout)
        make("source.h5", 7, chunks=(30000,))
        make("other.h5", 9, chunks=(30000,))
        mnt = self.mount("f.h5")
        for n in ("raw", "virtual"):
            assert direct(mnt + n, 0, 4096) == bytes([7]) * 4096
        time.sleep(0.05)
        st = os.stat("raw")
        with open("raw", "r+b") as f:
            f.write(bytes([9]) * N)
        os.utime("raw", ns=(st.st_atime_ns, st.st_mtime_ns))
        write_over("source.h5", "other.h5", put_back=True)
        for n in ("raw", "virtual"):
            got = direct(mnt + n)
            assert isinstance(got, OSError) and got.errno == errno.ESTALE, (n, got)

    # ---- a writer that comes to a file that was quiet

    def test_views_of_a_quiet_file_follow_its_writer(self):
        """Views of a dataset share a reader while nobody writes it. Each has to see all that is written
        then."""
        with h5py.File("f.h5", "w", libver="latest") as f:
            for n, chunks in (("d", (64, 2)), ("z", (64, 1))):
                f.create_dataset(n, (4, 2), "u1", maxshape=(None, 2), chunks=chunks, data=np.full((4, 2), 65))
        mnt = self.mount("f.h5") + ".h5/"
        views = [
            "slice/d/:,0",
            "slice/d/:,1",
            "plain.zarr/z/0.0",
            "plain.zarr/z/0.1",
            "stored.zarr/z/0.0",
            "stored.zarr/z/0.1",
            "v3.zarr/z/c.0.0",
            "v3.zarr/z/c.0.1",
        ]
        held = {view: open(mnt + view, "rb", buffering=0) for view in views}
        for f in held.values():
            self.addCleanup(f.close)

        def held_bytes(view):
            held[view].seek(0)
            return held[view].read()

        def become(wanted):
            for view in views:
                until(lambda: held_bytes(view).rstrip(b"\0") == wanted, (view, "held", wanted))
                until(lambda: read(mnt + view).rstrip(b"\0") == wanted, (view, wanted))

        def put(row, letter):
            for n in "dz":
                f[n][row] = ord(letter)
            f.flush()

        become(b"AAAA")
        with h5py.File("f.h5", "r+", libver="latest") as f:
            f.swmr_mode = True
            text = b"AAA"
            for letter in "BCDE":
                put(3, letter)
                become(text + letter.encode())
            text += b"E"
            for letter in "FGHI":
                for n in "dz":
                    f[n].resize(len(text) + 1, 0)
                f.flush()
                become(text)
                put(len(text), letter)
                text += letter.encode()
                become(text)
        become(b"AAAEFGHI")

    # ---- reload

    def test_a_replaced_file_is_taken_up(self):
        make("f.h5", 7, ("d", "old"))
        make("new.h5", 9, ("d", "new"))
        mnt = self.mount("-o", "reload", "f.h5")
        assert set(read(mnt + "d")) == {7}
        assert os.listdir(mnt) == ["d", "old"] and not os.path.exists(mnt + "new")
        os.rename("new.h5", "f.h5")
        becomes(mnt + "d", 9)
        until(lambda: os.listdir(mnt) == ["d", "new"] and not os.path.exists(mnt + "old"), "the new names")
        make("new.h5", 5, ("d",))
        os.rename("f.h5", "aside.h5")  # the name is free for a moment
        assert set(read(mnt + "d")) == {9}
        os.rename("new.h5", "f.h5")
        becomes(mnt + "d", 5)

    def test_while_something_is_open_the_old_file_stays(self):
        make("f.h5", 7)
        make("new.h5", 9)
        mnt = self.mount("-o", "reload", "f.h5")
        with open(mnt + "d", "rb") as held:
            os.rename("new.h5", "f.h5")
            time.sleep(2.5)
            assert set(read(mnt + "e")) == {7}
            assert set(held.read()) == {7}
        becomes(mnt + "d", 9)

    def test_a_file_written_in_place_is_taken_up(self):
        make("f.h5", 7)
        make("new.h5", 9)
        mnt = self.mount("-o", "reload", "f.h5")
        assert set(read(mnt + "d")) == {7}
        shutil.copyfile("new.h5", "f.h5")
        becomes(mnt + "d", 9)

    def test_what_is_no_hdf5_file_is_not_taken_up(self):
        make("f.h5", 7)
        make("new.h5", 9)
        with open("text", "w") as f:
            f.write("no such thing")
        mnt = self.mount("-o", "reload", "f.h5")
        assert set(read(mnt + "d")) == {7}
        os.rename("text", "f.h5")
        until(lambda: error(read, mnt + "d") != "none", "an error")
        assert is_mounted(mnt)
        os.rename("new.h5", "f.h5")
        becomes(mnt + "d", 9)

    def test_a_symlink_is_followed_anew(self):
        mnt = self.mount_of_a_symlink("-o", "reload")
        os.symlink("b", "next")
        os.rename("next", "now")
        becomes(mnt + "d", 9)

    def mount_of_a_symlink(self, *options):
        """`now` leads to a directory with a file of sevens, and may lead to `b` with one of nines."""
        os.mkdir("a")
        os.mkdir("b")
        make("a/f.h5", 7)
        make("b/f.h5", 9)
        os.symlink("a", "now")
        mnt = self.mount(*options, "now/f.h5")
        assert set(read(mnt + "d")) == {7}
        return mnt

    def test_a_file_set_is_taken_up_whole(self):
        make_family("run-%05d.h5", 7, 1 << 17)
        make_family("new-%05d.h5", 9, 1 << 17)
        mnt = self.mount("-o", "reload", "run-%05d.h5")
        assert set(read(mnt + "d")) == {7}
        for new in sorted(glob.glob("new-*.h5")):
            os.rename(new, new.replace("new", "run"))

        def is_new():
            seen = set(read(mnt + "d"))
            assert seen in ({7}, {9}), seen
            return seen == {9}

        until(is_new, "the new files")

    def test_a_replacement_that_grows_is_followed(self):
        """A file in SWMR mode takes the name: it is followed as the first one was, from that moment on."""

        def start(name, value):
            f = h5py.File(name, "w", libver="latest")
            self.addCleanup(f.close)
            d = f.create_dataset(
                "d", (10,), "u1", maxshape=(None,), chunks=(64,), data=np.full(10, value, "u1")
            )
            f.swmr_mode = True
            return d

        def grow(d, value):
            d.resize((len(d) + 100,))
            d[-100:] = value
            d.flush()

        def becomes(value, count):
            until(lambda: collections.Counter(read(mnt + "d")) == {value: count}, (value, count))

        old = start("f.h5", 7)
        mnt = self.mount("-o", "reload", "f.h5")
        grow(old, 7)
        becomes(7, 110)
        new = start("next.h5", 9)
        os.rename("next.h5", "f.h5")
        becomes(9, 10)
        grow(old, 7)  # nobody sees the old one
        for count in (110, 210, 310):
            grow(new, 9)
            becomes(9, count)

    def test_without_reload_a_replaced_file_is_stale(self):
        make("f.h5", 7)
        make("new.h5", 9)
        mnt = self.mount("f.h5")
        os.rename("new.h5", "f.h5")
        until(lambda: error(read, mnt + "e") != "none", "an error")

    def test_a_new_file_under_a_freed_name_is_a_replacement(self):
        """The name is free for a while, and the kernel has all that `stat` asks for: nothing of the old file
        changes when another one gets the name."""
        for name, taken in (("f.h5", "f.h5"), ("link.h5", "f.h5"), ("run-%05d.h5", "run-00001.h5")):
            for old in glob.glob("*.h5"):
                os.unlink(old)
            make("f.h5", 7)
            make("new.h5", 9)
            os.symlink("f.h5", "link.h5")
            make_family("run-%05d.h5", 7, 1 << 19)
            mnt = self.mount(name)  # a relative name, and the mount leaves this directory
            assert set(read(mnt + "d")) == {7} and error(os.stat, mnt + "d") == "none", name
            os.unlink(taken)
            time.sleep(1.5)
            assert set(read(mnt + "e")) == {7} and error(os.stat, mnt + "d") == "none", name
            shutil.copy("new.h5", taken)
            until(lambda: error(os.stat, mnt + "d") == "Stale file handle", name)
            assert error(read, mnt + "d") == "Stale file handle", name
            with open(mnt + ".h5/log") as f:
                assert "-o reload" in [line for line in f if "replaced" in line][0], name

    def test_a_symlink_that_leads_elsewhere_is_a_replacement(self):
        mnt = self.mount_of_a_symlink()
        os.symlink("b", "next")
        os.rename("next", "now")
        until(lambda: error(read, mnt + "d") != "none", "an error")

    def test_a_new_file_under_a_freed_name_is_taken_up(self):
        make("f.h5", 7)
        make("new.h5", 9)
        mnt = self.mount("-o", "reload", "f.h5")
        assert set(read(mnt + "d")) == {7}
        os.unlink("f.h5")
        time.sleep(1.5)
        assert set(read(mnt + "d")) == {7}
        shutil.copy("new.h5", "f.h5")
        becomes(mnt + "d", 9)

    def test_replaced_over_and_over_under_readers(self):
        """Two hundred replacements under readers: each file that is read is wholly of one of them."""
        make("one.h5", 1, ("d", "e", "f"))
        make("two.h5", 2, ("d", "e", "f"), chunks=(30000,), compression="gzip")
        shutil.copy("one.h5", "f.h5")
        mnt = self.mount("-o", "reload", "f.h5")
        done = threading.Event()
        seen, mixed, errors = set(), [], set()

        def replace():
            for i in range(200):
                shutil.copy(("one.h5", "two.h5")[i % 2], "next.h5")
                os.rename("next.h5", "f.h5")
                time.sleep(0.02)
            done.set()

        def note(data):
            if len(data) == N and len(set(data)) == 1:
                seen.add(data[0])
            else:
                mixed.append((len(data), sorted(set(data))))

        def read_each():
            while not done.is_set():
                for n in ("d", "e", "f"):
                    try:
                        note(read(mnt + n))
                    except OSError as e:
                        errors.add(e.errno)
                    time.sleep(0.002)

        def commands():
            while not done.is_set():
                got = run("find", mnt, "-type", "f", "-exec", "cat", "{}", ";", text=False)
                if got.returncode == 0 and len(got.stdout) == 3 * N:
                    for i in range(3):
                        note(got.stdout[i * N : (i + 1) * N])
                subprocess.run(["sha256sum", mnt + "d", mnt + "e"], capture_output=True)

        threads = [threading.Thread(target=target) for target in (replace, read_each, commands)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        becomes(mnt + "d", 2)  # the last one
        assert seen == {1, 2} and mixed == [], (seen, mixed[:5])
        assert errors <= {errno.ESTALE}, errors
