"""h5mount --diff of files that ask for much: links in circles, many links and attributes, hostile files."""
import glob
import os
import re
import shutil
import subprocess
import time
import zlib

import h5py
import numpy as np

from mount.told_diff import diff, equal, pair, strict, told
from support.program import H5MOUNT, ProgramTest, run, sanitized

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CORPUS = os.path.join(ROOT, "..", "shared", "corpus")
MANY = 100_000
LARGE = 5 << 30


class Bounds(ProgramTest):
    seconds = 300

    def test_circles_of_hard_links_end(self):
        def write(f, name):
            f["g/h/up"] = f["/"]
            f["g/itself"] = f["g"]
            f["g/h/x"] = name

        pair(write)
        assert set(told("a.h5", "b.h5")) == {("/g/h/x", "value")}
        # Other circles on both sides.
        with h5py.File("b.h5", "r+") as f:
            del f["g/itself"]
            f["g/itself"] = f["g/h"]
        said = {place for place, _ in told("a.h5", "b.h5")}
        assert {"/g/h/x", "/g/itself/h", "/g/itself/up"} <= said and len(said) < 50, said

    def test_paths_that_are_multiplied_by_links_are_walked_once(self):
        def write(f, name):
            group = f.create_group("0")
            for level in range(1, 100):  # 2^99 paths
                below = group.create_group("a")
                group["b"] = below
                below.attrs["level"] = level
                group = below
            group["x"] = name

        pair(write)
        begun = time.monotonic()
        assert set(told("a.h5", "b.h5")) == {("/0" + "/a" * 99 + "/x", "value")}
        # An attribute that is ignored everywhere does not change that.
        assert len(told("a.h5", "b.h5", "--ignore=*@level")) == 1
        assert time.monotonic() - begun < 10

    def test_deep_groups(self):
        def write(f, name):
            group = f
            for _ in range(2000):
                group = group.create_group("g")
            group["x"] = name

        pair(write)
        assert set(told("a.h5", "b.h5")) == {("/g" * 2000 + "/x", "value")}

    def test_many_links_and_attributes(self):
        with h5py.File("a.h5", "w", libver="latest") as f:
            group, values = f.create_group("links"), f.create_group("attributes")
            one = f.create_dataset("one", data=1)
            for i in range(MANY):
                group[f"link{i}"] = one
            kind, space = h5py.h5t.STD_I32LE, h5py.h5s.create(h5py.h5s.SCALAR)
            for i in range(MANY):
                h5py.h5a.create(values.id, b"name%d" % i, kind, space).write(np.array(i, "<i4"))
        shutil.copy("a.h5", "b.h5")
        begun = time.monotonic()
        equal()
        assert time.monotonic() - begun < (60 if sanitized() else 10)
        with h5py.File("b.h5", "r+") as f:
            del f["links/link77777"]
            f["links/more"] = f["one"]
            f["attributes"].attrs.modify("name5", 6)
            del f["attributes"].attrs["name99999"]
        assert set(told("a.h5", "b.h5")) == {
            ("/links/link77777", "only_a"),
            ("/links/more", "only_b"),
            ("/attributes@name5", "value"),
            ("/attributes@name99999", "only_a"),
        }

    def test_damaged_and_hostile_files_end_and_say_so(self):
        files = sorted(glob.glob(os.path.join(ROOT, "tests", "hostile", "seeds", "*")))
        files += sorted(glob.glob(os.path.join(CORPUS, "hostile", "**", "*.h5"), recursive=True))
        assert len(files) > 20, files
        before = files[-1]
        for path in files:
            for other in (path, before):
                begun = time.monotonic()
                p = diff("--json", path, other, errors="replace", timeout=200)
                assert time.monotonic() - begun < (200 if sanitized() else 60), (path, other)
                assert p.returncode in (0, 1, 2), (path, other, p)
                said = strict(p.stdout)
                assert said["equal"] == (p.returncode == 0), (path, other, said)
                if path == other:
                    assert said["differences"] == [], (path, said)
                    assert (p.returncode == 2) == (p.stderr != "") or p.returncode == 0, (path, p)
            before = path

    def test_datasets_of_any_size_are_compared(self):
        def write_raw(f, name):
            # The raw files are one hole, and of `short` the end is missing, which is read as zeros.
            for one in ("long", "short"):
                f.create_dataset(one, (LARGE,), "i1", external=[(one + name, 0, LARGE)])[0] = 1
            with open("long" + name, "r+b") as raw:
                raw.seek(LARGE - 1)
                raw.write(name.encode())

        def write_zeros(f, name):
            chunk = 1 << 20
            x = f.create_dataset("zeros", (LARGE,), "i1", chunks=(chunk,), compression="gzip")
            zeros = zlib.compress(bytes(chunk), 4 if name == "a" else 9)
            for at in range(0, LARGE, chunk):
                x.id.write_direct_chunk((at,), zeros)

        pair(write_zeros)
        equal(timeout=200)
        pair(write_raw)
        said = told("a.h5", "b.h5", timeout=200)
        assert {place: one["first"] for place, one in said.items()} == {
            ("/long", "value"): [{"index": [LARGE - 1], "a": ord("a"), "b": ord("b")}]
        }, said
        # A hole that no raw file has ends all the same.
        for name in "ab":
            with h5py.File(name + ".h5", "w") as f:
                f.create_dataset("x", (1 << 50,), "i1", external=[("none" + name, 0, 1 << 50)])[0] = 1
        p = diff("a.h5", "b.h5")
        assert p.returncode == 2 and "/x: more work" in p.stderr, p

    def test_what_attributes_are_told_with_is_bounded(self):
        def write(f, name):
            members = [(f"{i:02}" + "x" * 1000, "i1" if name == "a" else "u1") for i in range(50)]
            f["kind"] = np.dtype(members)
            x = f.create_dataset("x", data=1)
            space = h5py.h5s.create(h5py.h5s.NULL)
            for i in range(8000):
                h5py.h5a.create(x.id, b"%d" % i, f["kind"].id, space)

        pair(write, libver="latest")
        p = diff("a.h5", "b.h5", "/x", "--json")
        assert p.returncode == 2 and "/x: more work" in p.stderr and strict(p.stdout)["differences"], p.stderr

    def test_sound_files_equal_themselves(self):
        files = sorted(glob.glob(os.path.join(CORPUS, "generated", "**", "*.h5"), recursive=True))
        files += sorted(glob.glob(os.path.join(CORPUS, "filters", "**", "*.h5"), recursive=True))
        if not files:
            with h5py.File("own.h5", "w") as f:
                f["x"] = np.arange(10)
            files = ["own.h5"]
        for path in files:
            p = diff(path, path)
            assert p.stdout == "" and p.returncode == (2 if "h5mount: " in p.stderr else 0), (path, p)


class Progress(ProgramTest):
    def setUp(self):
        super().setUp()

        def write(f, name):
            chunk, count = 1 << 20, 500
            x = f.create_dataset("x", (chunk * count,), "i1", chunks=(chunk,), compression="gzip")
            values = np.random.default_rng(1).integers(0, 4, chunk, "i1").tobytes()
            stored = zlib.compress(values, 1 if name == "a" else 2)
            for i in range(count):
                x.id.write_direct_chunk((i * chunk,), stored)
            f["a"] = f["y"] = name

        pair(write)

    def shown(self, stdout=None):
        """The end of the command, and what its terminal shows: all but a `stdout` of its own."""
        master, terminal = os.openpty()
        words = (H5MOUNT, "--diff", "-o", "threads=1", "a.h5", "b.h5")
        p = run(*words, capture_output=False, stdout=stdout or terminal, stderr=terminal)
        said = os.read(master, 1 << 16).decode()
        os.close(master)
        os.close(terminal)
        return p, said

    def test_a_terminal_shows_it_and_output_stays_whole(self):
        line = r"\r[\d.]+ [KMG]?i?B, [\d.]+ [KMG]?i?B/s\x1b\[K"
        differences = '/a: "a", "b"\n/y: "a", "b"\n'
        for stdout, output in ((subprocess.PIPE, ""), (None, differences.replace("\n", "\r\n"))):
            p, said = self.shown(stdout)
            assert p.stdout == (differences if stdout else None), p
            left = re.sub(f"({line})+\\r\x1b\\[K", "", said)  # lines that are rewritten, and then cleared
            assert left == output and left != said, repr(said)
