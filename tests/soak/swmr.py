"""Figures of following live SWMR files, for longer than the tests do.

Every byte through `tail -f` for each index type, writers killed and restarted, the time from flush to visible
beside h5py's, the cost of an idle mount and of an appended megabyte in a small and a large file, and a long
replay of torn writes. Goes by frames, not by minutes or readers. Needs a build with tests, h5clear and
strace.
"""
import array
import contextlib
import os
import random
import re
import statistics
import subprocess
import time

import h5py

from harness import Mount, until

PARTS = ("tail", "restart", "latency", "idle", "cost", "replay")
KINDS = [(index, packed) for index in ("ea", "bt2", "fa") for packed in ("none", "deflate")]
FRAME = 256  # bytes
ENDLESS = 100_000  # frames of a writer that is killed


def arguments(parser):
    parser.add_argument("--frames", type=int, default=10_000, help="of each file (default: 10000)")
    parser.add_argument("--restarts", type=int, default=30, help="of each kind of file (default: 30)")
    parser.add_argument(
        "--only", type=lambda said: said.split(","), default=PARTS, metavar="PART,…", help=", ".join(PARTS)
    )


def image(count):
    """The bytes of so many frames."""
    values = array.array("H")
    for frame in range(count):
        step, first = frame % 97 + 1, frame * 2654435761
        values.extend((first + i * step) & 0xFFFF for i in range(FRAME // 2))
    return values.tobytes()


class File:
    """A file that tests/swmr/writer.cpp writes, and a mount of it."""

    def __init__(self, soak, **options):
        self.soak, self.options = soak, options
        self.path, self.frames = soak.place / "live.h5", soak.place / "mount/frames"
        self.process = None
        self.write("create=1", {}).wait()

    def write(self, how="restart=1", more=None):
        words = [f"{name}={value}" for name, value in {**self.options, **(more or {})}.items()]
        self.process = subprocess.Popen([self.soak.build / "tests/swmr/swmr_writer", self.path, how, *words])
        return self.process

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        # A writer that has just begun has not set the file's status flags yet.
        self.mount = Mount(self.soak, self.path, tries=100)
        return self

    def __exit__(self, *_):
        self.kill()
        self.mount.end()
        self.path.unlink()

    def follow(self, begin, out):
        """`tail -f` of the frames."""
        return subprocess.Popen(["tail", "-s", "0.2", "-c", begin, "-f", self.frames], stdout=out)

    def processor(self):
        """Seconds that the mount has taken so far."""
        with open(f"/proc/{self.mount.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def read_bytes(self):
        with open(f"/proc/{self.mount.pid}/io") as file:
            return int(re.search(r"rchar: (\d+)", file.read()).group(1))


def end(process):
    process.kill()
    process.wait()


def tail(soak):
    frames, out = soak.options.frames, soak.place / "out"
    right = image(frames)
    for index, packed in KINDS:
        file = File(soak, index=index, filter=packed, frames=frames, chunk=16)
        writer = file.write(more={"flush": 4, "rate": 1000})
        with file, open(out, "wb") as sink:
            follower = file.follow("+1", sink)
            writer.wait()
            until(lambda: os.path.getsize(out) >= len(right), 20)
            time.sleep(0.5)
            end(follower)
        got = out.read_bytes()
        print(f"{index:4} {packed:8} {len(got):9} bytes", flush=True)
        soak.counts["bytes through tail -f"] += len(got)
        if got != right:
            soak.wrong.append(f"tail -f of {index} {packed}: {len(got)} bytes where {len(right)} are right")


def restart(soak):
    """The writer is killed at random moments and restarted under one mount, with h5clear in between every
    second time."""
    choose, right = random.Random(soak.options.seed), b""
    for index, packed in KINDS:
        file, errors, refused = (
            File(soak, index=index, filter=packed, chunk=16, frames=ENDLESS, rate=1000),
            0,
            0,
        )
        what = f"{index} {packed}"
        file.write()
        with file:
            for number in range(soak.options.restarts):
                time.sleep(choose.uniform(0.05, 0.4))
                file.kill()
                if number % 2 == 0:
                    refused += subprocess.run(["h5clear", "-s", "--increment=0", file.path]).returncode != 0
                before = os.path.getsize(file.path)
                writer = file.write(more={"clear": 1})
                until(lambda: os.path.getsize(file.path) > before or writer.poll() is not None, 10)
                refused += writer.poll() is not None
                time.sleep(0.3)
                try:
                    got = file.frames.read_bytes()
                except OSError:  # the file that the writer left is damaged
                    errors += 1
                    continue
                if len(got) > len(right):
                    right = image(len(got) // FRAME + 5000)
                if wrong := (
                    sum(a not in (b, 0) for a, b in zip(got, right)) if got != right[: len(got)] else 0
                ):
                    soak.wrong.append(f"{what}: {wrong} wrong bytes after {number + 1} restarts")
            # A writer that is killed before it has begun SWMR leaves a file that is stale.
            until(lambda: os.path.exists(file.frames), 20)
            file.kill()
            time.sleep(1)
            count = os.path.getsize(file.frames) // FRAME + 100
            ended = file.write(more={"clear": 1, "rate": 0, "frames": count}).wait()
            whole = image(count)
            until(lambda: os.path.getsize(file.frames) >= len(whole), 2)
            got = file.frames.read_bytes()
            if ended or got != whole:
                soak.wrong.append(f"{what}: writer {ended}, {len(got)} bytes at the end, of {len(whole)}")
        print(f"{what:12} {count:6} frames, {refused} refused, {errors} errors", flush=True)
        soak.counts["restarts"] += soak.options.restarts


def latency(soak):
    """From flush to visible, of 20 flushes a second."""
    log = soak.place / "log"
    count = min(600, soak.options.frames)
    for reader, pause in (("mount", 0.01), ("h5py", 0.01), ("mount, polled every 100 ms", 0.1)):
        log.unlink(missing_ok=True)
        file = File(soak, frames=count, chunk=16, filter="deflate")
        writer = file.write(more={"rate": 20, "log": log})
        with contextlib.ExitStack() as stack:
            if reader == "h5py":
                time.sleep(0.3)  # the writer has to have begun
                dataset = stack.enter_context(h5py.File(file.path, "r", libver="latest", swmr=True))["frames"]
            else:
                stack.enter_context(file)
                fd = os.open(file.frames, os.O_RDONLY)
                stack.callback(os.close, fd)
            seen, have = {}, 0
            while have < count:
                if reader == "h5py":
                    dataset.refresh()
                now = dataset.shape[0] if reader == "h5py" else os.fstat(fd).st_size // FRAME
                if now > have:
                    dataset[now - 1] if reader == "h5py" else os.pread(fd, FRAME, (now - 1) * FRAME)
                    seen.update(dict.fromkeys(range(have + 1, now + 1), time.monotonic_ns()))
                    have = now
                time.sleep(pause)
        writer.wait()
        flushes = (map(int, line.split()) for line in log.read_text().splitlines())
        late = sorted((seen[frame] - at) / 1e6 for frame, at in flushes if frame in seen and frame > 20)
        print(
            (
                f"{reader:28} median {statistics.median(late):6.1f} ms  p99"
                f" {late[int(len(late) * .99)]:6.1f} ms  ({len(late)} flushes)"
            ),
            flush=True,
        )


def idle(soak, seconds=30):
    """System calls of a mount whose file's writer has died, with one dataset open."""
    file = File(soak, frames=1_000_000)
    file.write(more={"rate": 1000})
    with file:
        time.sleep(1)
        with open(file.frames, "rb") as frames:
            frames.read(65536)
            file.kill()
            time.sleep(2)
            before = file.processor()
            trace = subprocess.run(
                ["timeout", "-s", "INT", str(seconds), "strace", "-f", "-c", "-p", str(file.mount.pid)],
                capture_output=True,
                text=True,
            ).stderr
        total = re.search(r"^100\.00\s+\S+\s+\S*\s+(\d+)", trace, re.M)
        print(
            (
                f"{total.group(1) if total else 0} calls in {seconds} s, {file.processor() - before:.2f} s of"
                " processor"
            ),
            flush=True,
        )


def cost(soak):
    """32 MiB appended in frames of 128 KiB, 50 flushes a second, followed by tail -f."""
    for name, base in (("2 MiB file", 16), ("2 GiB file", 16384)):
        file = File(soak, height=256, width=256, chunk=1, filter="none", frames=base)
        file.write(more={"flush": 1000}).wait()
        file.write(more={"frames": base + 1}).wait()
        writer = file.write(more={"frames": base + 257, "rate": 50})
        with file:
            follower = file.follow("1", subprocess.DEVNULL)
            time.sleep(1)
            first, processor, read = os.path.getsize(file.frames), file.processor(), file.read_bytes()
            writer.wait()
            time.sleep(1.5)
            grown = (os.path.getsize(file.frames) - first) / 2**20
            print(
                (
                    f"{name}: {grown:.0f} MiB new, {(file.read_bytes() - read) / 2**20 / grown:.2f} MiB read"
                    f" and {(file.processor() - processor) * 1000 / grown:.1f} ms of processor for each"
                ),
                flush=True,
            )
            end(follower)


def replay(soak):
    """Torn at every 512 bytes."""
    done = subprocess.run(
        [soak.build / "tests/swmr/swmr_replay_test"],
        capture_output=True,
        text=True,
        env={**os.environ, "SWMR_REPLAY_FRAMES": str(soak.options.frames // 10)},
    )
    print(
        "".join(
            line
            for line in done.stdout.splitlines(True)
            if re.match("ea|bt2|fa", line) or "PASSED" in line or "FAILED" in line
        ),
        end="",
    )
    if done.returncode:
        soak.wrong.append(f"replay: exit code {done.returncode}")


def run(soak):
    for part in soak.options.only:
        print("== " + part, flush=True)
        globals()[part](soak)
