"""Servers of a mount with -o survive are killed every second under readers.

Readers read at random places of files that they opened before the first kill and of ones that they open
meanwhile, one reads through a mapping, and one lists a directory of many entries with their sizes, some of it
slowly. All pages are dropped before they are read again, so that reads are requests. No operation may fail,
and no reader hang.
"""
import mmap
import os
import random
import shutil
import signal
import time

import h5py
import numpy as np

from harness import Mount, Wrong, forget

MANY = 3000


def arguments(parser):
    parser.set_defaults(readers=16)
    parser.add_argument(
        "--every", type=float, default=1.0, metavar="SECONDS", help="between two kills (default: 1)"
    )
    parser.add_argument("--kills", type=int, help="end after so many; fewer in the minutes are wrong")
    parser.add_argument(
        "--directory", action="store_true", help="mount a directory with three copies of the file"
    )


def make(path):
    """Returns the bytes of each dataset by its path."""
    known, numbers = {}, np.random.default_rng(7)
    with h5py.File(path, "w") as file:

        def add(name, data, **options):
            file.create_dataset(name, data=data, **options)
            known[name] = data.tobytes()

        add("plain", numbers.integers(0, 256, 8 << 20, dtype=np.uint8))
        add(
            "group/cube",
            numbers.integers(0, 50, (64, 256, 256)).astype("<i4"),
            chunks=(4, 64, 64),
            compression="gzip",
            shuffle=True,
        )
        table = np.zeros(200_000, dtype=[("a", "<i4"), ("b", "<f8")])
        table["a"] = np.arange(len(table))
        add("table", table, chunks=(1000,), compression="lzf")
        for i in range(MANY):
            name = f"dataset number {i:05d} with a name of some length" if i % 7 == 0 else f"d{i:05d}"
            add("many/" + name, np.full(1 + i % 5, i, dtype="<i4"))
    return known


def file_reader(roots, known, seed):
    choose, names = random.Random(seed), list(known)
    large = [name for name in names if not name.startswith("many/")]
    root = choose.choice(roots)
    kept = {name: os.open(root / name, os.O_RDONLY) for name in large}

    def piece(descriptor, name):
        forget(descriptor)
        data = known[name]
        offset = choose.randrange(len(data))
        length = min(choose.choice([1, 4096, 100_000, 1 << 20]), len(data) - offset)
        found = os.pread(descriptor, length, offset)
        # A read may end early; what it gives is right, and not nothing.
        if not found or found != data[offset : offset + len(found)]:
            raise Wrong(f"{name}: {length} bytes at {offset} differ")
        return len(found)

    def reading():
        name = choose.choice(large)
        size = piece(kept[name], name)
        name = choose.choice(names)
        descriptor = os.open(choose.choice(roots) / name, os.O_RDONLY)
        try:
            if os.fstat(descriptor).st_size != len(known[name]):
                raise Wrong(f"{name}: its size")
            return {"bytes compared": size + piece(descriptor, name)}
        finally:
            os.close(descriptor)

    return reading


def mapping_reader(roots, known, seed):
    choose, data = random.Random(seed), known["plain"]
    file = open(roots[0] / "plain", "rb")
    mapping = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)

    def mapped():
        mapping.madvise(mmap.MADV_DONTNEED)
        forget(file.fileno())
        for _ in range(50):
            at = choose.randrange(len(data) - 4096)
            if mapping[at : at + 4096] != data[at : at + 4096]:
                raise Wrong(f"4096 bytes at {at} differ")
        return {"bytes of the mapping": 50 * 4096}

    return mapped


def lister(roots, known, seed):
    choose = random.Random(seed)
    sizes = {name[len("many/") :]: len(data) for name, data in known.items() if name.startswith("many/")}

    def listing():
        found, slow = {}, choose.random() < 0.5
        with os.scandir(choose.choice(roots) / "many") as entries:
            for number, entry in enumerate(entries):
                found[entry.name] = entry.stat().st_size
                if slow and number % 300 == 0:
                    time.sleep(0.15)
        if found != sizes:
            raise Wrong(f"{len(found)} names where {len(sizes)} are right")
        return {"names": len(found)}

    return listing


def run(soak):
    options = soak.options
    source = soak.place / "run.h5"
    known = make(source)
    if options.directory:
        (soak.place / "files").mkdir()
        for number in range(3):
            shutil.copy(source, soak.place / f"files/run{number}.h5")
        source = soak.place / "files"
    mount = Mount(soak, source, "survive")
    roots = [mount.point / f"run{number}.h5" for number in range(3)] if options.directory else [mount.point]
    soak.patience = 30
    for number in range(options.readers):
        soak.start(file_reader, roots, known, options.seed * 1000 + number)
    for other in (mapping_reader, lister):
        soak.start(other, roots, known, 99)
    for kills in soak.clock(options.minutes * 60):
        if kills == options.kills:
            break
        time.sleep(options.every)
        pid = int(mount.status()["pid"])
        if kills and pid == mount.pid:
            raise Wrong(f"server {pid} was killed and answers")
        os.kill(pid, signal.SIGKILL)
        mount.pid = pid
        soak.counts["servers killed"] += 1
    # A killed server is one in a second or so; where the machine is loaded, fewer.
    least = options.kills or max(1, options.minutes * 60 / options.every / 3)
    if soak.counts["servers killed"] < least:
        soak.wrong.append(f"{least:.0f} servers killed at least would be right")
    soak.end_readers()
    mount.pid = int(mount.status()["pid"])
    soak.watch(mount)
