"""h5mount --diff of sources of any kind, and under git."""
import os
import subprocess
import sys

import h5py
import numpy as np

from mount.told_diff import diff, told
from support.program import H5MOUNT, ProgramTest, shell, terminate

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FAR_SERVER = os.path.join(ROOT, "tests", "remote", "far_server.py")


class Sources(ProgramTest):
    def setUp(self):
        super().setUp()
        for side in ("a", "b"):
            os.makedirs(f"{side}/sub")
            for name, value in (("x.h5", side), ("sub/y.h5", "same")):
                with h5py.File(f"{side}/{name}", "w") as f:
                    f["d"] = value
            with open(f"{side}/notes.txt", "w", encoding="ascii") as f:
                f.write("notes of " + side)

    def test_directories_are_compared_file_by_file(self):
        with h5py.File("a/only.h5", "w") as f:
            f["g/x"] = 1
        os.symlink("x.h5", "a/l.h5")
        os.symlink("sub/y.h5", "b/l.h5")
        os.mkdir("a/z.h5")
        with h5py.File("b/z.h5", "w"):
            pass
        said = told("a", "b")
        assert set(said) == {
            ("/x.h5/d", "value"),
            ("/only.h5", "only_a"),
            ("/l.h5", "link"),
            ("/z.h5", "kind"),
        }, said
        assert set(told("a", "b", "/x.h5")) == {("/x.h5/d", "value")}
        p = diff("a", "b", "/sub")
        assert p.returncode == 0 and p.stdout == "", p
        assert set(told("a", "b/sub/y.h5", "/x.h5/d", "/d")) == {("/x.h5/d", "value")}

    def test_other_files_are_compared_by_their_bytes(self):
        said = told("-o", "passthrough", "a", "b", "--ignore=/x.h5")
        assert set(said) == {("/notes.txt", "value")} and said["/notes.txt", "value"] == {
            "path": "/notes.txt",
            "kind": "value",
            "count": 1,
            "first": [{"index": [9], "a": ord("a"), "b": ord("b")}],
        }, said
        with open("b/notes.txt", "w", encoding="ascii") as f:
            f.write("shorter")
        assert told("-o", "passthrough", "a", "b", "/notes.txt")["/notes.txt", "shape"]["b"] == [7]

    def test_a_file_that_cannot_be_opened_is_trouble_of_its_own(self):
        with open("a/bad.h5", "wb") as f, open("b/bad.h5", "wb") as g:
            f.write(b"no HDF5")
            g.write(b"no HDF5")
        p = diff("a", "b")
        assert p.returncode == 2 and p.stdout == '/x.h5/d: "a", "b"\n', p
        assert p.stderr.count("/bad.h5: ") == 2, p

    def test_lists_views_and_joined_files(self):
        with open("list", "w", encoding="ascii") as f:
            f.write("a/x.h5\na/sub/y.h5\n")
        assert set(told("@list", "@list", "/x.h5", "/y.h5")) == {("/x.h5/d", "value")}
        assert set(told("a/x.h5", "b/x.h5", "/.h5/text/d")) == {("/.h5/text/d", "value")}
        for side, more in (("a", 0), ("b", 1)):
            os.mkdir("times_" + side)
            for part in range(3):
                with h5py.File(f"times_{side}/{part}.nc", "w") as f:
                    f["time"] = np.arange(4.0) + 4 * part
                    f["time"].make_scale("time")
                    f["v"] = np.arange(4.0) + 4 * part + more * (part == 1)
                    f["v"].dims[0].attach_scale(f["time"])
        said = told("-o", "join=time", "times_a", "times_b", "/.h5/joined")
        assert said["/.h5/joined/v", "value"]["count"] == 4, said
        assert said["/.h5/joined/v", "value"]["first"][0]["index"] == [4], said
        with h5py.File("whole.h5", "w") as f:
            f["v"] = np.arange(12.0)
        p = diff("-o", "join=time", "times_a", "whole.h5", "/.h5/joined/v", "/v", "--ignore=*@*")
        assert (p.returncode, p.stdout) == (0, ""), p

    def test_sets_of_files_and_urls(self):
        for side in "ab":
            with h5py.File(f"{side}-%05d.h5", "w", driver="family", memb_size=4096) as f:
                f["x"] = np.arange(2000) + (side == "b")
        assert told("a-%05d.h5", "b-%05d.h5")["/x", "value"]["count"] == 2000
        server = subprocess.Popen([sys.executable, FAR_SERVER, "."], stdout=subprocess.PIPE, text=True)
        self.addCleanup(terminate, server)
        url = f"http://127.0.0.1:{int(server.stdout.readline())}"
        assert set(told(f"{url}/a/x.h5", f"{url}/b/x.h5")) == {("/d", "value")}
        p = diff(f"{url}/a/sub/y.h5", "b/sub/y.h5")
        assert (p.returncode, p.stdout) == (0, ""), p
        p = diff("a/x.h5", f"{url}/b/missing.h5")
        assert p.returncode == 2 and "missing.h5" in p.stderr, p


class Git(ProgramTest):
    """The recipes of h5mount(1), as they stand there."""

    def setUp(self):
        super().setUp()
        with open(os.path.join(ROOT, "docs", "man", "h5mount.1.md"), encoding="utf-8") as f:
            recipes = [line for line in f.read().splitlines() if line.startswith(("git ", "echo '*.h5"))]
        assert len(recipes) == 3, recipes
        home = os.path.abspath("home")
        os.makedirs(home + "/repository")
        place = os.path.dirname(H5MOUNT)
        self.environment = dict(os.environ, HOME=home, PATH=f"{place}:{os.environ['PATH']}", GIT_PAGER="cat")
        self.environment.pop("GIT_EXTERNAL_DIFF", None)
        os.chdir(home + "/repository")
        self.git("git init -q . && git config user.name n && git config user.email n@example.org")
        for recipe in recipes:
            self.git(recipe)
        self.write(290.5)
        self.git("git add -A && git commit -q -m one")

    def write(self, value):
        with h5py.File("run.h5", "w") as f:
            f["temperature"] = value
            f["temperature"].attrs["units"] = "K"

    def git(self, command):
        p = shell(command, env=self.environment)
        assert p.returncode == 0, p
        return p.stdout

    def test_diff_shows_the_values(self):
        self.write(291.5)
        said = self.git("git diff")
        assert "\n-  | 290.5\n" in said and "\n+  | 291.5\n" in said and "Binary" not in said, said
        self.write(290.5)
        assert self.git("git diff") == ""

    def test_difftool_tells_the_differences(self):
        self.write(291.5)
        said = self.git("git difftool --no-prompt --tool=h5mount")
        assert "/temperature: 290.5, 291.5\n" in said, said
        self.git("git add -A && git commit -q -m two")
        assert "/temperature: 290.5, 291.5\n" in self.git("git difftool -y -t h5mount HEAD~ HEAD")
