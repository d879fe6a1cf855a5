#!/usr/bin/env python3
"""Reads many files of one mount while they are added, replaced, rewritten, cut and removed.

    many_files_soak.py PROGRAM [--seconds N] [--readers N] [--files N] [--max-open N]

Each file has one dataset whose bytes are all the same and say which version of which file it is, so that bytes of two
versions, or of another file, are seen at once. Every fourth file is never touched: reading one of these must not fail.
Others may fail with ESTALE, EIO or ENOENT where they were changed. Prints counts; the exit code is 1 where a byte was
wrong, or a file failed that nobody touched.
"""
import argparse, errno, os, random, shutil, subprocess, sys, tempfile, threading, time

import h5py
import numpy as np

BYTES = 40_000
ALLOWED = {errno.ESTALE, errno.EIO, errno.ENOENT, errno.ENOTDIR}


def write(path, number, version, how):
    with h5py.File(path, "w") as file:
        data = np.full(BYTES, version, "u1")
        data[:4] = np.frombuffer(number.to_bytes(4, "little"), "u1")
        file.create_dataset("d", data=data, **how)


class Soak:
    def __init__(self, arguments, source, mount):
        self.arguments, self.source, self.mount = arguments, source, mount
        self.stop = False
        self.lock = threading.Lock()
        self.counts = {"reads": 0, "errors": 0, "wrong": 0, "failed_untouched": 0, "changes": 0}

    def count(self, **more):
        with self.lock:
            for name, number in more.items():
                self.counts[name] += number

    def name(self, number):
        return os.path.join("d%02d" % (number % 20), "f%05d.h5" % number)

    def path(self, number):
        return os.path.join(self.source, self.name(number))

    def how(self, number):
        return {} if number % 2 else {"chunks": (5_000,), "compression": "gzip", "compression_opts": 1}

    def make(self):
        for number in range(self.arguments.files):
            os.makedirs(os.path.dirname(self.path(number)), exist_ok=True)
            write(self.path(number), number, 1, self.how(number))

    def change(self, number, version, spare):
        """One change of a file that may be touched."""
        path, kind = self.path(number), random.randrange(5)
        if kind == 0 and os.path.exists(path):
            os.unlink(path)
        elif kind == 1 and os.path.exists(path):
            os.truncate(path, random.randrange(os.path.getsize(path) + 1))
        elif kind == 2:  # in place
            write(spare, number, version, self.how(number))
            with open(spare, "rb") as new, open(path, "r+b" if os.path.exists(path) else "wb") as old:
                old.write(new.read())
                old.truncate()
        else:
            write(spare, number, version, self.how(number))
            os.rename(spare, path)

    def changer(self):
        version, spare = 1, os.path.join(self.source, "spare.tmp")
        while not self.stop:
            number = random.randrange(self.arguments.files)
            if number % 4 == 0:
                continue
            version = version % 250 + 1
            self.change(number, version, spare)
            self.count(changes=1)
            time.sleep(0.01)

    def check(self, number, data):
        own = number.to_bytes(4, "little")
        return len(data) == BYTES and data[:4] == own and data[4:] == data[4:5] * (BYTES - 4)

    def reader(self):
        while not self.stop:
            number = random.randrange(self.arguments.files)
            direct = os.O_DIRECT if random.randrange(3) == 0 else 0
            data = b""
            try:
                fd = os.open(os.path.join(self.mount, self.name(number), "d"), os.O_RDONLY | direct)
                try:
                    while len(data) < BYTES:
                        piece = os.pread(fd, 8_192, len(data))
                        if not piece:
                            break
                        data += piece
                finally:
                    os.close(fd)
            except OSError as error:
                untouched = number % 4 == 0 or error.errno not in ALLOWED
                if untouched:
                    print("failed", self.name(number), error, flush=True)
                self.count(errors=1, failed_untouched=int(untouched))
                continue
            right = self.check(number, data)
            if not right:
                print("wrong", self.name(number), len(data), sorted(set(data[4:]))[:5], flush=True)
            self.count(reads=1, wrong=int(not right))

    def run(self):
        threads = [threading.Thread(target=self.reader) for _ in range(self.arguments.readers)]
        threads.append(threading.Thread(target=self.changer))
        for thread in threads:
            thread.start()
        time.sleep(self.arguments.seconds)
        self.stop = True
        for thread in threads:
            thread.join()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--readers", type=int, default=20)
    parser.add_argument("--files", type=int, default=1_000)
    parser.add_argument("--max-open", type=int, default=64)
    arguments = parser.parse_args()
    place = tempfile.mkdtemp(prefix="h5mount-soak-")
    source, mount = os.path.join(place, "source"), os.path.join(place, "mount")
    os.mkdir(mount)
    soak = Soak(arguments, source, mount)
    soak.make()
    subprocess.run([arguments.program, "-o", "max_open=%d" % arguments.max_open, source, mount], check=True)
    try:
        soak.run()
        with open(os.path.join(mount, ".h5", "status"), encoding="utf-8") as status:
            told = dict(line.rstrip().split(": ", 1) for line in status)
    finally:
        subprocess.run(["umount", mount], check=False)
        shutil.rmtree(source)
    print(soak.counts, {name: told[name] for name in ("open_files", "files_in_memory", "peak_memory_kib")})
    sys.exit(1 if soak.counts["wrong"] or soak.counts["failed_untouched"] else 0)


main()
