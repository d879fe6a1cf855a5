"""A file of an HTTP server: replaced again and again, then with faults of the server.

Element i of a dataset is `version << 40 | i`, so that a read shows which version of the object each of its
bytes is of; what is read must never mix two. The versions lie differently in their files: what is read by
one's structures in another would be seen too. --changes says how often the object is replaced, --minutes how
long there are faults afterwards; 0 leaves one out.
"""
import errno
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from pathlib import Path

import h5py
import numpy as np

from harness import Mount, Wrong, forget, until

TIMEOUT = 4  # seconds, of a request
GRACE = 2 * TIMEOUT + 4  # after a fault: `read` takes twice the timeout at most
VERSIONS = 16
ZEROS = 1 << 32  # bytes of each version, far more than a mount keeps
CLUSTER = 25  # changes one after the other, before a pause
NAMES = ["contiguous", "packed", "chunks"]
MOUNTED = f"timeout={TIMEOUT}"
ERRORS = {errno.EIO, errno.ESTALE, errno.EINTR, errno.ENOTCONN, errno.ENOENT, errno.EACCES}
LASTING = ("tag", "time", "length")  # faults after which a mount is stale for good
FAULTS = [
    *LASTING,
    "silent",
    "trickle",
    "fail",
    "fail",
    "reset",
    "reset",
    "long",
    "shifted",
    "whole",
    "gzip",
    "star",
    "unsaid",
    "gone",
    "paused",
    "killed",
    "delay",
]


def arguments(parser):
    parser.set_defaults(readers=4)
    parser.add_argument("--changes", type=int, default=10_000, help="of the object (default: 10000)")


class Server:
    """far_server.py, which can end and come back at the same port."""

    def __init__(self, directory):
        self.directory, self.port = directory, 0
        self.start()

    def start(self):
        script = Path(__file__).resolve().parents[1] / "remote/far_server.py"
        for _ in range(50):
            self.process = subprocess.Popen(
                [sys.executable, script, self.directory, "--port", str(self.port)],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )  # Ctrl-C is not for it
            if said := self.process.stdout.readline():
                self.port = int(said)
                return
            time.sleep(0.1)  # the port may be in use for a moment
        raise RuntimeError("the server does not start")

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def set(self, faults=""):
        for _ in range(20):
            try:
                with urllib.request.urlopen(self.url(".set?" + faults), timeout=30) as answer:
                    return answer.read()
            except OSError:  # on a machine that is busy with other things
                time.sleep(1)
        raise RuntimeError("the server does not answer")

    def url(self, name):
        return f"http://127.0.0.1:{self.port}/{name}"

    def begin(self, kind, choose):
        few = choose.choice((1, 3, 30))
        said = {
            "silent": f"silent={few}",
            "trickle": f"trickle={choose.choice((500, 20_000, 300_000))}",
            "fail": f"fail={few}:{choose.choice((408, 429, 500, 502, 503, 504, 403))}",
            "reset": f"reset={few}:{choose.choice((0, 1, 1000, 100_000, 1_500_000))}",
            "tag": 'tag="other"',
            "time": "time=other",
            "length": f"length={choose.choice((5, 10**9))}",
            "delay": "delay=0.3",
        }
        if kind == "paused":
            os.kill(self.process.pid, signal.SIGSTOP)
        elif kind == "killed":
            self.stop()
        else:
            self.set(urllib.parse.quote(said.get(kind, kind)))

    def end(self):
        """Ends all faults."""
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGCONT)
        else:
            self.start()
        self.set()


def elements(version, begin, end):
    return np.arange(begin, end, dtype="<u8") | np.uint64(version << 40)


def write(path, version, count, zeros=0):
    """Datasets of `count` elements: one contiguous, the others in chunks, behind as much as the version
    says."""
    with h5py.File(path, "w", libver="latest" if version % 2 else "earliest") as file:
        if zeros:  # a hole, of which the file system holds nothing
            how = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            how.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
            how.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
            h5py.h5d.create(file.id, b"zeros", h5py.h5t.NATIVE_UINT8, h5py.h5s.create_simple((zeros,)), how)
        file.create_dataset("before", data=np.zeros(1 + version % 5 * 700, "u1"))
        for name in NAMES[::-1] if version % 3 == 0 else NAMES:
            how = {} if name == "contiguous" else {"chunks": (5_000 + version % 4 * 3_000,)}
            if name == "packed":
                how.update(shuffle=True, compression="gzip", compression_opts=1)
            data = file.create_dataset(name, (count,), "<u8", **how)
            for at in range(0, count, 1 << 20):
                data[at : at + (1 << 20)] = elements(version, at, min(at + (1 << 20), count))


def version_of(data, begin, version=None):
    """The version that all of `data`, which begins at that element, is of."""
    found = np.frombuffer(data[: len(data) // 8 * 8], "<u8")
    if len(found) == 0:
        return version
    version = int(found[0]) >> 40 if version is None else version
    wrong = np.flatnonzero(found != elements(version, begin, begin + len(found)))
    if len(wrong):
        at = int(wrong[0])
        raise Wrong(f"element {begin + at} is {int(found[at]):#x}, not of version {version}")
    return version


def read_ranges(path, count, choose):
    """Reads ranges of an open file, sometimes in order, sometimes of the kernel's pages: all of one
    version."""
    version, reads = None, 0
    fd = os.open(path, os.O_RDONLY | (os.O_DIRECT if choose.randrange(4) == 0 else 0))
    try:
        if choose.randrange(4):
            forget(fd)
        at, in_order = choose.randrange(count), choose.randrange(2)
        for _ in range(choose.choice((3, 10, 40))):
            length = choose.choice((512, 4096, 70_000, 1 << 20)) // 512 * 512
            at = at // 64 * 64
            data = os.pread(fd, length, at * 8)
            version = version_of(data, at, version)
            reads += 1
            at = at + len(data) // 8 if in_order else choose.randrange(count)
            if at >= count:
                break
        return version, reads
    finally:
        os.close(fd)


class Changes:
    """The first part: each change comes when a reader has met the one before, or soon after."""

    def __init__(self, soak):
        self.soak, self.count, self.met = soak, 120_000, multiprocessing.Value("l", 0)

    def meet(self):
        with self.met.get_lock():
            self.met.value += 1

    def reader(self, point, seed):
        choose, last = random.Random(seed), [None]

        def reading():
            try:
                # The mount soon keeps the other datasets whole, and then never meets a change; not these.
                with open(point / "zeros", "rb", buffering=0) as zeros:
                    forget(zeros.fileno())
                    if os.pread(zeros.fileno(), 4096, choose.randrange(ZEROS // 4096) * 4096).strip(b"\0"):
                        raise Wrong("zeros are not")
                version, reads = read_ranges(point / choose.choice(NAMES), self.count, choose)
            except OSError:
                if last[0] is not None:  # not of one that was met before
                    self.meet()
                last[0] = None
                raise
            if version in (None, last[0]):
                return {"reads": reads, "files opened": 1}
            last[0] = version
            self.meet()
            return {"reads": reads, "files opened": 1, "other versions seen": 1}

        return reading

    def cats(self, url, seed):
        choose = random.Random(seed)

        def catting():
            done = subprocess.run(
                [self.soak.program, "-o", MOUNTED, "--cat", url, *choose.sample(NAMES, 2)],
                capture_output=True,
            )
            data, size = done.stdout, self.count * 8
            # Of a dataset that failed there is a part, behind which the next one begins.
            if done.returncode == 0:
                if len(data) != 2 * size:
                    raise Wrong(f"--cat wrote {len(data)} bytes without an error")
                version_of(data[size:], 0, version_of(data[:size], 0))
                return {"--cat whole": 1}
            found = np.frombuffer(data[: len(data) // 8 * 8], "<u8")
            if len(set((found >> np.uint64(40)).tolist())) > 1:
                raise Wrong("--cat wrote bytes of two versions")
            self.meet()
            said = done.stderr.decode(errors="replace").strip().split(": ")[-1]
            return {"--cat failed: " + said[:60]: 1}

        return catting

    def run(self):
        soak, choose = self.soak, random.Random(self.soak.options.seed + 2)
        www, pool = soak.place / "www", soak.place / "pool"
        www.mkdir()
        pool.mkdir()
        for version in range(VERSIONS):
            write(pool / str(version), version, self.count, ZEROS)
        subprocess.run(["cp", pool / "0", www / "f.h5"], check=True)
        server = Server(www)
        soak.clean_up.callback(server.stop)
        mount = Mount(soak, server.url("f.h5"), MOUNTED, "reload")
        soak.faults_may_show(True)
        for number in range(soak.options.readers):
            soak.start(self.reader, mount.point, soak.options.seed * 100 + number)
        for seed in (100, 101):
            soak.start(self.cats, server.url("f.h5"), seed)
        version = 0
        for _ in soak.clock(float("inf"), mount):
            # The pool's files and the one before are other objects, by their inode and time.
            version = choose.choice([other for other in range(VERSIONS) if other != version])
            subprocess.run(["cp", pool / str(version), www / "next"], check=True)  # holes stay
            before = self.met.value
            os.rename(www / "next", www / "f.h5")
            soak.counts["changes met by a reader before the next"] += until(
                lambda: self.met.value != before, 0.15, 0.002
            )
            # A mount looks for another version twice a second.
            time.sleep(1.2 if soak.counts["changes"] % CLUSTER == 0 else choose.choice((0, 0.01, 0.03)))
            soak.counts["changes"] += 1
            if soak.counts["changes"] % 500 == 0:
                soak.watch(mount)
            if soak.counts["changes"] == soak.options.changes:
                break
        soak.end_readers()
        mount.end()
        soak.report("changes")


def reader_of_one_version(point, count, seed):
    choose = random.Random(seed)

    def reading():
        version, reads = read_ranges(point / choose.choice(NAMES), count, choose)
        if version not in (None, 1):
            raise Wrong(f"version {version}")
        return {"reads": reads, "files opened": 1}

    return reading


def walker(point):
    def walking():
        names = sorted(name for name in os.listdir(point) if name != ".h5")
        if names and names != sorted(["before", *NAMES]):
            raise Wrong(f"names {names}")
        for name in NAMES:
            os.stat(point / name)
        time.sleep(0.05)
        return {"walks": 1}

    return walking


def faults(soak):
    choose, count = random.Random(soak.options.seed + 4), 4_500_000  # more than the 64 MiB that a mount keeps
    www = soak.place / "www-faults"
    www.mkdir()
    write(www / "g.h5", 1, count)
    server = Server(www)
    soak.clean_up.callback(server.stop)
    soak.before_readers_end.callback(server.end)
    mount = Mount(soak, server.url("g.h5"), MOUNTED, "cache_size=48M")
    for number in range(soak.options.readers):
        soak.start(reader_of_one_version, mount.point, count, soak.options.seed * 100 + number)
    soak.start(walker, mount.point)
    for made in soak.clock(soak.options.minutes * 60, mount):
        time.sleep(choose.uniform(1, 3))
        soak.faults_may_show(True)
        kind = choose.choice(FAULTS)
        server.begin(kind, choose)
        soak.counts["fault: " + kind] += 1
        time.sleep(choose.choice((0.3, 2, TIMEOUT * 1.5)))
        server.end()
        if kind in LASTING or made % 40 == 39:
            mount.again()
        soak.faults_may_show(False, GRACE)
        # Now and then all errors must have passed.
        if made % 8 == 7:
            time.sleep(GRACE + 3)
            soak.watch(mount)


def run(soak):
    soak.errors = ERRORS
    if soak.options.changes > 0:
        Changes(soak).run()
    if soak.options.minutes > 0:
        soak.faults_may_show(False)
        faults(soak)
