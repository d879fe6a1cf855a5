"""Hard cases of joined files, 36 to 38 and 41, and files that come, go, grow and are replaced while 16
threads read. Each file has blocks of one number, so that any mixture shows; NumPy knows what must be read."""
import os
import shutil
import threading
import time
import unittest

import h5py
import numpy as np

from joined_files import JoinedCase, SRC, h5
from mounting import ROOT, as_nobody, error, read

LENGTH = 10
PASSING = {"Stale file handle", "Input/output error", "No such file or directory"}


def block(number, generation=0):
    """What the file of that number has: everywhere the same."""
    return np.full(LENGTH, number * 1000 + generation, "i4")


def make(number, generation=0, name=None):
    """Appears at once, as a writer's file that is renamed when it is whole."""
    name = name or "f%d.h5" % number
    with h5py.File("making", "w") as f:
        f["time"] = np.arange(number * LENGTH, (number + 1) * LENGTH, dtype="f8")
        f["time"].make_scale("time")
        f.create_dataset("v", data=block(number, generation), chunks=(4,)).dims[0].attach_scale(f["time"])
    os.rename("making", SRC + name)


def torn(values, partial_last=False):
    """What is wrong with an array of blocks: '' if it is some set of whole files in order."""
    whole = len(values) - len(values) % LENGTH
    if len(values) % LENGTH and not partial_last:
        return "a part of a file"
    rows = values[:whole].reshape(-1, LENGTH)
    if (rows != rows[:, :1]).any():
        return "a mixture"
    numbers = rows[:, 0] // 1000
    return "" if (np.diff(numbers) > 0).all() else "not in order"


class Readers:
    """Threads that read the joined dataset over and over; `wrong` is what they saw."""

    def __init__(self, path, check, count=16):
        self.path, self.check, self.wrong, self.reads, self.stop = path, check, [], 0, False
        self.threads = [threading.Thread(target=self.read, args=(i,)) for i in range(count)]

    def read(self, i):
        while not self.stop and not self.wrong:
            try:
                if i % 4 == 3:
                    with open(self.path, "rb") as file:
                        size = os.fstat(file.fileno()).st_size
                        content = os.pread(file.fileno(), size + 4096, 0)
                else:
                    content = read(self.path)
            except OSError as said:
                if os.strerror(said.errno) not in PASSING:
                    self.wrong.append(said)
                continue
            if len(content) % 4:
                self.wrong.append("a part of an element")
                continue
            found = self.check(np.frombuffer(content, "i4"))
            if found:
                self.wrong.append(found + ": %r" % np.frombuffer(content, "i4").tolist())
            self.reads += 1
            time.sleep(0.005)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop = True
        for thread in self.threads:
            thread.join(30)


class JoinedChanges(JoinedCase):
    def setUp(self):
        super().setUp()
        self.there = {n: 0 for n in (1, 3, 5, 7)}
        for number in self.there:
            make(number)

    def want(self):
        return np.concatenate([block(n, g) for n, g in sorted(self.there.items())]).tobytes()

    def becomes(self, place, what, seconds=3):
        """Within the two seconds promised, and one for a loaded machine."""
        end = time.monotonic() + seconds
        while True:
            try:
                have = read(place + "v")
            except OSError as said:
                have = str(said).encode()
            if have == self.want():
                return
            self.assertLess(time.monotonic(), end, (what, have[:200]))
            time.sleep(0.02)

    def test_36_a_file_is_replaced_cut_renamed_or_forbidden(self):
        """Bytes of the old state or an error, never a mixture; then the new state."""
        place = self.joined()
        self.becomes(place, "at first")
        with Readers(place + "v", torn) as readers:
            make(3, 1)
            self.there[3] = 1
            self.becomes(place, "replaced")
            os.rename(SRC + "f5.h5", SRC + "z5.h5")
            self.becomes(place, "renamed")
            os.truncate(SRC + "f7.h5", 700)
            del self.there[7]
            self.becomes(place, "cut")
            if os.geteuid() != 0:
                os.chmod(SRC + "z5.h5", 0)
                del self.there[5]
                self.becomes(place, "forbidden")
            os.unlink(SRC + "f1.h5")
            del self.there[1]
            self.becomes(place, "removed")
        self.assertEqual(readers.wrong, [])
        self.assertGreater(readers.reads, 16)
        self.assertEqual(self.told(place)["files"], len(self.there))
        self.assertIn("f7.h5", self.left_out(place))

    def test_37_files_that_arrive(self):
        """In the middle, in front, behind, several at once; what is before the place stays readable."""
        place = self.joined()
        self.becomes(place, "at first")
        opened = os.open(place + "v", os.O_RDONLY)
        self.addCleanup(os.close, opened)
        with Readers(place + "v", torn) as readers:
            make(4)
            self.there[4] = 0
            self.becomes(place, "in the middle")
            self.assertEqual(self.told(place + "v")["files"], 5)
            try:  # it was open: its own bytes, or none
                self.assertEqual(os.pread(opened, 80, 0), self.want()[:80])
            except OSError as said:
                self.assertIn(os.strerror(said.errno), PASSING)
            make(0)
            self.there[0] = 0
            self.becomes(place, "in front")
            for number in (2, 8, 9):
                make(number)
                self.there[number] = 0
            self.becomes(place, "several")
        self.assertEqual(readers.wrong, [])
        self.assertEqual({row["file"] for row in self.rows(place)}, {"f%d.h5" % n for n in self.there})
        content = np.load(place + ".h5/npy/v.npy", mmap_mode="r")
        self.assertEqual(content.tobytes(), self.want())

    def test_37_later_types_count_too(self):
        """A file that arrives can change the type of all."""
        place = self.joined()
        self.becomes(place, "at first")
        with h5("f8.h5") as f:
            f["time"] = np.arange(80.0, 82.0)
            f["time"].make_scale("time")
            f.create_dataset("v", data=[0.5, 1.5]).dims[0].attach_scale(f["time"])
        want = np.concatenate([np.frombuffer(self.want(), "i4").astype("f8"), [0.5, 1.5]])
        self.until_equal(lambda: self.array(place + "v").tolist() == want.tolist())

    def until_equal(self, condition, seconds=5):
        end = time.monotonic() + seconds
        while True:
            try:
                if condition():
                    return
            except (OSError, ValueError):
                pass
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)

    def test_38_a_writer_that_does_not_close(self):
        """Its file waits, the others are there; when it is closed it is taken."""
        with h5py.File(SRC + "f6.h5", "w", libver="latest") as f:
            f["time"] = np.arange(60.0, 70.0)
            f["time"].make_scale("time")
            f.create_dataset("v", data=block(6)).dims[0].attach_scale(f["time"])
            f.flush()
            place = self.joined()
            self.becomes(place, "without it")
            self.until_equal(lambda: self.told(place)["waiting"] == 1)
        self.there[6] = 0
        self.becomes(place, "closed", 6)
        self.assertEqual(self.told(place)["waiting"], 0)

    def test_the_last_file_grows(self):
        """Under SWMR, while 16 threads read: whole files, and a part of the last one alone."""
        with h5py.File(SRC + "f9.h5", "w", libver="latest") as f:
            t = f.create_dataset("time", (0,), "f8", maxshape=(None,), chunks=(4,))
            t.make_scale("time")
            v = f.create_dataset("v", (0,), "i4", maxshape=(None,), chunks=(4,))
            v.dims[0].attach_scale(t)
            f.swmr_mode = True
            place = self.joined()
            base = self.want()
            self.until_equal(lambda: read(place + "v") == base)

            def check(values):
                tail = values[4 * LENGTH :]
                if values[: 4 * LENGTH].tobytes() != base:
                    return "other files changed"
                return "" if (tail == np.arange(len(tail))).all() else "wrong growth"

            with Readers(place + "v", check) as readers:
                for steps in (1, 4, 9, 40):
                    for d, values in ((v, np.arange(steps)), (t, 90.0 + np.arange(steps))):
                        d.resize(steps, 0)
                        d[:] = values
                        d.flush()
                    want = base + np.arange(steps, dtype="i4").tobytes()
                    self.until_equal(lambda want=want: read(place + "v") == want)
            self.assertEqual(readers.wrong, [])

    @unittest.skipIf(os.geteuid() != 0, "not root")
    def test_41_what_others_may_not_read(self):
        """With allow_other, the joined file is refused to who may not read each of its files."""
        os.chmod("src", 0o755)
        place = self.joined("time", "allow_other")
        self.assertEqual(as_nobody(self.mnt, "cat .h5/joined/v | wc -c").stdout, "160\n")
        os.chmod(SRC + "f5.h5", 0o600)
        place = self.joined("time", "allow_other")
        self.assertEqual(read(place + "v"), self.want())
        for path in ("v", ".h5/npy/v.npy", ".h5/slice/v/0:10", ".h5/plain.zarr/v/0", ".h5/text/v"):
            seen = as_nobody(self.mnt, "cat .h5/joined/" + path)
            self.assertEqual(seen.stdout, "", path)
            self.assertNotEqual(seen.returncode, 0, path)
        self.assertEqual(as_nobody(self.mnt, "cat .h5/joined.h5 | wc -c").stdout, "0\n")

    def test_hostile_files_among_them(self):
        """Damaged files of the corpus among 20 good ones: no value is wrong, each file is accounted for."""
        corpus = os.environ.get("H5MOUNT_CORPUS", os.path.join(ROOT, "../shared/corpus"))
        corpus = os.path.join(corpus, "hostile")
        if not os.path.isdir(corpus):
            self.skipTest("no corpus")
        for number in range(10, 26):
            make(number)
            self.there[number] = 0
        names = []
        for top, _, files in os.walk(corpus):
            for name in sorted(files):
                names.append("bad-%d-%s.h5" % (len(names), name.replace(".", "_")))
                shutil.copy(os.path.join(top, name), SRC + names[-1])
        place = self.joined()
        self.assertEqual(read(place + "v"), self.want())
        self.assertEqual(self.array(place + "time").tolist(), sorted(self.array(place + "time").tolist()))
        rows = {row["file"] for row in self.rows(place)}
        self.assertEqual(rows, {*names, *("f%d.h5" % n for n in self.there)})
        self.assertEqual(error(read, place + "v"), "none")
        self.assertEqual(self.told(place)["files"], 20)
