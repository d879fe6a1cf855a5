"""Views of a SWMR file whose writers come and go at random moments, every byte compared.

Each round mounts a quiet file; SWMR writers come, of which one rewrites rows within the shape, one appends,
and one does both, while readers look views up, open, read, keep and close them at random moments. While the
writer works every element that is read must be one that the writer had written there at some time. Whenever
it pauses, every view must become exactly what was written, whatever was opened and read of it before. What is
wrong names the round's seed, which repeats its file and its operations.
"""
import ast
import collections
import errno
import os
import random
import re
import subprocess
import sys
import threading
import time
import zlib
from concurrent.futures import ThreadPoolExecutor

import h5py
import numpy as np

from harness import Mount

SETTLES = 10.0  # seconds in which a view must become what the writer wrote; a second is promised
COLUMNS = 4
COMPOUND = np.dtype([("a", "<i4"), ("b", "<i2")])


def arguments(parser):
    # They are threads: what may be read is what the thread that tells the writer knows at that moment.
    parser.set_defaults(readers=3)
    parser.add_argument("--rounds", type=int, help="end after so many")


class Model:
    """What the writer wrote: each row has a version, and each value follows from place and version."""

    def __init__(self, rng):
        self.rows = rng.choice([1, 3, 7, 40, 300, 3000])
        self.versions = [0] * self.rows
        self.salt = rng.randrange(1 << 20)
        # Numbers of one width keep every byte of a text in its place, so that texts can be checked at any
        # time.
        self.one_width = rng.random() < 0.5
        self.chunks = {name: rng.choice([1, 3, 16, 64, 1000]) for name in "dzc"}
        self.filters = {
            name: rng.choice([{}, {"compression": "gzip"}, {"compression": "gzip", "shuffle": True}])
            for name in "dzc"
        }
        self.zarr_columns = rng.choice([1, 2, 3, 4])
        self.history = collections.defaultdict(lambda: {0})  # versions of a row at any time

    def value(self, kind, row, column, version):
        low, span = (100000, 899999) if kind == "i4" else (10000, 20011)
        if not self.one_width:
            low = 0
        return low + (row * 7 + column * 1009 + version * 10473 + self.salt) % span

    def table(self, kind, columns, versions=None):
        versions = self.versions if versions is None else versions
        rows = np.arange(len(versions), dtype=np.int64)[:, None]
        return self.value(kind, rows, np.arange(columns)[None, :], np.array(versions, np.int64)[:, None])

    def array(self, name, versions=None):
        if name == "d":
            return self.table("i4", COLUMNS, versions).astype("<i4")
        if name == "z":
            return self.table("i2", COLUMNS, versions).astype("<i2")
        out = np.zeros(len(self.versions if versions is None else versions), COMPOUND)
        out["a"], out["b"] = self.table("i4", 1, versions)[:, 0], self.table("i2", 1, versions)[:, 0]
        return out

    def first_unfinished(self):
        """The first row that a writer may rewrite: that of the last chunk of every dataset."""
        return max((self.rows - 1) // chunk * chunk for chunk in self.chunks.values())

    def legal(self, name, rows):
        """For each row the arrays that it may be: all versions that it had, and not yet written."""
        most = max([len(self.history[row]) for row in range(rows) if row in self.history] or [1])
        out = [np.zeros_like(self.array(name, [0] * rows))]
        for i in range(most):
            versions = [
                sorted(self.history[row])[min(i, len(self.history[row]) - 1)] if row in self.history else 0
                for row in range(rows)
            ]
            out.append(self.array(name, versions))
        return out


class Writer:
    """A process that writes what it is told to; `tell` returns when it has flushed."""

    CODE = r"""
import sys, h5py, numpy as np
f = None
for line in sys.stdin:
    word, *rest = line.split()
    if word == 'open':
        f = h5py.File(rest[0], 'r+', libver='latest')
        f.swmr_mode = True
    elif word == 'close':
        f.close()
    elif word == 'resize':
        for name in rest[1:]: f[name].resize(int(rest[0]), 0)
        f.flush()
    elif word == 'put':
        row = int(rest[0])
        values = [int(v) for v in rest[1:]]
        f['d'][row] = np.array(values[:4], '<i4')
        f['z'][row] = np.array(values[4:8], '<i2')
        f['c'][row] = np.array((values[8], values[9]), [('a', '<i4'), ('b', '<i2')])
        f.flush()
    print('done', flush=True)
"""

    def __init__(self):
        environment = dict(os.environ, HDF5_USE_FILE_LOCKING="FALSE")
        self.process = subprocess.Popen(
            [sys.executable, "-c", self.CODE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            start_new_session=True,
        )

    def tell(self, *words):
        print(*words, file=self.process.stdin, flush=True)
        if self.process.stdout.readline() != "done\n":
            raise RuntimeError("the writer failed")

    def end(self):
        self.process.stdin.close()
        self.process.wait()


class View:
    """A file of the mount. `expected` makes its decoded content of the model, `decode` the same of its
    bytes."""

    def __init__(self, path, dataset, expected, decode, checked_while_written=True):
        self.path, self.dataset, self.expected, self.decode = path, dataset, expected, decode
        self.checked_while_written = checked_while_written


def numbers(text, header):
    lines = text.decode().splitlines()[1 if header else 0 :]
    return [[int(word) for word in re.findall(r"(?<![\w\"])-?\d+", line)] for line in lines]


def npy(data):
    length = int.from_bytes(data[8:10], "little")
    header = ast.literal_eval(data[10 : 10 + length].decode())
    kind = header["descr"] if isinstance(header["descr"], str) else [tuple(d) for d in header["descr"]]
    array = np.frombuffer(data[10 + length :], kind)
    return array.reshape(header["shape"])


def rows_of(array):
    """The numbers of each line of the array as text."""
    rows = array.tolist()
    return [list(row) if isinstance(row, (list, tuple)) else [row] for row in rows]


def chunk_of(array, at, shape):
    """A chunk's elements, with zeros beyond the dataset's end."""
    out = np.zeros(shape, array.dtype)
    part = array[tuple(slice(i * n, (i + 1) * n) for i, n in zip(at, shape))]
    out[tuple(slice(0, n) for n in part.shape)] = part
    return out


def views_of(model, rng):
    out = []

    def raw(path, dataset, select):
        kind = select(model.array(dataset)).dtype
        out.append(View(path, dataset, select, lambda data: np.frombuffer(data, kind)))

    def lines(path, dataset, select, header):
        out.append(
            View(
                path,
                dataset,
                lambda a: rows_of(select(a)),
                lambda data: numbers(data, header),
                model.one_width,
            )
        )

    whole = lambda a: a
    for name in "dzc":
        raw(name, name, whole)
        out.append(View(f".h5/npy/{name}.npy", name, whole, npy))
        lines(f".h5/csv/{name}.csv", name, whole, True)
        lines(f".h5/ndjson/{name}.ndjson", name, whole, False)
    for column in range(COLUMNS):
        select = lambda a, column=column: a[:, column]
        raw(f".h5/slice/d/:,{column}", "d", select)
        out.append(View(f".h5/slice/z/:,{column}.npy", "z", select, npy))
        lines(f".h5/slice/d/:,{column}.ndjson", "d", select, False)
    for row in {0, model.rows - 1, rng.randrange(model.rows)}:
        raw(f".h5/slice/d/{row}", "d", lambda a, row=row: a[row])
    raw(".h5/slice/d/::2,1:3", "d", lambda a: a[::2, 1:3])
    for member in "ab":
        raw(f".h5/fields/c/{member}", "c", lambda a, member=member: a[member])
        lines(f".h5/fields/c/{member}.csv", "c", lambda a, member=member: a[member], True)
    return out


def chunk_views(model):
    """Of some of the chunks that there are now. Those of stored.zarr are not cut to the extent."""
    out = []
    for name, width in (("d", COLUMNS), ("z", model.zarr_columns)):
        shape = (model.chunks[name], width)
        stored = model.filters[name]

        def unpacked(data, kind, stored=stored):
            if stored:
                data = zlib.decompress(data)
            if stored.get("shuffle"):
                size = np.dtype(kind).itemsize
                data = np.frombuffer(data, "u1").reshape(size, -1).T.tobytes()
            return np.frombuffer(data, kind)

        kind = model.array(name, [0]).dtype
        last = (model.rows - 1) // shape[0]
        for i in {0, max(last - 1, 0), last}:
            for j in range(-(-COLUMNS // width)):
                select = lambda a, at=(i, j), shape=shape: chunk_of(a, at, (min(shape[0], len(a)), shape[1]))
                whole = lambda a, at=(i, j), shape=shape: chunk_of(a, at, shape)
                plain = lambda data, kind=kind: np.frombuffer(data, kind)
                out.append(View(f".h5/plain.zarr/{name}/{i}.{j}", name, select, plain))
                out.append(View(f".h5/v3.zarr/{name}/c.{i}.{j}", name, select, plain))
                out.append(
                    View(
                        f".h5/stored.zarr/{name}/{i}.{j}",
                        name,
                        whole,
                        lambda data, kind=kind, unpacked=unpacked: unpacked(data, kind),
                        not stored,
                    )
                )
    return out


def read_whole(fd):
    size, out = os.fstat(fd).st_size, b""
    while len(out) < size:
        part = os.pread(fd, size - len(out), len(out))
        if not part:
            break
        out += part
    return out


def flat(value):
    return value if isinstance(value, list) else np.ascontiguousarray(value).reshape(-1)


def equal(got, wanted):
    got, wanted = flat(got), flat(wanted)
    return (
        got == wanted if isinstance(got, list) else got.shape == wanted.shape and bool((got == wanted).all())
    )


def difference(got, wanted):
    got, wanted = flat(got), flat(wanted)
    for i in range(min(len(got), len(wanted))):
        if got[i] != wanted[i]:
            return f"element {i} of {len(wanted)} is {got[i]} and not {wanted[i]}"
    return f"{len(got)} elements of {len(wanted)}"


class Round:
    def __init__(self, soak, seed):
        self.soak, self.seed, self.rng = soak, seed, random.Random(seed)
        self.file, self.mount = str(soak.place / "f.h5"), str(soak.place / "mount")
        self.model = Model(self.rng)
        self.lock = threading.Lock()  # for the model
        self.held = {}  # the descriptors of the thread that pauses the writer

    def make(self):
        model = self.model
        with h5py.File(self.file, "w", libver="latest") as f:
            for name in "dzc":
                array = model.array(name)
                columns = {"d": (COLUMNS,), "z": (model.zarr_columns,), "c": ()}[name]
                f.create_dataset(
                    name,
                    data=array,
                    maxshape=(None,) + array.shape[1:],
                    chunks=(model.chunks[name],) + columns,
                    **model.filters[name],
                )

    # ---- readers

    def note_wrong(self, view, what):
        with self.lock:
            self.soak.wrong.append(f"seed {self.seed}: {view.path}: {what}")

    def check_while_written(self, view, data):
        """Each element is one that was written there; what is not whole at the end is left out."""
        try:
            got = view.decode(data)
        except (ValueError, zlib.error, SyntaxError):
            self.soak.counts["cut while written"] += 1
            return
        with self.lock:
            rows = self.model.rows
            legal = [flat(view.expected(a)) for a in self.model.legal(view.dataset, rows)]
        got = flat(got)
        length = min([len(got)] + [len(a) for a in legal])
        if isinstance(got, list):
            if data and not data.endswith(b"\n"):
                length -= 1
            for i in range(max(length, 0)):
                for j, value in enumerate(got[i]):
                    if not any(j < len(a[i]) and a[i][j] == value for a in legal):
                        return self.note_wrong(view, f"row {i} is {got[i]} while the writer works")
        else:
            right = np.zeros(length, bool)
            for a in legal:
                right |= got[:length] == a[:length]
            if not right.all():
                at = int(np.argmin(right))
                self.note_wrong(
                    view,
                    (
                        f"element {at} is {got[at]} while the writer works, "
                        f"which may be {sorted({str(a[at]) for a in legal})}"
                    ),
                )
        self.soak.counts["reads while written"] += 1
        self.soak.counts["bytes while written"] += len(data)

    def use(self, views, rng, until):
        """One reader: looks views up, opens, reads, keeps and closes them."""
        held = {}
        while not until.is_set():
            view = rng.choice(views)
            path = os.path.join(self.mount, view.path)
            try:
                what = rng.random()
                if what < 0.2:
                    os.stat(path)
                    self.soak.counts["lookups"] += 1
                elif what < 0.3 and held:
                    os.close(held.pop(rng.choice(list(held)))[0])
                elif what < 0.4 and view.path not in held:
                    held[view.path] = (os.open(path, os.O_RDONLY), view)
                    self.soak.counts["opened and kept"] += 1
                elif what < 0.7 and held:
                    fd, kept = held[rng.choice(list(held))]
                    data = read_whole(fd)
                    if kept.checked_while_written:
                        self.check_while_written(kept, data)
                else:
                    with open(path, "rb", buffering=0) as f:
                        data = read_whole(f.fileno())
                    if view.checked_while_written:
                        self.check_while_written(view, data)
            except OSError as error:
                self.soak.counts[f"errno {error.errno}"] += 1
                # A file that is being opened for writing is stale until its writer has begun SWMR.
                if error.errno != errno.ESTALE:
                    self.note_wrong(view, str(error))
            time.sleep(rng.random() * 0.01)
        for fd, _ in held.values():
            os.close(fd)

    # ---- the writer

    def put(self, writer, row):
        model = self.model
        with self.lock:
            version = model.versions[row] + 1
            model.history[row].add(version)
            model.versions[row] = version
            values = [int(model.value("i4", row, j, version)) for j in range(COLUMNS)]
            values += [int(model.value("i2", row, j, version)) for j in range(COLUMNS)]
            values += [int(model.value("i4", row, 0, version)), int(model.value("i2", row, 0, version))]
        writer.tell("put", row, *values)
        self.soak.counts["rewritten or appended rows"] += 1

    def append(self, writer):
        model = self.model
        for _ in range(self.rng.choice([1, 1, 2, 20])):
            with self.lock:
                row = model.rows
                model.rows += 1
                model.versions.append(0)
                model.history[row] = {0}
            writer.tell("resize", row + 1, "d", "z", "c")
            self.pause()
            self.put(writer, row)

    def pause(self):
        if self.rng.random() < 0.3:
            time.sleep(self.rng.random() * 0.15)

    def write(self, writer, script):
        for _ in range(self.rng.randrange(1, 8)):
            if script == "rewrite" or (script == "both" and self.rng.random() < 0.5):
                self.put(writer, self.rng.randrange(self.model.first_unfinished(), self.model.rows))
            else:
                self.append(writer)
            self.pause()

    # ---- while nobody writes

    def bytes_now(self, view):
        if view.path in self.held:
            return read_whole(self.held[view.path])
        with open(os.path.join(self.mount, view.path), "rb", buffering=0) as f:
            return read_whole(f.fileno())

    def check_all(self, views):
        """Every view becomes what was written; those that stay other are wrong for good."""
        missing = list(views)
        end = time.monotonic() + SETTLES
        last = {}
        while missing and time.monotonic() < end:
            still = []
            for view in missing:
                try:
                    data = self.bytes_now(view)
                    wanted = view.expected(self.model.array(view.dataset))
                    got = view.decode(data)
                    if equal(got, wanted):
                        self.soak.counts["views compared"] += 1
                        self.soak.counts["bytes compared"] += len(data)
                        continue
                    last[view.path] = f"{len(data)} bytes, {difference(got, wanted)}"
                except (OSError, ValueError, zlib.error, SyntaxError) as error:
                    last[view.path] = str(error)
                still.append(view)
            missing = still
            if missing:
                time.sleep(0.1)
        for view in missing:
            held = "held" if view.path in self.held else "opened anew"
            self.note_wrong(view, f"{last[view.path]} ({held}) {SETTLES} s after the last flush")

    def hold_some(self, views):
        for view in views:
            if self.rng.random() < 0.3 and view.path not in self.held:
                try:
                    self.held[view.path] = os.open(os.path.join(self.mount, view.path), os.O_RDONLY)
                except OSError as error:
                    self.note_wrong(view, str(error))
            if self.rng.random() < 0.1 and view.path in self.held:
                os.close(self.held.pop(view.path))

    def all_views(self):
        fresh = {view.path: view for view in chunk_views(self.model)}
        self.chunks.update(fresh)
        return self.views + list(self.chunks.values())

    def run(self):
        self.make()
        self.views, self.chunks = views_of(self.model, self.rng), {}
        mount = Mount(self.soak, self.file)
        writer, until, pool = Writer(), threading.Event(), ThreadPoolExecutor(self.soak.options.readers)
        readers = []
        try:
            views = self.all_views()
            for view in views:  # some are looked up, read or opened while the file is quiet
                if self.rng.random() < 0.6:
                    self.bytes_now(view)
            self.hold_some(views)
            if self.rng.random() < 0.7:
                readers = [
                    pool.submit(self.use, views, random.Random(self.seed * 10 + i), until)
                    for i in range(self.soak.options.readers)
                ]
            for _ in range(self.rng.choice([1, 1, 2])):
                time.sleep(self.rng.random() * 0.3)
                self.follow(writer)
        finally:
            until.set()
            pool.shutdown()
            for fd in self.held.values():
                os.close(fd)
            writer.end()
        for reader in readers:
            reader.result()  # or what it failed by
        mount.end()
        self.soak.counts["rounds"] += 1

    def follow(self, writer):
        """A writer comes, writes and pauses, and goes."""
        writer.tell("open", self.file)
        script = self.rng.choice(["rewrite", "append", "both"])
        self.soak.counts[f"writers that {script}"] += 1
        for _ in range(self.rng.choice([1, 2, 3])):
            self.write(writer, script)
            self.check_all(self.all_views())
            self.hold_some(self.all_views())
        writer.tell("close")
        if self.rng.random() < 0.5:
            self.check_all(self.all_views())


def run(soak):
    for made in soak.clock(soak.options.minutes * 60):
        if made == soak.options.rounds:
            break
        Round(soak, soak.options.seed + made).run()
