"""One failed allocation of the program, at any place: it must neither end, nor hang, nor leave something
wrong.

Each path of the program that is tried is a class: `ask` uses it while the allocation fails, where errors are
allowed and wrong answers are not; `check` uses it afterwards, when everything must be right.
"""
import concurrent.futures
import contextlib
import http.client
import mmap
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np

HANGS = 30  # seconds; what takes longer hangs
FAR_SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "remote", "far_server.py")


class Wrong(Exception):
    """What may not be: a wrong answer, an end, a hang."""


class Control:
    """Says which allocation fails: see fail_alloc.cpp."""

    def __init__(self, path):
        with open(path, "wb") as f:
            f.write(bytes(16))
        self.path = path
        with open(path, "r+b") as f:
            self.memory = mmap.mmap(f.fileno(), 16)

    def arm(self, number):
        self.memory[:16] = struct.pack("<qq", number, 0)

    def disarm(self):
        self.memory[:8] = bytes(8)

    def fired(self):
        return struct.unpack("<q", self.memory[8:])[0] > 0


def within_time(step):
    """Runs a step in a thread of its own, which is left behind where it hangs."""
    pool = concurrent.futures.ThreadPoolExecutor(1)
    try:
        return pool.submit(step).result(HANGS)
    except concurrent.futures.TimeoutError:
        raise Wrong("it hangs") from None
    finally:
        pool.shutdown(wait=False)


def same(got, expected, what):
    if got != expected:
        raise Wrong("%s: %r in place of %r" % (what, got[:80], expected[:80]))


class Path:
    lasts = 10**9  # uses after which the program starts anew
    options = ()

    def __init__(self, h5mount, library, place):
        self.h5mount, self.library, self.place = h5mount, library, place
        self.number = 0
        self.control = Control(os.path.join(place, "control"))
        self.process = None
        self.prepare()
        self.start()

    def command(self):
        return [self.h5mount, "-f", "-o", ",".join(self.options), self.source, self.mount]

    def start(self):
        self.mount = os.path.join(self.place, "mount")
        os.makedirs(self.mount, exist_ok=True)
        self.said = os.path.join(self.place, "said")
        environment = dict(os.environ, LD_PRELOAD=self.library, H5MOUNT_FAIL_ALLOC=self.control.path)
        with open(self.said, "ab") as said:
            self.process = subprocess.Popen(
                self.command(), env=environment, stdout=subprocess.PIPE, stderr=said
            )
        self.used = 0
        self.await_ready()

    def await_ready(self):
        end = time.monotonic() + HANGS
        while not os.path.ismount(self.mount):
            if self.process.poll() is not None or time.monotonic() > end:
                raise Wrong("it does not start: " + open(self.said).read()[-500:])
            time.sleep(0.01)

    def stop(self):
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(HANGS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            subprocess.run(["umount", "-l", self.mount], stderr=subprocess.DEVNULL)
            self.process.wait()
            raise Wrong("it does not end") from None
        finally:
            self.process.stdout.close()
            self.process = None

    def end(self):
        with contextlib.suppress(Wrong):
            self.stop()

    def check_alive(self):
        if self.process.poll() is not None:
            raise Wrong("it ended with %d: %s" % (self.process.returncode, open(self.said).read()[-500:]))

    def trial(self, number):
        """Returns whether the allocation was reached."""
        if self.used > self.lasts:
            self.stop()
            self.start()
        self.control.arm(number)
        for _ in range(400):
            self.number += 1
            self.used += 1
            try:
                within_time(self.ask)
            except (OSError, http.client.HTTPException):
                pass
            if self.control.fired():
                break
            if self.used > self.lasts:
                self.control.disarm()
                self.check_alive()
                self.stop()
                self.start()
                self.control.arm(max(number // 2, 1))
        fired = self.control.fired()
        self.control.disarm()
        self.check_alive()
        try:
            within_time(self.check)
        except (OSError, http.client.HTTPException) as error:
            raise Wrong("afterwards: %r" % error) from None
        self.check_alive()
        return fired


def direct_read(path, offset, length):
    """Not from the kernel's pages."""
    memory = mmap.mmap(-1, length)
    file = os.open(path, os.O_RDONLY | os.O_DIRECT)
    try:
        return memory[: os.preadv(file, [memory], offset)]
    finally:
        os.close(file)


PIECE = 16 << 10
PIECES = 64


class LocalRead(Path):
    """Plain and deflated data, text of strings, attributes."""

    options = ("cache_size=1M",)
    large = 1 << 20

    def prepare(self):
        self.source = os.path.join(self.place, "data.h5")
        random = np.random.default_rng(1)
        self.plain = random.integers(0, 255, self.large, "u1")
        self.packed = random.integers(0, 9, PIECES * PIECE, "u1")
        with h5py.File(self.source, "w", libver="latest") as f:
            f["plain"] = self.plain
            f.create_dataset("packed", data=self.packed, chunks=(PIECE,), compression="gzip")
            f["text"] = np.array(["row %d" % i for i in range(500)], h5py.string_dtype())
            for i in range(20):
                f["plain"].attrs["a%02d" % i] = "value %d" % i
        self.text = "".join("row %d\n" % i for i in range(500)).encode()

    def ask(self):
        at = self.number * 7919 % PIECES * PIECE
        turn = self.number % 4
        if turn == 0:
            got = direct_read(self.mount + "/packed", at, PIECE)
            same(got, self.packed[at : at + PIECE].tobytes(), "packed")
        elif turn == 1:
            at = self.number * 7919 * 4096 % (self.large - PIECE) // 4096 * 4096
            got = direct_read(self.mount + "/plain", at, PIECE)
            same(got, self.plain[at : at + PIECE].tobytes(), "plain")
        elif turn == 2:
            name = "a%02d" % (self.number % 20)
            got = os.getxattr(self.mount + "/plain", "user." + name)
            same(got, b"value %d" % (self.number % 20), name)
        else:
            got = direct_read(self.mount + "/text", 0, PIECE)
            same(got, self.text, "text")

    def check(self):
        at = self.number
        for self.number in range(at - 3, at + 4):
            self.ask()
        self.number = at
        names = sorted(os.listdir(self.mount))
        if [n for n in names if n != ".h5"] != ["packed", "plain", "text"]:
            raise Wrong("names: %r" % names)
        if os.stat(self.mount + "/plain").st_size != self.large:
            raise Wrong("size of plain")


class FarRead(LocalRead):
    """The same of a URL: more than a client keeps of it."""

    options = ("cache_size=1M", "timeout=6")
    large = 96 << 20

    def prepare(self):
        super().prepare()
        self.server = subprocess.Popen(
            [sys.executable, FAR_SERVER, self.place], stdout=subprocess.PIPE, text=True
        )
        self.source = "http://127.0.0.1:%d/data.h5" % int(self.server.stdout.readline())

    def end(self):
        super().end()
        self.server.kill()
        self.server.wait()
        self.server.stdout.close()


class Listing(Path):
    """Groups that nobody has looked at: names, sizes, attributes."""

    groups, members = 400, 20
    lasts = groups - 1

    def prepare(self):
        self.source = os.path.join(self.place, "groups.h5")
        with h5py.File(self.source, "w", libver="latest") as f:
            for g in range(self.groups):
                group = f.create_group("g%03d" % g)
                for m in range(self.members):
                    group["d%02d" % m] = np.zeros(m + 1, "u1")
                group.attrs["number"] = g

    def ask(self):
        self.look(self.used % self.groups)

    def look(self, g):
        path = self.mount + "/g%03d" % g
        found = {entry.name: entry.stat().st_size for entry in os.scandir(path)}
        if found != {"d%02d" % m: m + 1 for m in range(self.members)}:
            raise Wrong("%s: %r" % (path, found))
        same(os.getxattr(path, "user.number"), b"%d" % g, path)

    def check(self):
        self.look(self.used % self.groups)
        self.look((self.used + 1) % self.groups)
        if len(os.listdir(self.mount)) < self.groups:
            raise Wrong("names of the root")


class Served(LocalRead):
    """Requests over HTTP."""

    targets = (
        "/packed",
        "/.h5/list.txt",
        "/api/meta/?path=/",
        "/.h5/csv/text.csv",
        "/api/data/?path=/packed&selection=0:100",
        "/text",
        "/plain",
        "/api/attr/?path=/plain",
    )

    def command(self):
        return [self.h5mount, "--serve", "0", self.source]

    def await_ready(self):
        self.url = self.process.stdout.readline().decode().strip()
        found = re.match(r"http://([0-9.]+):(\d+)/", self.url)
        if not found:
            raise Wrong("it does not start: " + open(self.said).read()[-500:])
        self.port = int(found[2])
        self.answers = [self.get(target) for target in self.targets]

    def get(self, target):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANGS - 5)
        try:
            connection.request("GET", target)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def ask(self):
        at = self.number % len(self.targets)
        status, body = self.get(self.targets[at])
        if status == 200:
            same(body, self.answers[at][1], self.targets[at])
        elif status < 500:
            raise Wrong("%s: %d" % (self.targets[at], status))

    def check(self):
        for target, answer in zip(self.targets, self.answers):
            if answer[0] != 200 or self.get(target) != answer:
                raise Wrong("%s is another answer" % target)


class ChangedFile(Path):
    """A file of a directory that is written over while it is shown."""

    def prepare(self):
        self.source = os.path.join(self.place, "many")
        os.makedirs(self.source)
        self.value = 1
        for name in ("f1.h5", "f2.h5"):
            with h5py.File(os.path.join(self.source, name), "w") as f:
                f["d"] = np.full(512, 1, "i8")
                self.at = f["d"].id.get_offset()

    def change(self):
        self.value += 1
        with open(self.source + "/f1.h5", "r+b") as f:
            f.seek(self.at)
            f.write(np.full(512, self.value, "i8").tobytes())

    def value_of(self, name):
        with open("%s/%s/d" % (self.mount, name), "rb") as f:
            return int(np.frombuffer(f.read(8), "i8")[0])

    def ask(self):
        before = self.value_of("f1.h5")
        self.change()
        time.sleep(0.02)
        if self.value_of("f1.h5") not in (before, self.value):
            raise Wrong("a value that was never there")
        os.listdir(self.mount)

    def check(self):
        end = time.monotonic() + 8
        while True:
            try:
                if self.value_of("f1.h5") == self.value and self.value_of("f2.h5") == 1:
                    return
                found = self.value_of("f1.h5")
            except OSError as error:
                found = error
            if time.monotonic() > end:
                raise Wrong("f1.h5 is not taken up: %s" % found)
            time.sleep(0.02)


PATHS = {"local": LocalRead, "far": FarRead, "listing": Listing, "served": Served, "changed": ChangedFile}


class Trials:
    """All paths, each with a program of its own, which starts anew where it failed."""

    def __init__(self, h5mount, library):
        self.h5mount, self.library = h5mount, library
        self.paths, self.failures = {}, []
        self.tried, self.reached = dict.fromkeys(PATHS, 0), dict.fromkeys(PATHS, 0)
        self.place = tempfile.mkdtemp(prefix="h5mount-alloc-")

    def path(self, name):
        if name not in self.paths:
            self.paths[name] = PATHS[name](self.h5mount, self.library, tempfile.mkdtemp(dir=self.place))
        return self.paths[name]

    def run(self, name, number):
        self.tried[name] += 1
        try:
            self.reached[name] += self.path(name).trial(number)
        except Wrong as why:
            self.failures.append("%s, allocation %d: %s" % (name, number, why))
            if name in self.paths:
                self.paths.pop(name).end()

    def end(self):
        for path in self.paths.values():
            path.end()
        shutil.rmtree(self.place, ignore_errors=True)

    def table(self):
        return "\n".join(
            "%-8s %5d tried, %5d reached" % (name, self.tried[name], self.reached[name]) for name in PATHS
        )
