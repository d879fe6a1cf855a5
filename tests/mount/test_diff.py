"""h5mount --diff: what is told of two files that differ, and what is not."""
import json

import h5py
import numpy as np

from mount.told_diff import diff, equal, pair, told
from support.program import H5MOUNT, ProgramTest, run


class Diff(ProgramTest):
    def test_names_and_kinds(self):
        def write(f, name):
            f[f"only_{name}/below/deep"] = 1
            f["both/same"] = 1
            f["kind"] = np.dtype("<i4") if name == "a" else 1
            f["linked"] = 1
            if name == "a":
                del f["linked"]
                f["linked"] = h5py.SoftLink("/both")

        pair(write)
        assert set(told("a.h5", "b.h5")) == {
            ("/only_a", "only_a"),
            ("/only_b", "only_b"),
            ("/kind", "kind"),
            ("/linked", "kind"),
        }
        text = diff("a.h5", "b.h5").stdout.splitlines()
        assert text == [
            "/kind: kind datatype, dataset",
            "/linked: kind soft link, dataset",
            "/only_a: only in A",
            "/only_b: only in B",
        ], text

    def test_links_are_compared_and_not_followed(self):
        def write(f, name):
            f["x"] = 1 if name == "a" else 2
            f["same"] = h5py.SoftLink("/nowhere")
            f["soft"] = h5py.SoftLink("/x" + name)
            f["other"] = h5py.ExternalLink("file", "/x" + name)
            f["class"] = h5py.SoftLink("/x") if name == "a" else h5py.ExternalLink("f.h5", "/x")
            f["to_x"] = h5py.SoftLink("/x")

        pair(write)
        said = told("a.h5", "b.h5")
        assert set(said) == {
            ("/class", "link"),
            ("/other", "link"),
            ("/soft", "link"),
            ("/x", "value"),
        }, said
        assert said["/other", "link"]["a"] == {"file": "file", "target": "/xa"}, said
        assert said["/soft", "link"]["b"] == {"target": "/xb"}, said
        # A PATH is followed, as by the other commands; one that leads nowhere stands for itself.
        assert set(told("a.h5", "b.h5", "to_x")) == {("/x", "value")}
        equal("/same")
        assert set(told("a.h5", "b.h5", "soft")) == {("/soft", "link")}

    def test_shapes_and_types(self):
        def write(f, name):
            a = name == "a"
            f["shape"] = np.zeros((3, 4 if a else 5))
            f["scalar"] = 1.0 if a else [1.0]
            f["null"] = h5py.Empty("f8") if a else 1.0
            f["both_null"] = h5py.Empty("f8")
            f["size"] = np.zeros(2, "<i4" if a else "<i8")
            f["sign"] = np.zeros(2, "<i4" if a else "<u4")
            f["class"] = np.zeros(2, "<i4" if a else "<f4")
            f["member"] = np.zeros(2, [("x" if a else "y", "<i4")])
            f["named"] = np.dtype("<i4" if a else "<f8")
            f["two"] = np.zeros(2 if a else 3, "<i2" if a else "<i4")
            f.attrs["shape"] = [1, 2] if a else [1, 2, 3]
            f.attrs["type"] = np.int8(1) if a else np.int16(1)

        pair(write)
        said = told("a.h5", "b.h5")
        assert set(said) == {
            *((f"/{name}", "shape") for name in ("shape", "scalar", "null", "two", "@shape")),
            *((f"/{name}", "type") for name in ("size", "sign", "class", "member", "named", "two", "@type")),
        }, said
        assert [said["/shape", "shape"][side] for side in "ab"] == [[3, 4], [3, 5]]
        assert [said["/null", "shape"][side] for side in "ab"] == [None, []]
        assert [said["/sign", "type"][side] for side in "ab"] == ["<i4", "<u4"]
        text = diff("a.h5", "b.h5", "/shape").stdout + diff("a.h5", "b.h5", "/size").stdout
        assert text == "/shape: shape (3, 4), (3, 5)\n/size: type <i4, <i8\n", text

    def test_storage_is_equal(self):
        def write(f, name):
            a = name == "a"
            numbers = np.arange(24.0).reshape(4, 6)
            if not a:  # other places, orders and a bigger file
                f["dropped"] = np.zeros(1000)
                del f["dropped"]
            names = ["one", "two"] if a else ["two", "one"]
            group = f.create_group("g", track_order=a)
            for one in names:
                group[one] = numbers
                group.attrs[one] = 1
            f.create_dataset(
                "layout", data=numbers, **({} if a else {"chunks": (3, 2), "compression": "gzip"})
            )
            f.create_dataset("order", data=numbers, dtype="<f8" if a else ">f8")
            f.create_dataset("max", data=numbers, chunks=(2, 2), maxshape=(4, 6) if a else (None, None))
            f.create_dataset("fill", data=numbers, fillvalue=1 if a else 2)
            f.create_dataset("words", data=[b"ab", b"c"], dtype="S2" if a else "S9")
            f.create_dataset("text", data=["ab", "c"], dtype=h5py.string_dtype("utf-8" if a else "ascii"))
            f["hard"] = f["order"]
            if a:
                f["again"] = f["order"]
            else:
                f["again"] = f["order"][:]
            f.attrs["words"] = np.array([b"ab"], "S2" if a else "S7")

        pair(write)
        with h5py.File("b.h5", "r") as f, h5py.File("c.h5", "w", userblock_size=512, libver="latest") as g:
            for name in f:
                f.copy(name, g)
            g.attrs["words"] = f.attrs["words"]
        equal()
        p = diff("a.h5", "c.h5")
        assert p.returncode == 0 and p.stdout == "", p

    def test_values(self):
        def write(f, name):
            a = name == "a"
            x = np.arange(100, dtype="<i8").reshape(10, 10) + 2**60
            if not a:
                x[2, 3:] += 1
            f["x"] = x
            f["scalar"] = 3 if a else 4
            f["nan"] = [np.nan, -0.0]
            f.attrs["units"] = "cm" if a else "m"
            f.attrs["list"] = [1, 2, 3] if a else [1, 5, 3]

        pair(write)
        said = told("a.h5", "b.h5", "--first=2")
        assert set(said) == {(one, "value") for one in ("/x", "/scalar", "/@units", "/@list")}, said
        assert said["/x", "value"]["count"] == 7
        base = 2**60 + 23
        assert said["/x", "value"]["first"] == [
            {"index": [2, 3], "a": base, "b": base + 1},
            {"index": [2, 4], "a": base + 1, "b": base + 2},
        ], said
        assert said["/scalar", "value"]["first"] == [{"index": [], "a": 3, "b": 4}]
        assert said["/@list", "value"]["first"] == [{"index": [1], "a": 2, "b": 5}]
        text = diff("a.h5", "b.h5", "--first=1", "--ignore=/@list").stdout
        assert text == (
            '/@units: "cm", "m"\n/scalar: 3, 4\n/x: 7 values differ\n' f"  [2, 3]: {base}, {base + 1}\n"
        ), text
        assert diff("a.h5", "b.h5", "/x").stdout.count("\n") == 1 + 7
        assert diff("a.h5", "b.h5", "/x", "--first=0").stdout == "/x: 7 values differ\n"

    def test_what_is_not_finite_is_told_as_strings(self):
        def write(f, name):
            a = name == "a"
            f["x"] = [np.nan, np.inf, 1.0] if a else [-np.inf, 2.0, np.nan]
            f["c"] = np.array([(1 + 2j if a else complex(np.inf, np.nan), 2**64 - 1 - a)], "c16,u8")
            f.attrs["x"] = np.nan if a else b"NaN\x01\xff"
            f.attrs["y"] = np.float32(np.nan if a else 1)

        pair(write)
        said = told("a.h5", "b.h5")
        assert [(one["a"], one["b"]) for one in said["/x", "value"]["first"]] == [
            ("NaN", "-Infinity"),
            ("Infinity", 2.0),
            (1.0, "NaN"),
        ], said
        assert said["/c", "value"]["first"][0]["b"] == {
            "f0": {"r": "Infinity", "i": "NaN"},
            "f1": 2**64 - 1,
        }, said
        assert said["/@y", "value"]["first"][0]["a"] == "NaN" and ("/@x", "type") in said, said

    def test_tolerances(self):
        def write(f, name):
            more = 0 if name == "a" else 1
            f["x"] = np.array([10.0, 1000.0]) + more
            f["c"] = np.array([(1, 10.0 + more)], [("n", "<i4"), ("v", "<f8")])
            f.attrs["x"] = 10.0 + more

        pair(write)
        equal("--abs=1")
        equal("--rel=0.1")
        assert set(told("a.h5", "b.h5", "--rel=0.01")) == {(one, "value") for one in ("/x", "/c", "/@x")}
        assert told("a.h5", "b.h5", "/x", "--rel=0.01")["/x", "value"]["count"] == 1
        equal("--abs=0.5", "--rel=0.1")
        for words in (
            ["--abs=-1"],
            ["--ignore="],
            ["--rel=x"],
            ["--abs=nan"],
            ["--abs="],
            ["--first=-1"],
            ["--rel", "-0.1"],
        ):
            p = diff(*words, "a.h5", "b.h5")
            assert p.returncode == 2 and p.stdout == "" and p.stderr.count("\n") == 1, p

    def test_comments_are_told_as_their_attributes_in_the_mount(self):
        def write(f, name):
            f["x"] = 1
            f["y"] = 1
            f["x"].id  # pylint: disable=pointless-statement
            h5py.h5o.set_comment(f["x"].id, ("comment of " + name).encode())
            if name == "a":
                h5py.h5o.set_comment(f["y"].id, b"more")

        pair(write)
        said = told("a.h5", "b.h5")
        assert set(said) == {("/x@hdf5.comment", "value"), ("/y@hdf5.comment", "only_a")}, said
        assert said["/x@hdf5.comment", "value"]["first"][0]["b"] == "comment of b"
        equal("--ignore=*@hdf5.comment")

    def test_other_paths(self):
        def write(f, name):
            f["g/x"] = [1, 2]
            f["h/y"] = [1, 2]
            f["h/x"] = [1, 2 if name == "a" else 3]

        pair(write)
        said = told("a.h5", "b.h5", "/g", "/h")
        assert set(said) == {("/g/x", "value"), ("/g/y", "only_b")}, said
        p = diff("a.h5", "a.h5", "/g/x", "/h/y")
        assert p.returncode == 0, p
        # Of one side only, of neither.
        with h5py.File("b.h5", "r+") as f:
            del f["g"]
        assert set(told("a.h5", "b.h5", "/g/x")) == {("/g/x", "only_a")}
        assert set(told("b.h5", "a.h5", "/g/x")) == {("/g/x", "only_b")}
        p = diff("--json", "a.h5", "b.h5", "/h/yy")
        assert p.returncode == 2 and json.loads(p.stdout)["differences"] == [], p
        assert p.stderr.count("no such file or directory: /h/yy; did you mean /h/y?") == 2, p

    def test_usage_and_sources_that_cannot_be_opened(self):
        def write(f, name):
            f["x"] = name

        pair(write)
        with open("none.h5", "wb") as f:
            f.write(b"nothing of the kind" * 100)
        for words in (["a.h5"], ["a.h5", "b.h5", "x", "x", "x"], ["a.h5", "b.h5", "--wrong"], ["--diff=x"]):
            p = diff(*words)
            assert p.returncode == 2 and p.stderr.count("\n") == 1, p
        for words in (["a.h5", "missing.h5"], ["missing.h5", "a.h5"], ["a.h5", "none.h5"]):
            p = diff("--json", *words)
            assert p.returncode == 2 and p.stderr.count("\n") == 1 and ".h5" in p.stderr, p
            assert json.loads(p.stdout) == {"schema_version": 1, "equal": False, "differences": []}, p
        p = run(H5MOUNT, "--list", "--abs=1", "a.h5")
        assert p.returncode == 1 and "another command" in p.stderr, p

    def test_damage_is_trouble_and_the_rest_is_compared(self):
        def write(f, name):
            f.create_dataset("bad", data=np.arange(1000.0), chunks=(100,), compression="gzip")
            f["good"] = 1 if name == "a" else 2
            f["same"] = 1

        pair(write)
        with h5py.File("a.h5", "r") as f:
            info = f["bad"].id.get_chunk_info(3)
        with open("a.h5", "r+b") as f:
            f.seek(info.byte_offset)
            f.write(b"\xff" * info.size)
        p = diff("a.h5", "b.h5")
        assert p.returncode == 2 and p.stdout == "/good: 1, 2\n", p
        assert "a.h5: /bad: " in p.stderr and "b.h5" not in p.stderr, p
        p = diff("b.h5", "a.h5")
        assert p.returncode == 2 and p.stdout == "/good: 2, 1\n", p
        assert "a.h5: /bad: " in p.stderr and "b.h5" not in p.stderr, p
        said = json.loads(diff("--json", "a.h5", "b.h5").stdout)
        assert said["equal"] is False and len(said["differences"]) == 1, said
        said = json.loads(diff("--json", "a.h5", "b.h5", "/bad").stdout)
        assert said["equal"] is False and said["differences"] == [], said
        equal("/same")
        equal("--ignore=/bad", "--ignore=/good")

    def test_names_are_those_of_the_mount(self):
        strange = ["line\nbreak", "colour\x1b[31m", "50%25", "caf\u00e9", "..", "x" * 300]

        def write(f, name):
            group = f.create_group("g")
            for one in strange:
                group.attrs["a/" + one[:200]] = name
                space = h5py.h5s.create(h5py.h5s.SCALAR)
                h5py.h5d.create(group.id, one.encode(), h5py.h5t.STD_I32LE, space) if name == "a" else None
            group["hdf5"] = 1
            group["hdf5"].attrs["hdf5.kind"] = name

        pair(write)
        p = diff("a.h5", "b.h5")
        assert p.returncode == 1 and p.stdout.isprintable() is False, p
        lines = p.stdout.splitlines()
        assert len(lines) == 2 * len(strange) + 1 and all(line.isprintable() for line in lines), lines
        listed = run(H5MOUNT, "--list", "a.h5", "/g").stdout
        paths = {
            one["path"].rsplit("/", 1)[1]
            for one in json.loads(diff("--json", "a.h5", "b.h5").stdout)["differences"]
        }
        for name in paths - {"g"}:
            assert name in listed, (name, listed)
        assert ("/g/hdf5@%68df5.kind", "value") in told("a.h5", "b.h5")
        equal("--ignore=/g/*", "--ignore=*@*", "--ignore=/g/**")


class Ignore(ProgramTest):
    def setUp(self):
        super().setUp()

        def write(f, name):
            for path in ("x", "g/x", "g/y", "g/h/x", "other/deep/er/x"):
                f[path] = name
                f[path].attrs["date"] = name
                f[path].attrs["note"] = name
            f.attrs["date"] = name
            f["g"].attrs["date"] = name

        pair(write)

    def left(self, *globs):
        p = diff("--json", "a.h5", "b.h5", *("--ignore=" + one for one in globs))
        out = json.loads(p.stdout)["differences"]
        assert p.returncode == (1 if out else 0) and p.stderr == "", p
        return {one["path"] + ("@" + one["attribute"] if "attribute" in one else "") for one in out}

    def test_paths_with_all_below_them(self):
        everything = self.left()
        assert len(everything) == 17, everything
        below_g = {one for one in everything if one.startswith("/g/") or one == "/g@date"}
        assert self.left("/g") == everything - below_g
        assert self.left("g/") == everything - below_g
        assert self.left("/g/**") == everything - below_g | {"/g@date"}
        assert self.left("/g/x") == everything - {"/g/x", "/g/x@date", "/g/x@note"}
        assert self.left("/*/x") == everything - {"/g/x", "/g/x@date", "/g/x@note"}
        only_root = {"/@date", "/g@date", "/g/y", "/g/y@date", "/g/y@note"}
        assert self.left("**/x") == only_root
        assert self.left("/**/x") == only_root | {"/x", "/x@date", "/x@note"}
        assert self.left("/*") == {"/@date"}
        assert self.left("/") == self.left("**") == set()
        assert self.left("/g/[x-z]", "/[!g]*") == {
            "/@date",
            "/g@date",
            "/g/h/x",
            "/g/h/x@date",
            "/g/h/x@note",
        }
        assert self.left("/?") == {one for one in everything if one.startswith("/other")} | {"/@date"}

    def test_attributes(self):
        everything = self.left()
        values = {one for one in everything if "@" not in one}
        assert self.left("*@*") == values
        assert self.left("*@date") == {one for one in everything if not one.endswith("@date")}
        assert self.left("@date", "/@note") == everything - {"/@date"}
        assert self.left("/g*@date") == {
            one for one in everything if not (one.startswith("/g") and one.endswith("@date"))
        }
        assert self.left("/x@*") == everything - {"/x@date", "/x@note"}
        assert self.left("x@d?te") == everything - {"/x@date"}

    def test_what_is_ignored_at_one_path_counts_at_another(self):
        for name in "ab":
            with h5py.File(name + ".h5", "r+") as f:
                f["again"] = f["g"]
                f["g/loop"] = f["g"]
        assert self.left("/again", "/other", "/x", "/@date") == {
            *("/g" + one for one in ("@date", "/x", "/y", "/h/x")),
            *(f"/g/{one}@{attribute}" for one in ("x", "y", "h/x") for attribute in ("date", "note")),
        }
        assert "/g/x@date" in self.left("/again/*@date")
        assert self.left("/again@date", "/other", "/x", "*@note", "/@date") == {
            "/again/x",
            "/again/y",
            "/again/h/x",
            "/again/x@date",
            "/again/y@date",
            "/again/h/x@date",
            "/g@date",
        }
