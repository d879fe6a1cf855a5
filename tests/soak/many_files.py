"""Many files of one mount, read while they are added, replaced, rewritten, cut and removed.

Each file has one dataset whose bytes are all the same and say which version of which file it is, so that
bytes of two versions, or of another file, are seen at once. Every fourth file is never touched: reading one
of these must not fail. Others may fail with ESTALE, EIO, ENOENT or ENOTDIR where they were changed.
"""
import errno
import os
import random
import time

import h5py
import numpy as np

from harness import Mount, Wrong

BYTES = 40_000
ALLOWED = {errno.ESTALE, errno.EIO, errno.ENOENT, errno.ENOTDIR}


def arguments(parser):
    parser.set_defaults(readers=20)
    parser.add_argument("--files", type=int, default=1_000)
    parser.add_argument("--max-open", type=int, default=64, help="the mount's max_open (default: 64)")


def name_of(number):
    return "d%02d/f%05d.h5" % (number % 20, number)


def write(path, number, version):
    how = {} if number % 2 else {"chunks": (5_000,), "compression": "gzip", "compression_opts": 1}
    with h5py.File(path, "w") as file:
        data = np.full(BYTES, version, "u1")
        data[:4] = np.frombuffer(number.to_bytes(4, "little"), "u1")
        file.create_dataset("d", data=data, **how)


def changer(source, files, seed):
    choose, version, spare = random.Random(seed), [1], source / "spare.tmp"

    def changing():
        number = choose.randrange(files)
        if number % 4 == 0:
            return {}
        version[0] = version[0] % 250 + 1
        path, kind = source / name_of(number), choose.randrange(5)
        if kind == 0 and path.exists():
            path.unlink()
        elif kind == 1 and path.exists():
            os.truncate(path, choose.randrange(os.path.getsize(path) + 1))
        else:
            write(spare, number, version[0])
            if kind == 2:  # in place
                with open(path, "r+b" if path.exists() else "wb") as old:
                    old.write(spare.read_bytes())
                    old.truncate()
            else:
                os.rename(spare, path)
        time.sleep(0.01)
        return {"changes": 1}

    return changing


def reader(point, files, seed):
    choose = random.Random(seed)

    def content(path):
        data = b""
        fd = os.open(path, os.O_RDONLY | (os.O_DIRECT if choose.randrange(3) == 0 else 0))
        try:
            while len(data) < BYTES and (piece := os.pread(fd, 8_192, len(data))):
                data += piece
        finally:
            os.close(fd)
        return data

    def reading():
        number = choose.randrange(files)
        try:
            data = content(point / name_of(number) / "d")
        except OSError as error:
            if number % 4 == 0 or error.errno not in ALLOWED:
                raise
            return {"errors of files that are changed": 1}
        own = number.to_bytes(4, "little")
        if len(data) != BYTES or data[:4] != own or data[4:] != data[4:5] * (BYTES - 4):
            raise Wrong(f"{name_of(number)}: {len(data)} bytes, {sorted(set(data[4:]))[:5]}")
        return {"reads": 1}

    return reading


def run(soak):
    options, source = soak.options, soak.place / "source"
    for number in range(options.files):
        (source / name_of(number)).parent.mkdir(parents=True, exist_ok=True)
        write(source / name_of(number), number, 1)
    mount = Mount(soak, source, f"max_open={options.max_open}")
    for number in range(options.readers):
        soak.start(reader, mount.point, options.files, options.seed * 1000 + number)
    soak.start(changer, source, options.files, options.seed)
    for _ in soak.clock(options.minutes * 60, mount):
        time.sleep(min(5, options.minutes * 10))
        soak.watch(mount)
    status = mount.status()
    print(
        ", ".join(f"{name}: {status[name]}" for name in ("open_files", "files_in_memory", "peak_memory_kib"))
    )
