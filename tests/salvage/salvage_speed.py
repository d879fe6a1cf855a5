#!/usr/bin/python3
"""Times the sweep of salvage, and its memory, on two files that it makes.

usage: salvage_speed.py H5MOUNT [--bytes N] [--structures N] [--work DIR]

The first file has `bytes` of chunks without compression and no superblock; beside it `cat` of the same file,
which lies in the page cache for both. The second has so many object headers of empty groups to which nothing
links, one behind another.
"""
import argparse, os, shutil, subprocess, tempfile, time

import h5py
import numpy as np


def most_memory(process):
    """VmHWM, in KiB; what wait4 tells includes this program's own memory, as it was when it forked."""
    try:
        with open(f"/proc/{process.pid}/status") as status:
            return next((int(line.split()[1]) for line in status if line.startswith("VmHWM")), 0)
    except OSError:
        return 0


def timed(command):
    """Seconds, CPU seconds and the most memory of a command, in MiB."""
    begin, most = time.monotonic(), 0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while True:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid != 0:
            break
        most = max(most, most_memory(process))
        time.sleep(0.01)
    process.returncode = os.waitstatus_to_exitcode(status)
    return time.monotonic() - begin, used.ru_utime + used.ru_stime, most / 1024, process.returncode


def tell(what, size, result):
    took, cpu, most, code = result
    print(
        (
            f"{what:44} {took:7.2f} s {size / took / 1e9:6.2f} GB/s, CPU {cpu:6.2f} s, {most:7.0f} MiB,"
            f" status {code}"
        ),
        flush=True,
    )


def write_large(path, size):
    rows = size // (1 << 20)
    block = np.random.default_rng(1).integers(0, 1 << 30, (64, 1 << 17))  # 64 chunks of 1 MiB
    with h5py.File(path, "w", libver="latest") as file:
        data = file.create_dataset("data", (rows, 1 << 17), "i8", chunks=(1, 1 << 17))
        for at in range(0, rows, 64):
            data[at : at + 64] = block[: min(64, rows - at)] + at
    with open(path, "r+b") as file:
        file.write(bytes(48))


def write_tiny(path, count):
    """A file, and behind it copies of the header of a group without members, which has no address in it."""
    with h5py.File(path, "w", libver="latest") as file:
        address = h5py.h5o.get_info(file.create_group("empty").id).addr
    with open(path, "r+b") as file:
        data = file.read()
        end = next((at for at in (data.find(b"OHDR", address + 4), len(data)) if at > 0))
        header = data[address:end]
        file.seek(0, os.SEEK_END)
        for _ in range(0, count, 10_000):
            file.write(header * 10_000)
    return len(header)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("h5mount")
    parser.add_argument("--bytes", type=int, default=4 << 30)
    parser.add_argument("--structures", type=int, default=10_000_000)
    parser.add_argument("--work")
    arguments = parser.parse_args()
    work = tempfile.mkdtemp(prefix="salvage-speed-", dir=arguments.work)
    path = os.path.join(work, "file.h5")
    try:
        write_large(path, arguments.bytes)
        size = os.path.getsize(path)
        tell("cat, once to warm the cache", size, timed(["cat", path]))
        tell(f"cat of {size} bytes", size, timed(["cat", path]))
        tell("salvage of the same", size, timed([arguments.h5mount, "--list", "-R", "-o", "salvage", path]))
        os.remove(path)
        each = write_tiny(path, arguments.structures)
        size = os.path.getsize(path)
        tell(f"cat of {arguments.structures} headers of {each} bytes", size, timed(["cat", path]))
        tell("salvage of the same", size, timed([arguments.h5mount, "--list", "-o", "salvage", path, "/"]))
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
