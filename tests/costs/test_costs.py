"""What does not depend on the machine's speed is held to bounds: a change that makes a path cost more fails
here, and says which.

Chunks decoded, bytes read, rounds and large allocations are what the program alone decides: they are exactly
what tests/costs/typical.jsonl says, and where a change makes them less that file changes with it. The other
numbers may be somewhat more (costs.py says how much). COSTS=all in the environment prints all of them, in the
form of that file.
"""
import http.client
import json
import os
import random
import shutil
import sys
import tempfile
import unittest

import h5py
import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from costs import BY_TIME, FarServer, difference, measured, mounted, over, served, typical_costs
from mounting import can_mount
from support.program import ProgramTest, run, sanitized

OBJECTS = 10_000
READS = 8_000
BLOCK = 4096


def write_many(path):
    """10,000 datasets with two attributes each, and 1,000 groups in 100."""
    with h5py.File(path, "w", libver="latest") as f:
        group = f.create_group("g")
        scalar, kind, own = h5py.h5s.create(h5py.h5s.SCALAR), h5py.h5t.STD_I32LE, h5py.h5s.create_simple((2,))
        for i in range(OBJECTS):
            one = h5py.h5d.create(group.id, b"event%05d" % i, kind, scalar)
            for name in (b"run", b"range"):
                h5py.h5a.create(one, name, kind, own).write(np.array([i, 1], "<i4"))
        for i in range(100):
            for k in range(10):
                f.create_group("tree/%03d/%d" % (i, k))


def write_data(path):
    rng = np.random.default_rng(1)
    with h5py.File(path, "w", libver="latest") as f:
        f["contiguous"] = np.arange(READS * BLOCK // 4, dtype="<i4")
        f.create_dataset(
            "deflated",
            data=np.arange(READS * BLOCK // 4, dtype="<i4") // 7,
            chunks=(BLOCK // 4,),
            compression=1,
        )
        f.create_dataset(
            "tiles", data=rng.integers(0, 50, (2048, 2048)).astype("<f4"), chunks=(256, 256), compression=1
        )
        rows = np.zeros(20_000, [("n", "<i4"), ("x", "<f8"), ("name", "S8")])
        rows["n"], rows["x"], rows["name"] = np.arange(20_000), rng.random(20_000), b"row"
        f.create_dataset("rows", data=rows, chunks=(1000,), compression=1)


def first_bytes(place):
    with open(place + "contiguous", "rb", buffering=0) as f:
        assert f.read(16) == np.arange(4, dtype="<i4").tobytes()


def lookups(place):
    for i in range(OBJECTS):
        os.stat(place + "g/event%05d" % i)


def listing(place):
    with os.scandir(place + "g") as entries:
        assert sum(entry.stat().st_size for entry in entries) == 4 * OBJECTS


def find(place):
    assert sum(len(names) for _, names, _ in os.walk(place + "tree")) == 1100


def metadata(place):
    assert whole(place + ".h5/metadata.jsonl").count(b"\n") == OBJECTS + 1103


def whole(path):
    """By O_DIRECT: what the kernel reads ahead is not the same each time."""
    out = bytearray()
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    try:
        while part := os.read(fd, 1 << 20):
            out += part
    finally:
        os.close(fd)
    return bytes(out)


def at_random(name, value):
    def read(place):
        fd = os.open(place + name, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
        blocks = list(range(READS))
        random.Random(1).shuffle(blocks)
        for i in blocks:
            data = os.pread(fd, BLOCK, i * BLOCK)
            assert len(data) == BLOCK and data[:4] == int(value(i * BLOCK // 4)).to_bytes(4, "little")
        os.close(fd)

    return read


def tiles(place):
    assert len(whole(place + "tiles")) == 2048 * 2048 * 4


def column(place):
    assert len(whole(place + ".h5/slice/tiles/:,7")) == 2048 * 4


def part(place):
    assert len(whole(place + ".h5/slice/tiles/300:500,300:500")) == 200 * 200 * 4


def csv(place):
    assert whole(place + ".h5/csv/rows.csv").count(b"\n") == 20_001


def ranges(url):
    host, _, path = url.removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(host, timeout=60)
    for i in range(1000):
        connection.request(
            "GET",
            "/" + path + "contiguous",
            headers={"Range": "bytes=%d-%d" % (i * BLOCK, i * BLOCK + BLOCK - 1)},
        )
        answer = connection.getresponse()
        assert answer.status == 206 and len(answer.read()) == BLOCK
    connection.close()


def far(place):
    os.listdir(place)
    with open(place + "contiguous", "rb", buffering=0) as f:
        f.seek(10 << 20)
        assert len(f.read(16)) == 16
    assert len(whole(place + ".h5/slice/tiles/300:500,300:500")) == 200 * 200 * 4


def nothing(_):
    pass


PIECES = {
    "mount": (mounted, "data.h5", first_bytes),
    "lookup": (mounted, "many.h5", lookups),
    "listing": (mounted, "many.h5", listing),
    "find": (mounted, "many.h5", find),
    "metadata": (mounted, "many.h5", metadata),
    "random_contiguous": (mounted, "data.h5", at_random("contiguous", lambda i: i)),
    "random_deflated": (mounted, "data.h5", at_random("deflated", lambda i: i // 7)),
    "tiles": (mounted, "data.h5", tiles),
    "column": (mounted, "data.h5", column),
    "slice": (mounted, "data.h5", part),
    "csv": (mounted, "data.h5", csv),
    "served": (served, "data.h5", ranges),
    "far": (mounted, "data.h5", far),
}


class Costs(ProgramTest):
    seconds = 120

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if sanitized():
            raise unittest.SkipTest("a sanitizer has costs of its own")
        if not can_mount():
            raise unittest.SkipTest("no /dev/fuse that may be used")
        if run("strace", "true").returncode != 0:
            raise unittest.SkipTest("no process may be traced here")
        cls.place = tempfile.mkdtemp(prefix="h5mount-costs-")
        write_many(cls.place + "/many.h5")
        write_data(cls.place + "/data.h5")
        cls.server = FarServer(cls.place, 0.002)
        cls.least = {}

    @classmethod
    def tearDownClass(cls):
        cls.server.end()
        shutil.rmtree(cls.place)

    def hold(self, name):
        serve, file, client = PIECES[name]
        source = self.server.url + file if name == "far" else self.place + "/" + file
        if (serve, source) not in self.least:  # what starting and ending takes is told apart
            self.least[serve, source] = measured(serve, source, nothing)
        # What goes by time is more beside other programs, so it is what the best of three tries costs.
        for _ in range(3):
            costs = measured(serve, source, client)
            costs = costs if name == "mount" else difference(costs, self.least[serve, source])
            if os.environ.get("COSTS") == "all":
                print(json.dumps({"piece": name, **costs}), flush=True)
            said = over(name, costs, typical_costs()[name])
            if not said or any(one.partition(":")[0] not in BY_TIME for one in said):
                break
        self.assertFalse(said, "%s costs more, or less than typical.jsonl says: %s" % (name, "; ".join(said)))


def add_test(name):
    setattr(Costs, "test_" + name, lambda self: self.hold(name))


for one in PIECES:
    add_test(one)
