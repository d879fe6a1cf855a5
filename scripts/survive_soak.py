#!/usr/bin/env python3
"""Kills the server of a mount with -o survive every second, under readers that compare every byte.

  scripts/survive_soak.py H5MOUNT [--seconds 600] [--readers 16] [--directory] [--every 1.0]

Sixteen readers read at random places of files that they opened before the first kill and of ones that they
open meanwhile, one reads through a mapping, and one lists a directory of many entries with their sizes, some
of it slowly. All pages are dropped before they are read again, so that reads are requests. --directory mounts
a directory with three copies of the file. Fails where an operation fails, a byte differs, or a reader hangs.
"""

import argparse
import mmap
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import h5py
import numpy as np

MANY = 3000


def make_file(path):
    """Returns the bytes of each dataset by its path."""
    expected = {}
    numbers = np.random.default_rng(7)
    with h5py.File(path, "w") as file:
        plain = numbers.integers(0, 256, 8 << 20, dtype=np.uint8)
        file["plain"] = plain
        expected["plain"] = plain.tobytes()
        cube = numbers.integers(0, 50, (64, 256, 256)).astype("<i4")
        file.create_dataset("group/cube", data=cube, chunks=(4, 64, 64), compression="gzip", shuffle=True)
        expected["group/cube"] = cube.tobytes()
        table = np.zeros(200_000, dtype=[("a", "<i4"), ("b", "<f8")])
        table["a"] = np.arange(len(table))
        file.create_dataset("table", data=table, chunks=(1000,), compression="lzf")
        expected["table"] = table.tobytes()
        many = file.create_group("many")
        for i in range(MANY):
            value = np.full(1 + i % 5, i, dtype="<i4")
            many[f"dataset number {i:05d} with a name of some length" if i % 7 == 0 else f"d{i:05d}"] = value
        for name, dataset in many.items():
            expected[f"many/{name}"] = dataset[()].tobytes()
    return expected


class Watched:
    """What a process of the soak says of itself, for the one that waits."""

    def __init__(self):
        self.done = multiprocessing.Value("Q", 0)
        self.failures = multiprocessing.Queue()

    def count(self, number):
        with self.done.get_lock():
            self.done.value += number


def drop_pages(descriptor):
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def guarded(function):
    def run(watched, *rest):
        try:
            function(watched, *rest)
        except Exception as error:  # pylint: disable=broad-except
            watched.failures.put(f"{function.__name__}: {error!r}")

    return run


def compare(watched, descriptor, expected, name, rng):
    offset = rng.randrange(len(expected))
    length = min(rng.choice([1, 4096, 100_000, 1 << 20]), len(expected) - offset)
    found = os.pread(descriptor, length, offset)
    # A read may end early; what it gives is right, and not nothing.
    if not found or found != expected[offset:offset + len(found)]:
        raise AssertionError(f"{name}: {length} bytes at {offset} differ")
    watched.count(len(found))


@guarded
def read_files(watched, roots, expected, until, seed):
    rng = random.Random(seed)
    names = list(expected)
    large = [name for name in names if not name.startswith("many/")]
    root = rng.choice(roots)
    kept = {name: os.open(root / name, os.O_RDONLY) for name in large}
    while time.monotonic() < until:
        name = rng.choice(large)
        drop_pages(kept[name])
        compare(watched, kept[name], expected[name], name, rng)
        name = rng.choice(names)
        descriptor = os.open(rng.choice(roots) / name, os.O_RDONLY)
        try:
            if os.fstat(descriptor).st_size != len(expected[name]):
                raise AssertionError(f"{name}: its size")
            drop_pages(descriptor)
            compare(watched, descriptor, expected[name], name, rng)
        finally:
            os.close(descriptor)


@guarded
def read_mapping(watched, roots, expected, until, seed):
    rng = random.Random(seed)
    bytes_expected = expected["plain"]
    with open(roots[0] / "plain", "rb") as file:
        with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapping:
            while time.monotonic() < until:
                mapping.madvise(mmap.MADV_DONTNEED)
                drop_pages(file.fileno())
                for _ in range(50):
                    at = rng.randrange(len(bytes_expected) - 4096)
                    if mapping[at:at + 4096] != bytes_expected[at:at + 4096]:
                        raise AssertionError(f"mapping: 4096 bytes at {at} differ")
                    watched.count(4096)


@guarded
def list_directories(watched, roots, expected, until, seed):
    rng = random.Random(seed)
    sizes = {name[len("many/"):]: len(data) for name, data in expected.items() if name.startswith("many/")}
    while time.monotonic() < until:
        found = {}
        slow = rng.random() < 0.5
        with os.scandir(rng.choice(roots) / "many") as entries:
            for number, entry in enumerate(entries):
                found[entry.name] = entry.stat().st_size
                if slow and number % 300 == 0:
                    time.sleep(0.15)
        if found != sizes:
            raise AssertionError(f"a listing of {len(found)} names where {len(sizes)} are right")
        watched.count(len(found))


def server_of(mount):
    for line in (mount / ".h5/status").read_text().splitlines():
        if line.startswith("pid: "):
            return int(line[5:])
    raise AssertionError("no line pid: in /.h5/status")


def kill_servers(mount, until, every):
    kills = 0
    before = 0
    while time.monotonic() + every < until:
        time.sleep(every)
        pid = server_of(mount)
        if pid == before:
            raise AssertionError(f"server {pid} was killed and answers")
        os.kill(pid, signal.SIGKILL)
        before = pid
        kills += 1
    return kills


def run_soak(options, place):
    source = place / "run.h5"
    expected = make_file(source)
    mount = place / "mount"
    mount.mkdir()
    roots = [mount]
    if options.directory:
        directory = place / "files"
        directory.mkdir()
        for number in range(3):
            shutil.copy(source, directory / f"run{number}.h5")
        source = directory
        roots = [mount / f"run{number}.h5" for number in range(3)]
    subprocess.run([options.h5mount, "-o", "survive", source, mount], check=True)
    watched = Watched()
    until = time.monotonic() + options.seconds
    workers = [multiprocessing.Process(target=read_files, args=(watched, roots, expected, until, seed))
               for seed in range(options.readers)]
    for other in (read_mapping, list_directories):
        workers.append(multiprocessing.Process(target=other, args=(watched, roots, expected, until, 99)))
    try:
        for worker in workers:
            worker.start()
        kills = kill_servers(mount, until, options.every)
        hanging = 0
        for worker in workers:
            worker.join(max(0.0, until + 30 - time.monotonic()))
            hanging += worker.is_alive()
            worker.kill()
        failures = []
        while not watched.failures.empty():
            failures.append(watched.failures.get())
        peak = next(line for line in (mount / ".h5/status").read_text().splitlines() if "peak" in line)
        print(f"{kills} servers killed in {options.seconds:g} s; {watched.done.value} bytes and names compared; "
              f"{hanging} readers hang; {len(failures)} failures; the last server's {peak}")
        for failure in failures:
            print("  " + failure)
        # A killed server is one in a second or so; where the machine is loaded, fewer.
        return not failures and hanging == 0 and kills >= max(1, options.seconds / options.every / 3)
    finally:
        for worker in workers:
            worker.kill()
        subprocess.run(["umount", "-l", mount] if os.geteuid() == 0 else ["fusermount3", "-uz", mount],
                       check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("h5mount")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--every", type=float, default=1.0)
    parser.add_argument("--readers", type=int, default=16)
    parser.add_argument("--directory", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="h5mount-survive-") as place:
        sys.exit(0 if run_soak(options, Path(place)) else 1)


if __name__ == "__main__":
    main()
