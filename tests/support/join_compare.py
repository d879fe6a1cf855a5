"""Holds .h5/joined of a directory against the oracle of joined files, through a mount or by h5mount --cat."""
import errno
import io
import json
import os
import random
import subprocess

import h5py
import numpy as np

JOINED = "/.h5/joined"
MAY_DIFFER = {"calendar"}  # standard, gregorian and none are one calendar


class MountedTree:
    """Reads below a mount; every failure is an OSError."""

    def __init__(self, mnt):
        self.top = mnt.rstrip("/")

    def read(self, path):
        with open(self.top + path, "rb") as file:
            return file.read()

    def xattr(self, path, name):
        """None: there is none of that name."""
        try:
            return os.getxattr(self.top + path, name)
        except OSError as error:
            if error.errno == errno.ENODATA:
                return None
            raise

    def size(self, path):
        return os.stat(self.top + path).st_size

    def names(self, path):
        return os.listdir(self.top + path)


class CommandTree:
    """The same without a mount."""

    def __init__(self, program, source, words):
        self.words, self.source, self.stats = [program, *words], source, {}

    def run(self, command, path):
        ended = subprocess.run(
            [*self.words, command, self.source, path], capture_output=True, timeout=60, check=False
        )
        if ended.returncode < 0:
            raise AssertionError("%s ended by signal %d" % (ended.args, -ended.returncode))
        if ended.returncode and (command != "--stat" or not ended.stdout):
            raise OSError(errno.EIO, ended.stderr.decode(errors="replace"), path)
        return ended.stdout

    def read(self, path):
        return self.run("--cat", path)

    def stat(self, path):
        if path not in self.stats:
            self.stats[path] = json.loads(self.run("--stat", path).decode("utf-8", "surrogateescape"))
        return self.stats[path]

    def xattr(self, path, name):
        value = self.stat(path)["xattrs"].get(name)
        return None if value is None else value.encode("utf-8", "surrogateescape")

    def size(self, path):
        return self.stat(path)["size"]

    def names(self, path):
        return [line.rsplit("/", 1)[-1] for line in self.run("--list", path).decode().splitlines()]


def error_of(call, *arguments):
    """The name of the error that a call ends with; '' of none."""
    try:
        call(*arguments)
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))
    return ""


def same_text(text, value):
    """An attribute as xattr beside its value."""
    if isinstance(value, str):
        return text.decode("utf-8", "surrogateescape") == value
    have = np.asarray(json.loads(text))
    if value.dtype.kind == "O":
        return have.reshape(-1).tolist() == value.reshape(-1).tolist()
    return np.array_equal(have.reshape(-1).astype(value.dtype), value.reshape(-1), equal_nan=True)


def selection(shape, draw):
    """A hyperslab as NumPy writes it without brackets, and the index."""
    words, index = [], []
    for length in shape:
        kind = draw.randrange(4)
        if kind == 0 and length:
            at = draw.randrange(-length, length)
            words.append(str(at))
            index.append(at)
            continue
        start, stop = sorted((draw.randint(0, length), draw.randint(0, length)))
        step = draw.randint(1, 3)
        part = slice(start, stop, step) if kind > 1 else slice(None)
        words.append("%d:%d:%d" % (start, stop, step) if kind > 1 else ":")
        index.append(part)
    return ",".join(words), tuple(index)


class Comparison:
    """`problems`: what is not as expected; `counts`: what was compared."""

    def __init__(self, tree, whole, seed=0, slices=3):
        self.tree, self.whole, self.draw, self.slices = tree, whole, random.Random(seed), slices
        self.problems = []
        self.counts = {"values": 0, "refused": 0, "wrong": 0, "files": 0, "unaccounted": 0}

    def expect(self, holds, *said):
        if not holds:
            self.problems.append(" ".join(str(word)[:300] for word in said))
        return holds

    def run(self):
        if self.whole.error:
            self.counts["refused"] += 1
            self.expect(error_of(self.tree.names, JOINED) == "EIO", "listed, but for:", self.whole.error)
            self.expect(self.tree.xattr(JOINED, "user.hdf5.error"), "no error, but for:", self.whole.error)
            return self
        for path, result in self.whole.datasets.items():
            try:
                (self.refused if result.error else self.dataset)(path, result)
            except OSError as error:
                self.counts["wrong"] += 1
                self.expect(False, path, "fails:", error)
        self.root()
        self.rows()
        return self

    def root(self):
        said = json.loads(self.tree.xattr(JOINED, "user.hdf5.joined") or "{}")
        want = {"files": len(self.whole.order), "left_out": len(self.whole.left_out), "waiting": 0}
        self.expect({k: said.get(k) for k in want} == want, "root says", said, "for", want)
        self.attributes(JOINED, self.whole.attrs, [])

    @staticmethod
    def with_one_nan(stored, dtype):
        values = np.frombuffer(stored, dtype).copy()
        values[np.isnan(values)] = np.nan
        return values.tobytes()

    def refused(self, path, result):
        self.counts["refused"] += 1
        place = JOINED + "/" + path
        said = self.tree.xattr(place, "user.hdf5.error")
        self.expect(said, path, "is not refused, but for:", result.error)
        self.expect(self.tree.size(place) == 1, path, "is refused and has another size than 1")
        self.expect(error_of(self.tree.read, place) == "EIO", path, "is refused and can be read")
        npy = "%s/.h5/npy/%s.npy" % (JOINED, path)
        self.expect(error_of(self.tree.size, npy), path, "is refused and has a view")

    def dataset(self, path, result):
        if result.without_values:
            return
        place, dtype = JOINED + "/" + path, result.dtype
        said = self.tree.xattr(place, "user.hdf5.error")
        damaged = result.unreadable is not None and result.unreadable.any()
        if not self.expect(said is None or damaged, path, "has an error:", said):
            self.counts["wrong"] += 1
            return
        shape = json.loads(self.tree.xattr(place, "user.hdf5.shape"))
        self.expect(shape == list(result.values.shape), path, "shape", shape, "for", result.values.shape)
        numbers = not dtype.hasobject and dtype.kind in "iufcS" and not h5py.check_enum_dtype(dtype)
        if numbers:
            have = self.tree.xattr(place, "user.hdf5.dtype").decode()
            if result.axis is None and have in result.types:  # a copy may be as a file has it
                dtype = result.dtype = np.dtype(have)
            self.expect(have == dtype.str, path, "dtype", have, "for", dtype.str)
        if not result.made:
            self.told(path, result)
        self.attributes(place, result.attrs, result.differ)
        if damaged:
            self.expect(error_of(self.tree.read, place) == "EIO", path, "values that are the fill are read")
            return
        want = result.bytes()
        have = self.tree.read(place)
        self.counts["values"] += result.values.size
        if have != want and len(set(result.types or ())) > 1 and result.dtype.kind == "f":
            # A NaN of another width is a NaN.
            have, want = (self.with_one_nan(one, result.dtype) for one in (have, want))
        if not self.expect(have == want, path, "bytes", self.shown(have, result), "for", result.values):
            self.counts["wrong"] += 1
            return
        if numbers:
            self.views(path, result)

    @staticmethod
    def shown(have, result):
        if result.dtype.hasobject or len(have) % result.dtype.itemsize:
            return have
        return np.frombuffer(have, result.dtype)

    def views(self, path, result):
        content = self.tree.read("%s/.h5/npy/%s.npy" % (JOINED, path))
        array, want = np.load(io.BytesIO(content)), np.asarray(result.values).astype(result.dtype)
        converted = len(set(result.types or ())) > 1 and result.dtype.kind == "f"
        canonical = (lambda stored: self.with_one_nan(stored, result.dtype)) if converted else bytes
        same = array.dtype == want.dtype and array.shape == want.shape
        same = same and canonical(array.tobytes()) == canonical(want.tobytes())
        self.expect(same, path, "npy", array.dtype, array, "for", want)
        for _ in range(self.slices if want.ndim and want.size else 0):
            words, index = selection(want.shape, self.draw)
            have = self.tree.read("%s/.h5/slice/%s/%s" % (JOINED, path, words))
            part = np.array(want[index], want.dtype, order="C")  # an element has lost its type
            alike = canonical(have) == canonical(part.tobytes())
            self.expect(alike, path, "slice", words, self.shown(have, result), "for", part)

    def told(self, path, result):
        said = json.loads(self.tree.xattr(JOINED + "/" + path, "user.hdf5.joined") or "{}")
        want = {"missing_in": result.missing_in, "unpacked": result.unpacked, "rebased": result.rebased}
        self.expect({k: said.get(k) for k in want} == want, path, "says", said, "for", want)
        all_files = (result.files, result.files + result.missing_in)
        self.expect(said.get("files") in all_files, path, "says", said, "for files in", all_files)
        if result.differ is None:
            return
        differ = sorted({*said.get("attributes_differ", [])} - MAY_DIFFER)
        self.expect(
            differ == sorted({*result.differ} - MAY_DIFFER),
            path,
            "attributes_differ",
            differ,
            "for",
            result.differ,
        )

    def attributes(self, place, kept, differ):
        for name, value in kept.items():
            have = self.tree.xattr(place, "user." + name)
            if self.expect(have is not None, place, "has no attribute", name):
                self.expect(same_text(have, value), place, "attribute", name, have, "for", value)
        for name in {*(differ or ())} - MAY_DIFFER:
            self.expect(self.tree.xattr(place, "user." + name) is None, place, "attribute", name, "differs")

    def rows(self):
        """files.jsonl accounts for every file and for every variable that it has."""
        lines = self.tree.read(JOINED + "/.h5/files.jsonl").splitlines()
        rows = [json.loads(line) for line in lines]
        named = {row["file"] for row in rows}
        every = [*self.whole.order, *self.whole.left_out]
        self.counts["files"] += len(every)
        for name in every:
            if not self.expect(name in named, "files.jsonl lacks", name):
                self.counts["unaccounted"] += 1
        for name in self.whole.left_out:
            self.expect(any(r["file"] == name and r["error"] for r in rows), "no error of", name)
        by_place = {(row["file"], (row["path"] or "").lstrip("/")): row for row in rows}
        for path, result in self.whole.datasets.items():
            for name, (start, length) in (result.spans or {}).items():
                row = by_place.get((name, path))
                if row is None:  # a gap has none
                    self.expect(result.missing_in, "files.jsonl lacks", name, path)
                elif result.error == "":
                    have = row["position"], row["length"]
                    self.expect(have == (start, length), name, path, "is at", have, "for", (start, length))


def compare(tree, whole, seed=0, slices=3):
    return Comparison(tree, whole, seed, slices).run()
