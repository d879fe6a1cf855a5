"""h5mount --diff of files that ask for much: links in circles, many links and attributes, hostile files."""
import glob
import json
import os
import shutil
import time

import h5py
import numpy as np

from mount.told_diff import diff, equal, pair, told
from support.program import ProgramTest, sanitized

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CORPUS = os.path.join(ROOT, "..", "shared", "corpus")
MANY = 100_000


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
                said = json.loads(p.stdout)
                assert said["equal"] == (p.returncode == 0), (path, other, said)
                if path == other:
                    assert said["differences"] == [], (path, said)
                    assert (p.returncode == 2) == (p.stderr != "") or p.returncode == 0, (path, p)
            before = path

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
