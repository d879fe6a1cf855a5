#!/usr/bin/env python3
"""Figures of following a SWMR file through a mount; see swmr_soak.sh."""
import array
import hashlib
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

build, frames = sys.argv[1], int(sys.argv[2])
only = sys.argv[3:] or ["tail", "restart", "latency", "idle", "cost"]
writer = os.path.join(build, "tests/swmr/swmr_writer")
program = os.path.join(build, "src/cli/h5mount")
place = tempfile.mkdtemp(prefix="h5mount-soak-")
mountpoint = os.path.join(place, "mnt")
os.mkdir(mountpoint)


def words(**options):
    return [f"{name}={value}" for name, value in options.items()]


def create(path, **options):
    subprocess.run([writer, path, "create=1", *words(**options)], check=True)


def start(path, **options):
    return subprocess.Popen([writer, path, "restart=1", *words(**options)])


class Mount:
    """Runs the program in the foreground, so that its process can be measured."""

    def __init__(self, path):
        for _ in range(100):
            self.process = subprocess.Popen([program, "-f", path, mountpoint], stderr=subprocess.PIPE)
            for _ in range(100):
                if os.path.ismount(mountpoint) or self.process.poll() is not None:
                    break
                time.sleep(0.02)
            if self.process.poll() is None:
                return
            time.sleep(0.05)  # the writer has not set the file's status flags yet
        raise SystemExit(self.process.stderr.read().decode())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", mountpoint])
        self.process.wait(timeout=10)

    def cpu(self):
        fields = open(f"/proc/{self.process.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def read_bytes(self):
        return int(re.search(r"rchar: (\d+)", open(f"/proc/{self.process.pid}/io").read()).group(1))


def image(count, elements):
    values = array.array("H")
    for frame in range(count):
        step, first = frame % 97 + 1, frame * 2654435761
        values.extend((first + i * step) & 0xFFFF for i in range(elements))
    return values.tobytes()


def wait_for(condition, seconds):
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.02)
    return condition()


def measure_tail():
    elements, right = 8 * 16, hashlib.sha256(image(frames, 8 * 16)).hexdigest()
    print(f"== tail -c +1 -f of {frames} frames")
    for index in ("ea", "bt2", "fa"):
        for filter_name in ("none", "deflate"):
            path, out = os.path.join(place, "tail.h5"), os.path.join(place, "out")
            options = dict(index=index, filter=filter_name, frames=frames, chunk=16)
            create(path, **options)
            process = start(path, flush=4, rate=1000, **options)
            with Mount(path), open(out, "wb") as sink:
                tail = subprocess.Popen(["tail", "-s", "0.2", "-c", "+1", "-f", os.path.join(mountpoint, "frames")], stdout=sink)
                process.wait()
                wait_for(lambda: os.path.getsize(out) >= frames * elements * 2, 20)
                time.sleep(0.5)
                tail.kill()
                tail.wait()
            got = hashlib.sha256(open(out, "rb").read()).hexdigest()
            print(f"{index:4} {filter_name:8} {os.path.getsize(out):9} bytes  {'equal' if got == right else 'DIFFERENT'} {got[:16]}", flush=True)
            os.unlink(path)


def measure_restart(rounds=30, most=100000):
    """The writer is killed at random moments and restarted under one mount, with h5clear in between every second
    time."""
    print(f"== writers killed and restarted {rounds} times each")
    randomly = random.Random(6)
    for index in ("ea", "bt2", "fa"):
        for filter_name in ("none", "deflate"):
            path, target = os.path.join(place, "restart.h5"), os.path.join(mountpoint, "frames")
            options = dict(index=index, filter=filter_name, chunk=16, frames=most, rate=1000)
            create(path, **options)
            process, wrong, states, refused, errors = start(path, **options), 0, 0, 0, 0
            with Mount(path):
                right = b""
                for number in range(rounds):
                    time.sleep(randomly.uniform(0.05, 0.4))
                    process.kill()
                    process.wait()
                    if number % 2 == 0:
                        refused += subprocess.run(["h5clear", "-s", "--increment=0", path]).returncode != 0
                    process = start(path, clear=1, **options)
                    before = os.path.getsize(path)
                    wait_for(lambda: os.path.getsize(path) > before or process.poll() is not None, 10)
                    refused += process.poll() is not None
                    time.sleep(0.3)
                    states += 1
                    try:
                        got = open(target, "rb").read()
                    except OSError:  # the file that the writer left is damaged
                        errors += 1
                        continue
                    if len(got) > len(right):
                        right = image(len(got) // 256 + 5000, 128)
                    if not right.startswith(got):
                        wrong += sum(a != b and a != 0 for a, b in zip(got, right))
                process.kill()
                process.wait()
                time.sleep(1)
                count = os.path.getsize(target) // 256 + 100
                ended = subprocess.run([writer, path, "restart=1", *words(clear=1, **{**options, "rate": 0, "frames": count})]).returncode
                right = image(count, 128)
                wait_for(lambda: os.path.getsize(target) >= len(right), 2)
                got = open(target, "rb").read()
                differs = [i // 256 for i in range(0, max(len(got), len(right)), 256) if got[i:i + 256] != right[i:i + 256]]
            print(f"{index:4} {filter_name:8} {count:6} frames  {states} restarts, {refused} refused, {errors} errors, {wrong} wrong bytes, "
                  f"at the end {'equal' if not differs and ended == 0 else f'DIFFERENT: {len(got)} bytes, writer {ended}, frames {differs[:5]}'}", flush=True)
            os.unlink(path)


def latencies(log, seen):
    out = []
    for line in open(log):
        count, at = map(int, line.split())
        if count in seen and count > 20:
            out.append((seen[count] - at) / 1e6)
    return f"median {statistics.median(out):6.1f} ms  p99 {sorted(out)[int(len(out) * 0.99)]:6.1f} ms  ({len(out)} flushes)"


def measure_latency():
    print("== from flush to visible, 20 flushes a second, polled every 10 ms")
    for reader in ("mount", "h5py", "mount, polled every 100 ms"):
        path, log = os.path.join(place, "latency.h5"), os.path.join(place, "latency.log")
        if os.path.exists(log):
            os.unlink(log)
        create(path, frames=600, chunk=16, filter="deflate")
        process = start(path, frames=600, chunk=16, filter="deflate", rate=20, log=log)
        seen, have = {}, 0
        if reader == "h5py":
            try:
                import h5py
            except ImportError:
                process.wait()
                print("no h5py here")
                continue
            time.sleep(0.3)
            file = h5py.File(path, "r", libver="latest", swmr=True)
            dataset = file["frames"]
            while have < 600 and (process.poll() is None or have < 600):
                dataset.refresh()
                now = dataset.shape[0]
                if now > have:
                    dataset[now - 1]
                    seen.update(dict.fromkeys(range(have + 1, now + 1), time.monotonic_ns()))
                    have = now
                time.sleep(0.01)
            file.close()
        else:
            pause = 0.1 if "100" in reader else 0.01
            with Mount(path):
                fd = os.open(os.path.join(mountpoint, "frames"), os.O_RDONLY)
                while have < 600:
                    now = os.fstat(fd).st_size // 256
                    if now > have:
                        os.pread(fd, 256, (now - 1) * 256)
                        seen.update(dict.fromkeys(range(have + 1, now + 1), time.monotonic_ns()))
                        have = now
                    time.sleep(pause)
                os.close(fd)
        process.wait()
        print(f"{reader:28} {latencies(log, seen)}", flush=True)


def measure_idle(seconds=30):
    print(f"== an idle SWMR file, mounted, one dataset open: system calls in {seconds} s")
    path = os.path.join(place, "idle.h5")
    create(path, frames=1000000)
    process = start(path, frames=1000000, rate=1000)
    with Mount(path) as mount:
        time.sleep(1)
        fd = os.open(os.path.join(mountpoint, "frames"), os.O_RDONLY)
        os.read(fd, 65536)
        process.kill()
        process.wait()
        time.sleep(2)
        before = mount.cpu()
        trace = subprocess.run(["timeout", "-s", "INT", str(seconds), "strace", "-f", "-c", "-p", str(mount.process.pid)],
                               capture_output=True, text=True).stderr
        os.close(fd)
        total = re.search(r"^100\.00\s+\S+\s+\S*\s+(\d+)", trace, re.M)
        print(f"{total.group(1) if total else 0} calls, {mount.cpu() - before:.2f} s of processor", flush=True)


def measure_cost():
    print("== 32 MiB appended in frames of 128 KiB, 50 flushes a second, followed by tail -f")
    for name, base in (("2 MiB file", 16), ("2 GiB file", 16384)):
        path = os.path.join(place, "cost.h5")
        options = dict(height=256, width=256, chunk=1, filter="none")
        create(path, frames=base, **options)
        subprocess.run([writer, path, "restart=1", *words(frames=base, flush=1000, **options)], check=True)
        process = start(path, frames=base + 1, **options)
        process.wait()
        process = start(path, frames=base + 257, rate=50, **options)
        with Mount(path) as mount:
            target = os.path.join(mountpoint, "frames")
            tail = subprocess.Popen(["tail", "-s", "0.2", "-c", "1", "-f", target], stdout=subprocess.DEVNULL)
            time.sleep(1)
            first, cpu, read = os.stat(target).st_size, mount.cpu(), mount.read_bytes()
            process.wait()
            time.sleep(1.5)
            grown = (os.stat(target).st_size - first) / 2**20
            tail.kill()
            tail.wait()
            print(f"{name}: {grown:.0f} MiB new, {(mount.read_bytes() - read) / 2**20 / grown:.2f} MiB read and "
                  f"{(mount.cpu() - cpu) * 1000 / grown:.1f} ms of processor for each of them", flush=True)
        os.unlink(path)


for part in only:
    globals()[f"measure_{part}"]()
subprocess.run(["rm", "-rf", place])
