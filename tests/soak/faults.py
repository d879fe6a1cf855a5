"""Mixed readers of one file, and faults of the file system that it lies on.

The file has every kind of storage. Readers do random things with a mount of it, each read compared with what
h5py and NumPy wrote, while the file system gives errors, short reads, delays and reads that hang, and while
the mount is replaced now and then. An error is right only while there are faults, or shortly after.
"""
import errno
import hashlib
import io
import json
import mmap
import os
import random
import stat
import time

import h5py
import numpy as np

from harness import Mount, Wrong, forget, server_of_faults

GRACE = 3.0  # seconds after a fault in which what begins may still meet its errors
CACHE = 32 << 20
MEMORY_BOUND = 32 + 128  # MiB
FILES = 10  # that the tree of the mount has
# A mount that is being replaced has no files, or is another one.
ERRORS = {errno.EIO, errno.EINTR, errno.ETIMEDOUT, errno.ESTALE, errno.ENOTCONN, errno.ENOENT, errno.ENODATA}


def arguments(parser):
    parser.add_argument("--options", help="more options of the mount, as after its -o")
    parser.add_argument(
        "--mount-anew",
        type=float,
        default=120,
        metavar="SECONDS",
        help="how long a mount stays (default: 120)",
    )


def make(path):
    """Writes the file; returns {path in the mount: its bytes}."""
    generator = np.random.default_rng(15)
    known = {}
    with h5py.File(path, "w") as f:

        def add(name, data, **options):
            f.create_dataset(name, data=data, **options)
            known[name] = np.ascontiguousarray(data).tobytes()

        whole, gzip = generator.integers, {"compression": "gzip"}
        add("plain", whole(0, 1000, 2_000_000))
        add("chunked/deflate", whole(0, 1000, (700, 900)), chunks=(64, 128), shuffle=True, **gzip)
        add("chunked/checked", whole(0, 9, 500_000).astype("i4"), chunks=(5000,), fletcher32=True)
        add("chunked/lzf", whole(0, 9, (300, 300, 4)).astype("u2"), chunks=(50, 70, 4), compression="lzf")
        add("chunked/plain", generator.random((500, 400)), chunks=(33, 47))
        add(
            "large",
            whole(0, 100, (64, 512, 512)).astype("i2"),
            chunks=(1, 512, 512),
            compression_opts=1,
            **gzip,
        )
        add("compact", np.arange(100, dtype="i2"))
        words = ["word %d" % (i * i) for i in range(20_000)]
        f.create_dataset("words", data=words, dtype=h5py.string_dtype(), chunks=(500,))
        known["words"] = "".join(word + "\n" for word in words).encode()
        layout = h5py.VirtualLayout((2, 700, 900), "i8")
        for i in range(2):
            layout[i] = h5py.VirtualSource(".", "chunked/deflate", (700, 900))
        f.create_virtual_dataset("view", layout)
        known["view"] = known["chunked/deflate"] * 2
        for i in range(300):
            f.create_group("groups/%03d" % i).attrs["number"] = i
        table = np.empty(5000, np.dtype([("a", "i4"), ("b", "f4")]))
        table["a"], table["b"] = np.arange(5000), np.arange(5000) / 4
        add("table", table, chunks=(400,))
    known[".h5/csv/table.csv"] = ("a,b\n" + "".join("%d,%s\n" % (a, float(b)) for a, b in table)).encode()
    return known


def compare(have, want, where):
    """A read that meets a fault behind its beginning is short, as read(2) has it."""
    if have == want:
        return
    if len(have) < len(want) and want.startswith(have):
        raise OSError(errno.EIO, "short read of " + where)
    raise Wrong(where)


class Reader:
    """What one process does, at random."""

    def __init__(self, mount, known, seed):
        self.mount, self.known, self.random, self.names = mount, known, random.Random(seed), list(known)
        self.digests = {name: hashlib.sha256(data).digest() for name, data in known.items()}
        self.doings = (
            self.whole,
            self.pieces,
            self.pieces,
            self.mapped,
            self.tree,
            self.attributes,
            self.views,
        )

    def __call__(self):
        doing = self.random.choice(self.doings)
        self.__name__ = doing.__name__  # for the report of what was wrong
        doing()
        return {"operations": 1}

    def path(self, name):
        return os.path.join(self.mount, name)

    def content(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def whole(self):
        name = self.random.choice(self.names)
        digest = hashlib.sha256()
        with open(self.path(name), "rb", buffering=0) as file:
            forget(file.fileno())
            while part := file.read(self.random.choice((4096, 65536, 1 << 20))):
                digest.update(part)
        if digest.digest() != self.digests[name]:
            raise Wrong(f"{name}: the whole file")

    def pieces(self):
        name = self.random.choice(self.names)
        data = self.known[name]
        descriptor = os.open(self.path(name), os.O_RDONLY)
        try:
            forget(descriptor)
            for _ in range(20):
                offset, length = self.random.randrange(len(data)), self.random.choice((1, 100, 4096, 70_000))
                compare(
                    os.pread(descriptor, length, offset),
                    data[offset : offset + length],
                    f"{name}: {length} bytes at {offset}",
                )
        finally:
            os.close(descriptor)

    def mapped(self):
        # A fault in a mapping is a signal, so this asks for the bytes by a read first.
        name = self.random.choice(("plain", "chunked/deflate"))
        data = self.known[name]
        with open(self.path(name), "rb") as file:
            offset = self.random.randrange(0, len(data) - 8192, 4096)
            compare(
                os.pread(file.fileno(), 8192, offset),
                data[offset : offset + 8192],
                f"{name}: 8192 bytes at {offset}",
            )
            with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as view:
                if view.size() != len(data):
                    raise Wrong(f"{name}: size {view.size()}")

    def tree(self):
        names = []
        for directory, _, files in os.walk(self.mount, onerror=self.failed):
            names += [os.path.join(directory, file) for file in files]
        if not names:
            raise OSError(errno.ENOENT, "no mount is there, between two")
        # Where a stat fails, os.walk takes a directory for a file.
        if any(stat.S_ISDIR(os.stat(name).st_mode) for name in names):
            raise OSError(errno.EIO, "a stat failed in the walk")
        if len(names) != FILES:
            raise Wrong(f"{len(names)} files")

    def failed(self, error):
        raise error

    def attributes(self):
        number = self.random.randrange(300)
        value = os.getxattr(self.path("groups/%03d" % number), "user.number")
        if value != b"%d" % number:
            raise Wrong(f"attribute {number}: {value}")
        os.listxattr(self.path("large"))

    def views(self):
        array = np.load(io.BytesIO(self.content(".h5/npy/chunked/plain.npy")))
        if array.tobytes() != self.known["chunked/plain"]:
            raise Wrong("chunked/plain.npy")
        for line in self.content(".h5/metadata.jsonl").splitlines():
            json.loads(line)
        row = self.random.randrange(64)
        if self.content(f".h5/slice/large/{row}") != self.known["large"][row * 524288 : (row + 1) * 524288]:
            raise Wrong(f"slice {row} of large")


def rules_of(choose, size):
    """A few faults, at random."""

    def somewhere(most):
        begin = choose.randrange(size)
        return f"{begin} {begin + choose.randrange(1, most)}"

    kinds = {
        "eio": lambda: f"eio {somewhere(200_000)}",
        "short": lambda: f"short {choose.choice((1000, 3333, 70_000))}",
        "delay": lambda: f"delay {choose.choice((1, 5))}",
        "hang": lambda: f"hang {somewhere(50_000)}",
    }
    return {kind: kinds[kind]() for kind in choose.sample(sorted(kinds), choose.randrange(1, 3))}


def run(soak):
    options, choose = soak.options, random.Random(soak.options.seed)
    soak.errors, soak.by_begin = ERRORS, True
    source, faulty = soak.place / "source", soak.place / "faulty"
    source.mkdir()
    known = make(source / "f.h5")
    size = os.path.getsize(source / "f.h5")
    rules = server_of_faults(soak, source, faulty)
    mount = Mount(soak, faulty / "f.h5", f"cache_size={CACHE}", *filter(None, [options.options]))
    # What hangs must go on, for the readers to end.
    soak.before_readers_end.callback(rules.write_text, "")
    for number in range(options.readers):
        soak.start(Reader, mount.point, known, options.seed * 1000 + number)
    mounted = time.monotonic()
    for _ in soak.clock(options.minutes * 60, mount):
        time.sleep(choose.uniform(2, 6))
        made = rules_of(choose, size)
        soak.faults_may_show(True)
        following = rules.with_suffix(".next")
        following.write_text("\n".join(made.values()) + "\n")
        os.rename(following, rules)
        soak.counts.update("fault: " + kind for kind in made)
        time.sleep(choose.uniform(1, 4))
        rules.write_text("")
        soak.faults_may_show(False, GRACE)
        soak.watch(mount)
        if time.monotonic() - mounted > options.mount_anew:
            soak.faults_may_show(True)
            mount.again()
            soak.faults_may_show(False, GRACE)
            mounted = time.monotonic()
    peak = max((sizes["MiB of memory"] for sizes in soak.sizes), default=0)
    if peak > MEMORY_BOUND:
        soak.wrong.append(f"a peak of {peak} MiB of memory, {MEMORY_BOUND} allowed")
