"""What h5grove's own tests ask of its endpoints, asked of the program, which serves a directory of files as
h5grove does.

Each case is asked with and without a last slash. ServeApi (test_api.py) has what goes beyond it.
"""
import contextlib
import io
import json
import math
import os
import struct
import urllib.parse

import h5py
import numpy as np

from serving import Serve, ServeTest

TYPES = {
    "json": "application/json",
    "bin": "application/octet-stream",
    "npy": "application/octet-stream",
    "csv": "text/csv",
    "tiff": "image/tiff",
}
ENDPOINTS = ("meta", "attr", "data", "stats", "paths")
RESOLUTIONS = ("none", "only_valid", "all")


def pixels(text, dtype):
    """The image of a TIFF of one page without compression."""
    order = {b"II": "<", b"MM": ">"}[text[:2]]
    big = struct.unpack_from(order + "H", text, 2)[0] == 43
    at = struct.unpack_from(order + ("Q" if big else "I"), text, 8 if big else 4)[0]
    count = struct.unpack_from(order + ("Q" if big else "H"), text, at)[0]
    tags = {}
    for i in range(count):
        entry = at + (8 + 20 * i if big else 2 + 12 * i)
        tag, kind = struct.unpack_from(order + "HH", text, entry)
        length = struct.unpack_from(order + ("Q" if big else "I"), text, entry + 4)[0]
        place, room = (entry + 12, 8) if big else (entry + 8, 4)
        letter = {1: "B", 2: "s", 3: "H", 4: "I", 5: "2I", 16: "Q"}[kind]
        if struct.calcsize(letter) * length > room:
            place = struct.unpack_from(order + ("Q" if big else "I"), text, place)[0]
        tags[tag] = struct.unpack_from(
            f"{order}{length}{letter}" if len(letter) == 1 else order + letter * length, text, place
        )
    assert tags.get(259, (1,))[0] == 1, tags
    data = b"".join(text[begin : begin + length] for begin, length in zip(tags[273], tags[279]))
    return np.frombuffer(data, np.dtype(dtype).newbyteorder(order)).reshape(tags[257][0], tags[256][0])


def decoded(text, form, dtype, shape):
    if form == "json":
        return np.array(json.loads(text), dtype).reshape(shape)
    if form == "bin":
        return np.frombuffer(text, dtype).reshape(shape)
    if form == "npy":
        array = np.load(io.BytesIO(text))
        assert array.dtype == dtype and array.shape == tuple(shape), (array.dtype, array.shape)
        return array
    if form == "csv":
        return np.loadtxt(io.BytesIO(text), delimiter=",", ndmin=len(shape)).astype(dtype)
    return pixels(text, dtype)


def number(size, dtype=None, order=0, sign=1):
    return {"class": 0, "dtype": dtype or "<i%d" % size, "size": size, "order": order, "sign": sign}


def float_type(size, order=0):
    return {"class": 1, "dtype": "<>"[order] + "f%d" % size, "size": size, "order": order}


class H5groveEndpoints(ServeTest):
    def setUp(self):
        super().setUp()
        os.mkdir("served")

    def write(self, name="test.h5", **how):
        return h5py.File("served/" + name, "w", **how)

    @contextlib.contextmanager
    def serve(self):
        with Serve("-o", "external=beneath", "served") as self.server:
            yield

    def ask(self, endpoint, path, file="test.h5", status=200, form="json", **more):
        """The body of the answer, which has that status."""
        query = urllib.parse.urlencode({"file": file, "path": path, **more}, doseq=True)
        answers = [self.server.get("/api/%s%s?%s" % (endpoint, slash, query)) for slash in ("", "/")]
        assert answers[0].data == answers[1].data and answers[0].status == answers[1].status, (
            endpoint,
            query,
        )
        answer = answers[0]
        assert answer.status == status, (endpoint, query, answer.status, answer.data[:300])
        assert answer.headers["Content-Type"] == TYPES[form], (
            endpoint,
            query,
            answer.headers["Content-Type"],
        )
        return answer.data

    def json(self, endpoint, path="/", **more):
        return json.loads(self.ask(endpoint, path, **more))

    def data(self, path, form, kind, shape, **more):
        return decoded(self.ask("data", path, format=form, form=form, **more), form, np.dtype(kind), shape)

    def refusal(self, status, endpoint, path, **more):
        message = json.loads(self.ask(endpoint, path, status=status, **more))
        assert list(message) == ["message"] and message["message"], message
        return message["message"]

    def test_the_root_says_that_the_server_is_there(self):
        self.write().close()
        with self.serve():
            for target in ("/api", "/api/", "/.h5/api/"):
                answer = self.server.get(target)
                assert answer.status == 200 and answer.data == b"ok", (target, answer.data)

    def test_attributes_all_and_some(self):
        values = {
            "NX_class": "NXRoot",
            "default": "entry",
            "version": "4.0",
            "n": 5,
            "half": np.float16(0.5),
            "flag": np.bool_(True),
            "list": [1, 2],
            "bytes": np.bytes_("abc"),
            "texts": ["a", "b"],
        }
        with self.write() as f:
            f.attrs.update(values)
            f["data"] = 1
            f["data"].attrs["units"] = "m"
            f["type"] = np.dtype("<i2")
            f["type"].attrs["of"] = "type"
        plain = {**values, "half": 0.5, "flag": True, "bytes": "abc"}
        with self.serve():
            assert self.json("attr") == plain, self.json("attr")
            assert self.json("attr", attr_keys=["default", "NX_class"]) == {
                k: plain[k] for k in ("NX_class", "default")
            }
            assert self.json("attr", attr_keys="n") == {"n": 5}
            assert self.json("attr", "/data") == {"units": "m"} and self.json("attr", "/type") == {
                "of": "type"
            }
            self.refusal(404, "attr", "/", attr_keys=["n", "none"])

    def test_an_array_in_every_format(self):
        rng = np.random.default_rng(1)
        arrays = {
            "double": rng.random((128, 128)),
            "single": rng.random((64, 5)).astype("<f4"),
            "chunked": rng.integers(0, 60000, (70, 90)).astype("<u2"),
        }
        with self.write() as f:
            for name, array in arrays.items():
                options = (
                    {"chunks": (16, 16), "compression": "gzip", "shuffle": True} if name == "chunked" else {}
                )
                f.create_dataset("entry/" + name, data=array, **options)
        with self.serve():
            for name, array in arrays.items():
                for form in TYPES:
                    got = self.data("/entry/" + name, form, array.dtype, array.shape)
                    assert np.array_equal(got, array), (name, form)
                for selection in ("3:9,1:4", "5:6", "::7,::2", "-4:,:"):
                    want = eval("array[%s]" % selection)
                    for form in TYPES:
                        assert np.array_equal(
                            self.data("/entry/" + name, form, array.dtype, want.shape, selection=selection),
                            want,
                        )

    def test_a_scalar_and_nothing_at_all(self):
        with self.write() as f:
            f["entry/scalar"] = np.int64(5)
            f["real"] = 0.1
            f["word"] = "text"
            f["empty"] = h5py.Empty("<f4")
        with self.serve():
            for form in ("json", "bin", "npy"):
                assert (
                    self.data("/entry/scalar", form, "<i8", ()) == 5
                    and self.data("/real", form, "<f8", ()) == 0.1
                )
            for path in ("/entry/scalar", "/empty"):
                for form in ("csv", "tiff"):
                    self.refusal(422, "data", path, format=form)
            assert self.json("data", "/empty") is None and self.json("data", "/word") == "text"

    def test_a_safe_type_is_one_that_scripts_have(self):
        safe = {
            "<f2": "<f4",
            ">f2": "<f4",
            ">f4": "<f4",
            ">f8": "<f8",
            np.longdouble: "<f8",
            ">i2": "<i2",
            "<i8": "<i8",
            ">u8": "<u8",
            "|u1": "|u1",
            ">c8": "<c8",
            "<c16": "<c16",
        }
        given = np.random.default_rng(1).random((12, 5)) * 100
        with self.write() as f:
            for i, dtype in enumerate(safe):
                f["entry/%d" % i] = given.astype(dtype)
            f["flags"] = given > 50
            f["word"] = "I am not numeric"
            f["rows"] = np.zeros(2, [("a", "<i4")])
            f["raw"] = np.void(b"\0\1")
        with self.serve():
            for i, (dtype, wanted) in enumerate(safe.items()):
                array, path = given.astype(dtype), "/entry/%d" % i
                for form in ("bin", "npy"):
                    got = self.data(path, form, wanted, array.shape, dtype="safe")
                    assert np.array_equal(got, array.astype(wanted)), (dtype, form)
                    assert np.array_equal(
                        self.data(path, form, np.dtype(dtype), array.shape, dtype="origin"), array
                    ), (dtype, form)
            assert np.array_equal(self.data("/flags", "bin", "?", (12, 5), dtype="safe"), given > 50)
            for path in ("/word", "/rows", "/raw"):
                self.refusal(422, "data", path, dtype="safe")

    def test_parts_and_flat_arrays(self):
        array = np.random.default_rng(1).random((12, 8, 5))
        with self.write() as f:
            f["entry/image"] = array
            f["scalar"] = 3
        with self.serve():
            for selection in (
                "1",
                "10,0",
                "10,0,2",
                "2:4",
                "0:10:5, 2, 3:",
                ":,:,1",
                "-1,-2:",
                "::3,::2,::4",
                "5:5",
                "100:",
            ):
                want = np.asarray(eval("array[%s]" % selection))
                for form in ("json", "npy", "bin"):
                    got = self.data("/entry/image", form, "<f8", want.shape, selection=selection)
                    assert np.array_equal(got, want), (selection, form)
                flat = self.json("data", "/entry/image", selection=selection, flatten="True")
                assert np.array_equal(flat, want.ravel() if want.ndim else want), (selection, flat)
                for word in ("false", "False"):
                    assert (
                        self.json("data", "/entry/image", selection=selection, flatten=word) == want.tolist()
                    ), selection
            assert self.json("data", "/scalar", flatten="true") == 3
            for selection in ("12", "-13", "0,0,0,0", "a", "1:b", "1.5", ""):
                if selection:
                    self.refusal(422, "data", "/entry/image", selection=selection)

    def test_booleans_enumerations_complex_numbers_and_opaque_bytes(self):
        flags, colours = np.array([True, False, True, True]), h5py.enum_dtype(
            {"RED": -1, "BLUE": 2}, basetype="<i2"
        )
        with self.write() as f:
            f["bool"] = flags
            f["colours"] = np.array([2, -1, 2], colours)
            f["complex"] = np.array([[1 + 2j, -3.5j], [complex(math.nan, math.inf), 0]])
            f["opaque"] = np.void(b"\x00\xff\x41")
        with self.serve():
            assert (
                np.array_equal(self.data("/bool", "bin", "?", (4,)), flags)
                and self.json("data", "/bool") == flags.tolist()
            )
            assert self.json("data", "/colours") == [2, -1, 2]
            assert self.data("/colours", "bin", "<i2", (3,)).tolist() == [2, -1, 2]
            meta = self.json("meta", "/colours")["type"]
            assert meta == {
                "class": 8,
                "dtype": "<i2",
                "size": 2,
                "members": {"RED": -1, "BLUE": 2},
                "base": number(2),
            }, meta
            meta = self.json("meta", "/bool")["type"]
            assert (meta["class"], meta["dtype"], meta["members"]) == (
                8,
                "|b1",
                {"FALSE": 0, "TRUE": 1},
            ), meta
            assert self.json("data", "/complex") == [[[1, 2], [0, -3.5]], [[None, None], [0, 0]]]
            members = [{"name": name, **float_type(8)} for name in "ri"]
            assert self.json("meta", "/complex")["type"] == {
                "class": 6,
                "dtype": "<c16",
                "size": 16,
                "members": members,
            }
            assert self.ask("data", "/opaque", format="bin", form="bin") == b"\x00\xff\x41"
            assert self.json("meta", "/opaque")["type"] == {"class": 5, "dtype": "|V3", "size": 3, "tag": ""}

    def test_numbers_at_the_ends_of_their_types(self):
        ends = {
            name: np.array([np.iinfo(name).min, np.iinfo(name).max], name)
            for name in ("<i8", "<u8", ">i4", "|i1")
        }
        reals = np.array([0.1, math.nan, math.inf, -math.inf, 5e-324, 1.7976931348623157e308, -0.0])
        with self.write() as f:
            for name, array in ends.items():
                f[name[1:]] = array
            f["reals"] = reals
            f["single"] = reals[:4].astype("<f4")
        with self.serve():
            for name, array in ends.items():
                text = self.ask("data", "/" + name[1:])
                assert json.loads(text) == array.tolist(), text
                assert np.array_equal(self.data("/" + name[1:], "npy", name, (2,)), array)
            assert self.json("data", "/reals") == [
                0.1,
                None,
                None,
                None,
                5e-324,
                1.7976931348623157e308,
                -0.0,
            ]
            for path, array in (("/reals", reals), ("/single", reals[:4].astype("<f4"))):
                for form in ("bin", "npy", "csv"):
                    got = self.data(path, form, array.dtype, array.shape)
                    assert np.array_equal(got, array, equal_nan=True), (path, form, got)

    def test_what_a_committed_type_is(self):
        with self.write() as f:
            f["committed"] = np.dtype("<f8")
            f.create_dataset("of it", (2,), f["committed"])
        kind = {"class": 1, "dtype": "<f8", "size": 8, "order": 0}
        with self.serve():
            assert self.json("meta", "/committed") == {
                "attributes": [],
                "kind": "datatype",
                "name": "committed",
                "type": kind,
            }
            assert self.json("meta", "/of it")["type"] == kind
            for endpoint in ("data", "stats", "paths"):
                self.refusal(422, endpoint, "/committed")

    def test_what_chunks_and_filters_a_dataset_has(self):
        given = {
            "deflated": ({"compression": "gzip", "shuffle": True}, [(2, "shuffle"), (1, "deflate")]),
            "lzf": ({"compression": "lzf", "fletcher32": True}, [(32000, "lzf"), (3, "fletcher32")]),
            "plain": ({}, None),
        }
        with self.write() as f:
            for name, (options, _) in given.items():
                f.create_dataset(
                    name, data=np.arange(100).reshape(10, 10), dtype="<f8", chunks=(5, 4), **options
                )
        with self.serve():
            for name, (_, filters) in given.items():
                listed = filters and [{"id": id, "name": called} for id, called in filters]
                meta = self.json("meta", "/" + name)
                assert meta == {
                    "attributes": [],
                    "chunks": [5, 4],
                    "filters": listed,
                    "kind": "dataset",
                    "name": name,
                    "shape": [10, 10],
                    "type": float_type(8),
                }, meta

    def test_compounds_of_every_kind_of_member(self):
        dogs = np.array(
            [("Rex", 9, 81.0), ("Fido", 3, 27.0)], [("name", "S10"), ("age", "<i4"), ("weight", "<f4")]
        )
        with self.write() as f:
            f["dogs"] = dogs
            f["target"] = 0
            opaque = np.void(b"\x00\x11\x22")
            kinds = [
                ("opaque", opaque.dtype),
                ("enum", h5py.enum_dtype({"H2G2": 42})),
                ("arr", h5py.string_dtype(), (1,)),
                ("vlen", h5py.vlen_dtype(np.dtype("<u8"))),
                ("ref", h5py.ref_dtype),
                ("in", [("x", "<i2"), ("y", ">f4", (2,))]),
            ]
            row = (
                opaque,
                42,
                np.array(["bar"], object),
                np.array([7, 8], "<u8"),
                f["target"].ref,
                (1, [2, 3]),
            )
            f["foo"] = np.array([row], kinds)
        text = {"class": 3, "dtype": "|O", "size": 8, "cset": 1, "strpad": 0, "vlen": True}
        with self.serve():
            meta = self.json("meta", "/dogs")["type"]
            name = {
                "name": "name",
                "class": 3,
                "dtype": "|S10",
                "size": 10,
                "cset": 0,
                "strpad": 1,
                "vlen": False,
            }
            assert meta == {
                "class": 6,
                "dtype": {"name": "|S10", "age": "<i4", "weight": "<f4"},
                "size": 18,
                "members": [name, {"name": "age", **number(4)}, {"name": "weight", **float_type(4)}],
            }, meta
            assert self.json("data", "/dogs") == [["Rex", 9, 81], ["Fido", 3, 27]]
            assert self.ask("data", "/dogs", format="bin", form="bin") == dogs.tobytes()
            assert self.json("data", "/dogs", selection="1") == ["Fido", 3, 27]
            meta = self.json("meta", "/foo")["type"]
            assert meta["dtype"] == {
                "opaque": "|V3",
                "enum": "|u1",
                "arr": "|V8",
                "vlen": "|O",
                "ref": "|O",
                "in": {"x": "<i2", "y": "|V8"},
            }, meta
            members = {member.pop("name"): member for member in meta["members"]}
            assert meta["size"] == 46 and list(members) == [kind[0] for kind in kinds], meta
            assert members["enum"] == {
                "class": 8,
                "dtype": "|u1",
                "size": 1,
                "members": {"H2G2": 42},
                "base": number(1, "|u1", sign=0),
            }, members
            assert members["arr"] == {
                "class": 10,
                "dtype": "|V8",
                "size": 8,
                "dims": [1],
                "base": text,
            }, members
            assert members["vlen"] == {
                "class": 9,
                "dtype": "|O",
                "size": 16,
                "base": number(8, "<u8", sign=0),
            }, members
            assert members["ref"] == {"class": 7, "dtype": "|O", "size": 8}, members
            inner = members["in"]["members"][1]
            assert inner == {
                "name": "y",
                "class": 10,
                "dtype": "|V8",
                "size": 8,
                "dims": [2],
                "base": float_type(4, 1),
            }, inner
            got = self.json("data", "/foo")[0]
            assert got[1:4] == [42, ["bar"], [7, 8]] and got[5] == [1, [2, 3]] and "reference" in got[4], got

    def test_a_group_and_its_children(self):
        with self.write() as f:
            f.attrs.update({"NX_class": "NXRoot", "default": "entry"})
            f.create_group("group").attrs["deep"] = 1
            f["data"] = np.arange(10)
            f["hard"] = f["group"]
            f["group/sub/x"] = 1
        with self.serve():
            meta = self.json("meta")
            assert [(a["name"], a["shape"], a["type"]["class"]) for a in meta["attributes"]] == [
                ("NX_class", [], 3),
                ("default", [], 3),
            ]
            assert (meta["kind"], meta["name"], list(meta)) == (
                "group",
                "",
                ["attributes", "children", "kind", "name"],
            ) or set(meta) == {"attributes", "children", "kind", "name"}, meta
            children = {child["name"]: child for child in meta["children"]}
            assert list(children) == ["data", "group", "hard"] and children["data"]["shape"] == [10], children
            # A child is told without children of its own.
            assert (
                children["group"] == dict(children["hard"], name="group")
                and "children" not in children["group"]
            )
            assert [child["name"] for child in self.json("meta", "/hard")["children"]] == ["sub"]
            assert self.json("data", "/hard/sub/x") == 1

    def test_a_link_to_another_file_is_resolved_unless_none_is(self):
        with self.write("source.h5") as f:
            f["data"] = np.arange(10, dtype="<f8")
            f["data"].attrs["a"] = 1
        with self.write("link.h5") as f:
            f["ext_link"] = h5py.ExternalLink("source.h5", "data")
            f["soft"] = h5py.SoftLink("ext_link")
        link = {
            "kind": "external_link",
            "name": "ext_link",
            "target_file": "source.h5",
            "target_path": "data",
        }
        with self.serve():
            for resolution in RESOLUTIONS:
                meta = self.json("meta", "/ext_link", file="link.h5", resolve_links=resolution)
                if resolution == "none":
                    assert meta == link, meta
                    continue
                assert (meta["kind"], meta["name"], meta["shape"]) == ("dataset", "ext_link", [10]), meta
                assert (
                    meta["type"] == float_type(8) and meta["chunks"] is None and meta["filters"] is None
                ), meta
            for path in ("/ext_link", "/soft"):
                assert self.json("data", path, file="link.h5") == list(range(10))
                assert self.json("attr", path, file="link.h5") == {"a": 1}
                assert self.json("stats", path, file="link.h5")["max"] == 9

    def test_a_link_that_leads_nowhere_is_itself_unless_all_are_resolved(self):
        links = {
            "link": h5py.SoftLink("not_an_entity"),
            "file": h5py.ExternalLink("none.h5", "/x"),
            "object": h5py.ExternalLink("test.h5", "/none"),
            "circle": h5py.SoftLink("circle"),
        }
        with self.write() as f:
            for name, link in links.items():
                f[name] = link
            f["good"] = 1
        with self.serve():
            for name, link in links.items():
                described = {"kind": "soft_link", "name": name, "target_path": link.path}
                if isinstance(link, h5py.ExternalLink):
                    described.update(kind="external_link", target_file=link.filename)
                for path in (name, "/" + name):
                    for resolution in ("none", "only_valid", "None", "false"):
                        meta = self.json("meta", path, resolve_links=resolution)
                        assert meta == described, (resolution, meta)
                    assert self.json("meta", path) == described
                    for resolution in ("all", "true", "ALL"):
                        assert "Cannot resolve" in self.refusal(404, "meta", path, resolve_links=resolution)
                assert described in self.json("meta")["children"], name
                for endpoint in ("attr", "data", "stats"):
                    assert "Cannot resolve" in self.refusal(404, endpoint, name), endpoint
            assert self.json("paths") == ["/"] + sorted("/" + name for name in (*links, "good"))
            assert "Cannot resolve" in self.refusal(404, "paths", "/", resolve_links="all")

    def test_statistics(self):
        names = ("strict_positive_min", "positive_min", "min", "max", "mean", "std")
        cases = {
            "negative": (-10, (None, None, -10, -10, -10, 0)),
            "nothing": ([], (None,) * 6),
            "mixed": ([-10, -5, -1, 0, 1, 5, 10, math.nan, math.inf], (1, 0, -10, 10, 0.0, 6.0)),
            "no number": ([math.nan, math.inf, -math.inf], (None,) * 6),
            "whole": (np.array([1, 2]), (1, 1, 1, 2, 1, 0)),
            "flags": ([True, False], (1, 0, 0, 1, 0, 0)),
            "square": (np.full((3, 3), 2.5), (2.5, 2.5, 2.5, 2.5, 2.5, 0)),
        }
        with self.write() as f:
            for name, (values, _) in cases.items():
                f[name] = values
            f["word"] = "text"
        with self.serve():
            for name, (_, expected) in cases.items():
                assert self.json("stats", "/" + name) == dict(zip(names, expected)), (
                    name,
                    self.json("stats", "/" + name),
                )
            assert self.json("stats", "/mixed", selection="1:3")["mean"] == -3
            self.refusal(422, "stats", "/word")
            self.refusal(422, "stats", "/")

    def test_paths_of_a_tree(self):
        with self.write() as f:
            f["tree/branch/fruit"] = "apple"
            f["tree/branch/fruit_2"] = h5py.SoftLink("fruit")
            f["tree/other_branch"] = 5
            f["tree_2/branch"] = h5py.SoftLink("/tree/branch")
            f["tree_2/trunk"] = "birch"
            f["tree_3"] = h5py.ExternalLink("test2.h5", "/another_tree")
        below = ["/tree/branch", "/tree/branch/fruit", "/tree/branch/fruit_2"]
        with self.serve():
            assert self.json("paths") == [
                "/",
                "/tree",
                *below,
                "/tree/other_branch",
                "/tree_2",
                "/tree_2/branch",
                "/tree_2/trunk",
                "/tree_3",
            ]
            assert self.json("paths", "/tree/branch") == below
            self.refusal(422, "paths", "/tree/other_branch")

    def test_what_is_not_there_is_not_found(self):
        with self.write() as f:
            f["data"] = 0
        open("served/text.h5", "w").write("no HDF5")
        with self.serve():
            for endpoint in ENDPOINTS:
                for path in ("not_a_path", "/not_a_path", "/data/x", "/not/a/path"):
                    assert "is not a valid path in test.h5" in self.refusal(404, endpoint, path), path
                for file in ("not_a_file.h5", "../served/test.h5", "test.h5/data"):
                    assert "File not found" in self.refusal(404, endpoint, "/", file=file), file
                # h5grove says that there is no such file, which hides what is wrong with it.
                assert "not an HDF5 file" in self.refusal(500, endpoint, "/", file="text.h5")

    def test_what_may_not_be_read_is_refused(self):
        with self.write() as f:
            f["data"] = 10
        os.chmod("served/test.h5", 0o200)
        with self.serve():
            for endpoint in ENDPOINTS:
                said = self.refusal(403, endpoint, "/")
                assert "Permission denied" in said, said

    def test_what_cannot_be_answered_in_that_form_is_refused(self):
        with self.write() as f:
            f["number"], f["word"], f["group/x"] = 500, "I am not numeric", 1
            f["cube"] = np.zeros((2, 2, 2))
        with self.serve():
            for form in ("csv", "npy", "tiff"):
                self.refusal(422, "data", "/word", format=form)
            for form in ("foo", "JSON", ""):
                self.refusal(422, "data", "/number", format=form)
            for resolution in ("maybe", ""):
                self.refusal(422, "meta", "/number", resolve_links=resolution)
            self.refusal(422, "data", "/number", dtype="foo")
            self.refusal(422, "data", "/cube", format="csv")
            self.refusal(422, "data", "/group")
            self.refusal(422, "stats", "/group")
