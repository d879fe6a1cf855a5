#!/usr/bin/env python3
"""Rounds, requests, bytes and seconds of far files: h5mount beside other ways to read HDF5 from a server.

    far_rounds.py H5MOUNT [--delay 0.08] [--objects 10000] [--limit 60] [--only FILE…] [--ways WAY…]
    [--directory DIR]

The server of tests/remote answers each request after a delay. Rounds are the longest chain of requests of
which each came after the one before was answered: so many delays nobody could have avoided who asked for the
same. A step that takes longer than --limit seconds is ended there, and its row says how far it came. Prints a
table of Markdown.

Ways: h5mount (a mount), references (a mount, of which references.json is read), rclone, httpdirfs (mounts,
read by h5py), fsspec (h5py over its file objects), plain (h5py over a file object that asks for each read),
ros3 (libhdf5's own driver, where h5py has it).
"""
import argparse, io, json, os, subprocess, sys, tempfile, time, urllib.parse, urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
WAYS = ["h5mount", "references", "plain", "fsspec", "ros3", "rclone", "httpdirfs"]


# ---- the files


def make_contiguous(path):
    import h5py, numpy as np

    with h5py.File(path, "w") as file:
        file.create_dataset("d", data=np.arange(16 << 20, dtype="<i4"))


def make_many_chunks(path, libver):
    sys.path.insert(0, HERE)
    import make_data

    make_data.make_many_chunks(path, 1_000_000, libver)


def keep_links_in_header(create):
    """Of a group, however many. h5py before 3.9 lacks the call, so the library that it has loaded is
    asked."""
    import ctypes

    with open("/proc/self/maps") as maps:
        library = next(line.split()[-1] for line in maps if "/libhdf5" in line and "_hl" not in line)
    if ctypes.CDLL(library).H5Pset_link_phase_change(ctypes.c_int64(create.id), 65535, 0) < 0:
        raise RuntimeError("links cannot be kept in the header")


def make_objects(path, kind, count):
    """Datasets of 200 KB whose bytes nobody wrote: a header, then a hole."""
    import h5py

    with h5py.File(path, "w", libver="earliest" if kind == "old" else "latest") as file:
        create = h5py.h5p.create(h5py.h5p.GROUP_CREATE)
        if kind == "compact":
            keep_links_in_header(create)
        group = h5py.Group(h5py.h5g.create(file.id, b"g", gcpl=create))
        space, own = h5py.h5s.create_simple((200_000,)), h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        own.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        own.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        for i in range(count):
            h5py.h5d.create(group.id, b"event%06d" % i, h5py.h5t.STD_U8LE, space, dcpl=own)


def make_paged(path, count):
    """As NASA's files since 2025: pages of structures apart from pages of data."""
    import h5py, numpy as np

    words = h5py.string_dtype()
    with h5py.File(path, "w", libver="latest", fs_strategy="page", fs_page_size=1 << 20) as file:
        for i in range(count // 10):
            group = file.create_group("beam%03d" % i)
            for name in "abcdefghi":
                data = group.create_dataset(
                    name, data=np.arange(20_000, dtype="<f4"), chunks=(5_000,), compression="gzip"
                )
                data.attrs["units"], data.attrs["long_name"] = "m", np.array(["height", "above"], words)
            group["text"] = np.array(["x%d" % i, "y"], words)


def files(objects):
    return {
        "contiguous": (make_contiguous, ["first", "middle"]),
        "extensible": (lambda p: make_many_chunks(p, "latest"), ["first", "middle"]),
        "btree": (lambda p: make_many_chunks(p, "earliest"), ["first", "middle"]),
        "old": (lambda p: make_objects(p, "old", objects), ["names", "details"]),
        "compact": (lambda p: make_objects(p, "compact", objects), ["names", "details"]),
        "dense": (lambda p: make_objects(p, "dense", objects), ["names", "details"]),
        "paged": (lambda p: make_paged(p, 1000), ["details", "attributes"]),
    }


# ---- what is read


class RangeFile(io.RawIOBase):
    """A file of which each read is a request, as those do it who write such a class themselves."""

    def __init__(self, url):
        import http.client

        place = urllib.parse.urlsplit(url)
        self.path = place.path
        self.connection = http.client.HTTPConnection(place.netloc)
        self.at = 0
        self.ask("bytes=0-0")
        self.size = int(self.answer.getheader("Content-Range").rsplit("/", 1)[1])

    def ask(self, what):
        self.connection.request("GET", self.path, headers={"Range": what})
        self.answer = self.connection.getresponse()
        return self.answer.read()

    def readable(self):
        return True

    def seekable(self):
        return True

    def tell(self):
        return self.at

    def seek(self, offset, whence=0):
        self.at = offset + (0, self.at, self.size)[whence]
        return self.at

    def readinto(self, out):
        length = min(len(out), self.size - self.at)
        if length <= 0:
            return 0
        data = self.ask(f"bytes={self.at}-{self.at + length - 1}")
        out[:length] = data
        self.at += length
        return length


def opened(way, place):
    import h5py

    if way == "plain":
        return h5py.File(RangeFile(place), "r")
    if way == "fsspec":
        import fsspec

        return h5py.File(fsspec.open(place).open(), "r")
    if way == "ros3":
        return h5py.File(place, "r", driver="ros3")
    return h5py.File(place, "r")


def h5py_steps(way, place, steps, limit):
    """A line for each step as it ends: its name, and how much of it was done."""
    import h5py, fsspec, aiohttp  # noqa: F401, before anything is measured

    yield "start", ""
    file = opened(way, place)

    def within(items, one):
        end, done = time.monotonic() + limit, 0
        for item in items:
            if time.monotonic() > end:
                return f"{done} of {len(items)}"
            one(item)
            done += 1
        return ""

    def first():
        file["d"][:1024]

    def middle():
        data = file["d"]
        data[len(data) // 2 : len(data) // 2 + 1024]

    def names():
        list(file["g"])

    def all_names():
        if "g" in file:
            return ["g/" + name for name in file["g"]]
        return [f"{group}/{name}" for group in file for name in file[group]]

    def details():
        def one(name):
            data = file[name]
            return data.shape, data.dtype

        return within(all_names(), one)

    def attributes():
        return within(all_names(), lambda name: dict(file[name].attrs))

    yield "open", ""
    for step in steps:
        yield step, locals()[step]() or ""


def mount_steps(point, steps):
    data = os.path.join(point, "d")

    def read(offset, length):
        with open(data, "rb", buffering=0) as file:
            os.pread(file.fileno(), length, offset)

    commands = {
        "names": f"ls -f {point}/g > /dev/null",
        "details": f"ls -lR {point} > /dev/null",
        "references": f"cat {point}/.h5/references.json > /dev/null",
        "attributes": f"getfattr -R -d {point} > /dev/null 2>&1",
    }
    yield "open", ""
    for step in steps:
        if step == "first":
            read(0, 4096)
        elif step == "middle":
            read(os.stat(data).st_size // 2, 4096)
        else:
            subprocess.run(commands[step], shell=True)
        yield step, ""


# ---- the table


class Server:
    def __init__(self, directory, delay):
        script = os.path.join(HERE, "..", "remote", "far_server.py")
        self.process = subprocess.Popen(
            [sys.executable, script, directory, "--delay", str(delay)], stdout=subprocess.PIPE
        )
        self.base = f"http://127.0.0.1:{int(self.process.stdout.readline())}/"

    def ask(self, path):
        with urllib.request.urlopen(self.base + path) as answer:
            return answer.read()


def rounds(spans):
    out, end = 0, 0
    for span in sorted(spans, key=lambda span: span[1]):
        if span[0] >= end:
            out, end = out + 1, span[1]
    return out


def measure(server, steps):
    """Rows of (step, rounds, requests, bytes, seconds, how far it came), the step's requests being those
    since the last."""
    rows = []
    server.ask(".reset")
    begin = time.monotonic()
    for step, how_far in steps:
        seconds = time.monotonic() - begin
        if step == "start":
            begin = time.monotonic()
            continue
        time.sleep(0.3)  # what was asked for ahead belongs to it too
        spans = json.loads(server.ask(".spans"))
        rows.append((step, rounds(spans), len(spans), sum(span[2] for span in spans), seconds, how_far))
        server.ask(".reset")
        begin = time.monotonic()
    return rows


def by_child(way, place, steps, limit):
    """The steps of another process, which waits after each until its requests are counted."""
    child = subprocess.Popen(
        [sys.executable, __file__, "--child", way, place, str(limit), *steps],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "HDF5_USE_FILE_LOCKING": "FALSE"},
    )
    for line in child.stdout:
        step, _, how_far = line.rstrip("\n").partition("\t")
        yield step, how_far
        child.stdin.write("\n")
        child.stdin.flush()
    if child.wait() != 0:
        yield "fails", child.stderr.read().strip().split("\n")[-1][:90]


def child(way, place, limit, *steps):
    generator = h5py_steps(way, place, steps, float(limit))
    for step, how_far in generator:
        print(f"{step}\t{how_far}", flush=True)
        sys.stdin.readline()


def with_mount(command, server, point, made, steps):
    """Mounts, and then does the steps; the mount's own requests belong to the first of them."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:

        def all_steps():
            end = time.monotonic() + 30
            while not os.path.ismount(point):
                if time.monotonic() > end or process.poll() not in (None, 0):
                    raise RuntimeError("not mounted")
                time.sleep(0.005)
            yield from steps

        return measure(server, all_steps())
    finally:
        if os.path.ismount(point):
            subprocess.run(["umount", point])
        if process.poll() is None:
            process.terminate()
        process.wait()


def run(way, args, server, name, steps, place):
    point = os.path.join(place, "m")
    os.makedirs(point, exist_ok=True)
    url = server.base + name
    if way in ("h5mount", "references"):
        steps = ["references"] if way == "references" else steps
        return with_mount([args.h5mount, "-f", url, point], server, point, name, mount_steps(point, steps))
    if way == "rclone":
        command = [
            "rclone",
            "mount",
            ":http:",
            point,
            "--http-url",
            server.base,
            "--read-only",
            "--vfs-cache-mode",
            "off",
            "--config",
            "/dev/null",
            "--cache-dir",
            place + "/cache",
        ]
    elif way == "httpdirfs":
        command = ["httpdirfs", "-f", server.base, point]
    else:
        return measure(server, by_child(way, url, steps, args.limit))
    return with_mount(
        command, server, point, name, by_child(way, os.path.join(point, name), steps, args.limit)
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("h5mount")
    parser.add_argument("--delay", type=float, default=0.08)
    parser.add_argument("--objects", type=int, default=10_000)
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--ways", nargs="*", default=WAYS)
    parser.add_argument(
        "--directory", default=os.path.join(os.environ.get("TMPDIR", "/var/tmp"), "h5mount-bench", "far")
    )
    args = parser.parse_args()
    print(
        "| file | way | step | rounds | requests | MiB | seconds | |\n|---|---|---|---|---|---|---|---|",
        flush=True,
    )
    for kind, (make, steps) in files(args.objects).items():
        if args.only and kind not in args.only:
            continue
        # A directory for each, as some ways ask for all that lies beside the file.
        directory = os.path.join(args.directory, f"{kind}-{args.objects}")
        os.makedirs(directory, exist_ok=True)
        path = os.path.join(directory, "f.h5")
        if not os.path.exists(path):
            make(path + ".part")
            os.rename(path + ".part", path)
        server = Server(directory, args.delay)
        for way in args.ways:
            with tempfile.TemporaryDirectory(prefix="far-rounds-", dir="/tmp") as place:
                try:
                    rows = run(way, args, server, "f.h5", steps, place)
                except (OSError, RuntimeError) as error:
                    rows = [("fails", 0, 0, 0, 0, str(error))]
            for step, waits, requests, size, seconds, how_far in rows:
                print(
                    (
                        f"| {kind} | {way} | {step} | {waits} | {requests} | {size / 2**20:.2f} |"
                        f" {seconds:.2f} | {how_far} |"
                    ),
                    flush=True,
                )
        server.process.kill()
        server.process.wait()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(*sys.argv[2:])
    else:
        main()
