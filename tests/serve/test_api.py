"""The interface below /api/ over the program itself, held against h5py."""
import http.client
import io
import json
import os
import socket
import urllib.parse

import h5py
import numpy as np

from serving import Serve, ServeTest, settle


def api(s, endpoint, path="/", **more):
    a = s.get("/api/%s?%s" % (endpoint, urllib.parse.urlencode(dict(path=path, **more))))
    assert a.status == 200, (a.status, a.data)
    return json.loads(a.data) if more.get("format", "json") == "json" else a.data


def message(s, target, status):
    a = s.get(target)
    assert a.status == status and a.headers["Content-Type"] == "application/json", (target, a.status, a.data)
    return json.loads(a.data)["message"]


class ServeApi(ServeTest):
    def test_every_type_is_described_and_read_as_numpy_has_it(self):
        with h5py.File("f.h5", "w") as f:
            f.attrs["title"] = "root"
            f.attrs["numbers"] = np.array([1.5, np.nan, np.inf])
            f.attrs["nothing"] = h5py.Empty("f4")
            f["image"] = np.arange(12, dtype=">f4").reshape(3, 4)
            f["half"] = np.array([1.5, -2], dtype=">f2")
            f["extended"] = np.array([0.1, -3], dtype="longdouble")
            f["most"] = np.array([2**64 - 1, 2**53 + 1], dtype="u8")
            f["flags"] = np.array([True, False])
            f["colours"] = np.array([2, 1], dtype=h5py.enum_dtype({"RED": 1, "BLUE": 2}, basetype="i2"))
            f["complex"] = np.array([1 + 2j, complex(np.nan, 3)])
            f["text"] = np.array(["a", "bé"], dtype=object)
            f["fixed"] = np.array([b"ab", b"c"], dtype="S4")
            rows = [("n", "<i4"), ("s", "S2"), ("v", "<u2", (2,))]
            f["rows"] = np.array([(1, b"x", [1, 2])], dtype=rows)
            f.create_dataset("ragged", (2,), dtype=h5py.vlen_dtype("<i4"))
            f["ragged"][0] = [1, 2, 3]
            f.create_dataset("refs", (2,), dtype=h5py.ref_dtype)
            f["refs"][0] = f["image"].ref
            f["raw"] = np.void(b"\x00\x11\x22")
            f["type"] = np.dtype("<f8")
            f["none"] = h5py.Empty("<f4")
            f["no rows"] = np.zeros((2, 0, 3))
            f["scalar"] = 5
            f.create_dataset(
                "chunked",
                data=np.arange(100.0).reshape(10, 10),
                chunks=(5, 5),
                compression="gzip",
                shuffle=True,
            )
            f["soft"] = h5py.SoftLink("/image")
            f["broken"] = h5py.SoftLink("nowhere")
            f["outer"] = h5py.ExternalLink("missing.h5", "/x")
        with h5py.File("f.h5") as f, Serve("f.h5") as s:
            assert s.get("/api/").data == b"ok" and s.get("/api").data == b"ok"
            children = {c["name"]: c for c in api(s, "meta")["children"]}
            assert list(children) == sorted(f), children.keys()
            image = children["image"]
            assert image == {
                "attributes": [],
                "chunks": None,
                "filters": None,
                "kind": "dataset",
                "name": "image",
                "shape": [3, 4],
                "type": {"class": 1, "dtype": ">f4", "size": 4, "order": 1},
            }, image
            assert children["soft"] == dict(image, name="soft")
            assert children["broken"] == {"kind": "soft_link", "name": "broken", "target_path": "nowhere"}
            assert children["outer"] == {
                "kind": "external_link",
                "name": "outer",
                "target_file": "missing.h5",
                "target_path": "/x",
            }
            assert children["chunked"]["chunks"] == [5, 5]
            assert children["chunked"]["filters"] == [
                {"id": 2, "name": "shuffle"},
                {"id": 1, "name": "deflate"},
            ]
            assert children["none"]["shape"] is None and children["scalar"]["shape"] == []
            flags = children["flags"]["type"]
            assert flags["dtype"] == "|b1" and flags["members"] == {"FALSE": 0, "TRUE": 1}
            assert children["colours"]["type"]["base"]["dtype"] == "<i2"
            assert children["refs"]["type"] == {"class": 7, "dtype": "|O", "size": 8}
            assert children["text"]["type"]["vlen"] is True and children["text"]["type"]["size"] == 8
            assert children["rows"]["type"]["dtype"] == {"n": "<i4", "s": "|S2", "v": "|V4"}
            assert api(s, "meta", "/type")["type"] == {"class": 1, "dtype": "<f8", "size": 8, "order": 0}
            assert api(s, "attr") == {"title": "root", "numbers": [1.5, None, None], "nothing": None}
            assert api(s, "attr", attr_keys="title") == {"title": "root"}
            data = {
                name: api(s, "data", "/" + name) for name in children if children[name]["kind"] == "dataset"
            }
            expected = {
                "image": f["image"][()].tolist(),
                "half": [1.5, -2],
                "extended": [0.1, -3],
                "most": [2**64 - 1, 2**53 + 1],
                "flags": [True, False],
                "colours": [2, 1],
                "complex": [[1, 2], [None, 3]],
                "text": ["a", "b\u00e9"],
                "fixed": ["ab", "c"],
                "rows": [[1, "x", [1, 2]]],
                "ragged": [[1, 2, 3], []],
                "raw": '\0\x11"',
                "none": None,
                "refs": ["<HDF5 object reference>", "<HDF5 object reference (null)>"],
                "no rows": [[], []],
                "scalar": 5,
                "chunked": f["chunked"][()].tolist(),
                "soft": f["image"][()].tolist(),
            }
            assert data == expected, {k: data[k] for k in data if data[k] != expected[k]}
            for name in (
                "image",
                "half",
                "extended",
                "most",
                "flags",
                "colours",
                "complex",
                "fixed",
                "rows",
                "scalar",
                "chunked",
            ):
                got = api(s, "data", "/" + name, format="bin")
                assert got == np.asarray(f[name][()]).tobytes(), (name, got)
            assert api(s, "data", "/image", flatten="true") == list(range(12))
            assert api(s, "data", "/raw", format="bin") == b"\x00\x11\x22"
            for name in ("image", "half", "extended", "most", "colours", "complex"):
                got = np.load(io.BytesIO(api(s, "data", "/" + name, format="npy")))
                assert got.dtype == f[name].dtype, (name, got.dtype)
                assert np.array_equal(got, f[name][()], equal_nan=True), name
            safe = {"image": "<f4", "half": "<f4", "extended": "<f8", "most": "<u8", "flags": "?"}
            for name, dtype in safe.items():
                got = api(s, "data", "/" + name, format="bin", dtype="safe")
                want = f[name][()].astype(dtype)
                assert np.array_equal(np.frombuffer(got, dtype).reshape(want.shape), want), name
            rows = api(s, "data", "/image", format="csv").splitlines()
            assert rows == [b"0.0,1.0,2.0,3.0", b"4.0,5.0,6.0,7.0", b"8.0,9.0,10.0,11.0"], rows
            assert api(s, "data", "/most", format="csv") == b"18446744073709551615\n9007199254740993\n"
            assert api(s, "data", "/image", format="tiff")[:2] in (b"II", b"MM")

    def test_floats_of_odd_sizes_are_the_numbers_that_numpy_has(self):
        def create(f, name, like, size, values):
            stored = like.copy()
            stored.set_size(size)
            place = h5py.h5d.create(f.id, name, stored, h5py.h5s.create_simple((len(values),)))
            place.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array(values))

        values = [0.1, -2.5, np.inf, 1e-320]
        with h5py.File("f.h5", "w") as f:
            create(f, b"five", h5py.h5t.IEEE_F32LE, 5, [0.1, -2.5, np.nan, 1e-40])
            create(f, b"nine", h5py.h5t.IEEE_F64BE, 9, values)
            f["halves"] = np.array([2.0625, 0.1, np.nan, 6e-8], "<f2")
            f["rows"] = np.array([(0.1, [True])], [("half", "<f2"), ("flag", "?", (1,))])
            f.attrs["half"] = np.float16(0.1)
        with h5py.File("f.h5") as f, Serve("f.h5") as s:
            five = f["five"][()].astype("<f8")
            kinds = {c["name"]: c["type"] for c in api(s, "meta")["children"]}
            assert [kinds[n]["dtype"] for n in ("five", "halves")] == ["<f8", "<f2"], kinds
            assert api(s, "data", "/five", format="bin") == five.tobytes()
            assert api(s, "data", "/five") == [five[0], -2.5, None, five[3]]
            got = api(s, "data", "/nine", format="bin", dtype="safe")
            assert got == np.array(values, "<f8").tobytes(), got
            assert api(s, "data", "/nine", selection="0:2") == [0.1, -2.5]
            assert api(s, "stats", "/nine")["max"] == 0.1
            halves = [2.0625, float("0.099975586"), None, float("5.9604645e-08")]
            assert api(s, "data", "/halves") == halves, api(s, "data", "/halves")
            assert api(s, "data", "/rows") == [[halves[1], [True]]] and api(s, "attr") == {"half": halves[1]}

    def test_dates_of_numpy_are_dates(self):
        texts = {
            "D": "1969-12-31",
            "m": "2024-07-03T09:46",
            "s": "2024-07-03T09:46:40",
            "ms": "1969-12-31T23:59:59.250",
            "ns": "2024-07-03T09:46:40.000000001",
        }
        shown = {
            "D": "1969-12-31T00:00:00",
            "m": "2024-07-03T09:46:00",
            "s": texts["s"],
            "ms": texts["ms"] + "000",
            "ns": texts["ns"],
        }
        with h5py.File("f.h5", "w") as f:
            for unit, text in texts.items():
                for order in "<>":
                    dates = np.array([text, "NaT"], "%sM8[%s]" % (order, unit))
                    f[unit + order] = dates.astype(h5py.opaque_dtype(dates.dtype))
            f["far"] = np.array([2**62], "<M8[s]").astype(h5py.opaque_dtype("<M8[s]"))
        with Serve("f.h5") as s:
            for unit in texts:
                for order in "<>":
                    assert api(s, "data", "/" + unit + order) == [shown[unit], None], unit + order
            assert len(api(s, "data", "/far")) == 1
            assert api(s, "meta", "/s<")["type"]["dtype"] == "<M8[s]"

    def test_csv_has_numbers_alone(self):
        with h5py.File("f.h5", "w") as f:
            f["flags"] = np.array([[True, False], [False, True]])
            f.create_dataset("arrays", (2,), np.dtype(("<i4", (2, 2))))
            f["arrays"][...] = np.arange(8).reshape(2, 2, 2)
        with Serve("f.h5") as s:
            assert api(s, "data", "/flags", format="csv") == b"1,0\n0,1\n"
            assert api(s, "data", "/arrays", format="csv", selection="1") == b"4,5\n6,7\n"
            message(s, "/api/data?path=/arrays&format=csv", 422)

    def test_selections_are_numpys_and_statistics_are_of_them(self):
        with h5py.File("f.h5", "w") as f:
            x = np.arange(600, dtype="<i2").reshape(10, 12, 5) - 100
            f.create_dataset("x", data=x, chunks=(3, 5, 2), compression="gzip")
            f["mixed"] = np.array([-10, -5, -1, 0, 1, 5, 10, np.nan, np.inf])
            f["below"] = np.array([-3, -2], dtype="i8")
            f["most"] = np.array([2**64 - 1], dtype="u8")
            f["empty"] = np.zeros(0)
            f["word"] = "text"
        with h5py.File("f.h5") as f:
            x = f["x"][()]
        with Serve("f.h5") as s:
            for text in (
                "0",
                "-1,2:9:3",
                "1:4,:,0",
                ":,::2",
                "5:2",
                "...,4",
                "1, 2:5",
                "9,11,4",
                "-3:,-4:-1,::2",
            ):
                want = eval("x[%s]" % text)
                assert api(s, "data", "/x", selection=text) == want.tolist(), text
                got = api(s, "data", "/x", selection=text, format="bin")
                assert got == want.tobytes(), text
                stats = api(s, "stats", "/x", selection=text)
                if want.size == 0:
                    assert set(stats.values()) == {None}
                    continue
                assert (stats["min"], stats["max"]) == (want.min(), want.max()), (text, stats)
                assert stats["mean"] == int(want.mean()) and stats["std"] == int(want.std()), (text, stats)
                over = want[want > 0]
                assert stats["strict_positive_min"] == (over.min() if over.size else None), (text, stats)
            names = ("strict_positive_min", "positive_min", "min", "max", "mean", "std")
            assert api(s, "stats", "/mixed") == dict(zip(names, (1, 0, -10, 10, 0.0, 6.0)))
            assert api(s, "stats", "/below") == dict(zip(names, (None, None, -3, -2, -2, 0)))
            assert api(s, "stats", "/most")["strict_positive_min"] == 2**64 - 1
            assert set(api(s, "stats", "/empty").values()) == {None}
            for target in (
                "stats?path=/word",
                "data?path=/x&selection=10",
                "data?path=/x&selection=0,0,0,0",
                "data?path=/x&selection=a",
                "data?path=/x&selection=::-1",
                "data?path=/x&format=foo",
                "data?path=/x&dtype=foo",
                "data?path=/x&format=csv",
                "data?path=/word&dtype=safe",
                "data?path=/word&format=npy",
                "data?path=/word&format=bin",
                "data?path=/",
                "meta?resolve_links=maybe",
                "paths?path=/x",
                "data?path=/x&reduce=minmax&points=5",
                "data?path=/mixed&reduce=minmax&points=0",
                "data?path=/mixed&reduce=foo&points=5",
            ):
                message(s, "/api/" + target, 422)

    def test_a_reduced_series_keeps_its_peaks_and_an_image_its_means(self):
        with h5py.File("f.h5", "w") as f:
            n = 300007
            y = np.sin(np.arange(n) / 1000).astype("<f4")
            y[123456] = 50
            y[7] = np.nan
            f.create_dataset("y", data=y, chunks=(4096,), compression="gzip")
            f["image"] = np.arange(97 * 53, dtype=">u2").reshape(97, 53)
            f["few"] = np.array([3, 1, 2])

        def bounds(parts, count):
            return [k * count // parts for k in range(parts + 1)]

        with h5py.File("f.h5") as f, Serve("f.h5") as s:
            got = api(s, "data", "/y", format="bin", reduce="minmax", points=1000)
            got = np.frombuffer(got, "<f4").reshape(-1, 2)
            y, at = f["y"][()], bounds(1000, f["y"].size)
            want = [(np.nanmin(y[a:b]), np.nanmax(y[a:b])) for a, b in zip(at, at[1:])]
            assert np.array_equal(got, np.array(want, dtype="<f4")) and got.max() == 50
            part = api(s, "data", "/y", selection="123000:124000", reduce="minmax", points=4)
            assert part[1][1] == 50 and len(part) == 4, part
            assert api(s, "data", "/few", reduce="minmax", points=10) == [[3, 3], [1, 1], [2, 2]]
            got = np.array(api(s, "data", "/image", reduce="mean", points="10,7"))
            image, rows, columns = f["image"][()], bounds(10, 97), bounds(7, 53)
            want = [
                [image[a:b, c:d].mean() for c, d in zip(columns, columns[1:])] for a, b in zip(rows, rows[1:])
            ]
            assert got.shape == (10, 7) and np.allclose(got, want)

    def test_paths_and_links_of_all_kinds(self):
        with h5py.File("f.h5", "w") as f:
            f["tree/branch/fruit"] = "apple"
            f["tree/branch/again"] = h5py.SoftLink("fruit")
            f["tree/other"] = 5
            f["second/branch"] = h5py.SoftLink("/tree/branch")
            f["second/up"] = f["/"]
            f["third"] = h5py.ExternalLink("other.h5", "/group")
            f["odd %2F name"] = 1
        with h5py.File("other.h5", "w") as f:
            f["group/x"] = [1, 2]
        everything = [
            "/",
            "/odd %2F name",
            "/second",
            "/second/branch",
            "/second/up",
            "/third",
            "/tree",
            "/tree/branch",
            "/tree/branch/again",
            "/tree/branch/fruit",
            "/tree/other",
        ]
        with Serve("f.h5") as s:
            assert api(s, "paths") == everything, api(s, "paths")
            assert api(s, "paths", "/tree/branch") == [
                "/tree/branch",
                "/tree/branch/again",
                "/tree/branch/fruit",
            ]
            assert api(s, "data", "/second/branch/again") == "apple"
            assert api(s, "data", "/second/up/tree/other") == 5
            assert api(s, "data", "/odd %2F name") == 1 and api(s, "data", "tree/./other/") == 5
            # Nothing of another file without leave; h5grove's words for what does not lead anywhere.
            assert api(s, "meta", "/third")["kind"] == "external_link"
            assert "is not opened" in message(s, "/api/meta?path=/third&resolve_links=all", 403)
            message(s, "/api/paths?resolve_links=all", 404)
            for endpoint in ("meta", "attr", "data", "paths", "stats"):
                assert "not a valid path" in message(s, "/api/%s?path=/tree/none" % endpoint, 404)
                assert "not a valid path" in message(s, "/api/%s?path=/tree/other/x" % endpoint, 404)
                assert "File not found" in message(s, "/api/%s?file=g.h5" % endpoint, 404)
                assert s.get("/api/%s/?file=f.h5&path=/tree/other" % endpoint).status in (200, 422)
        with Serve("-o", "external=beneath", "f.h5") as s:
            assert api(s, "meta", "/third")["children"][0]["shape"] == [2]
            assert api(s, "data", "/third/x") == [1, 2]
            assert api(s, "meta", "/third", resolve_links="none")["target_file"] == "other.h5"
            assert "ETag" not in s.get("/api/data?path=/third/x").headers
            os.chmod("other.h5", 0o600)
            os.chmod("f.h5", 0o644)
        with Serve("-o", "external=beneath", "f.h5") as s:
            assert api(s, "meta", "/third")["kind"] == "external_link"
            assert "Permission denied" in message(s, "/api/data?path=/third/x", 403)

    def test_groups_that_track_the_order_of_creation_are_listed_in_it(self):
        names = ["zeta", "alpha", "mid", "beta", "last"]
        with h5py.File("f.h5", "w", libver="latest") as f:
            for kind, flags, count in (
                ("tracked", h5py.h5p.CRT_ORDER_TRACKED, 5),
                ("dense", h5py.h5p.CRT_ORDER_TRACKED, 400),
                ("indexed", h5py.h5p.CRT_ORDER_TRACKED | h5py.h5p.CRT_ORDER_INDEXED, 5),
                ("plain", 0, 5),
            ):
                how = h5py.h5p.create(h5py.h5p.GROUP_CREATE)
                how.set_link_creation_order(flags)
                group = h5py.Group(h5py.h5g.create(f.id, kind.encode(), gcpl=how))
                for i in range(count):
                    name = names[i] if count == 5 else f"{i * 7919 % 400:03}"
                    group[name] = h5py.SoftLink("/plain") if i == 2 else np.arange(3)
        with Serve("f.h5") as s:
            for kind in ("tracked", "dense", "indexed", "plain"):
                want = [f"{i * 7919 % 400:03}" for i in range(400)] if kind == "dense" else names
                want = sorted(want) if kind == "plain" else want
                got = [child["name"] for child in s.json(f"/api/meta/?path=/{kind}")["children"]]
                assert got == want, (kind, got[:5])
                paths = s.json(f"/api/paths/?path=/{kind}")
                assert paths == [f"/{kind}"] + [f"/{kind}/{name}" for name in want], (kind, paths[:5])
            # A mount's order is that of an index, or of names.
            listed = [entry["name"] for entry in s.json("/tracked/?list")]
            assert listed == sorted(names), listed

    def test_what_changes_has_a_new_tag_and_a_new_version(self):
        with h5py.File("f.h5", "w") as f:
            f["x"] = np.arange(100)
            f["api/x"] = 1
        with Serve("f.h5", "f.h5") as s:
            for target in (
                "meta?path=/",
                "attr?path=/x",
                "data?path=/x",
                "data?path=/x&format=bin",
                "stats?path=/x",
                "paths?path=/",
            ):
                a = s.get("/api/%s&file=f.h5" % target)
                assert a.status == 200 and a.headers["ETag"], (target, a.status, a.data)
                assert (
                    s.get("/api/%s&file=f.h5" % target, If_None_Match=a.headers["ETag"]).status == 304
                ), target
            assert s.get("/api/meta").status == 404
            version = s.json("/api/version?file=f.h5")
            assert version == s.json("/api/version?file=f.h5")
            with h5py.File("g.h5", "w") as g:
                g["x"] = np.arange(5)
            os.rename("g.h5", "f.h5")
            settle("f.h5")
            other = s.json("/api/version?file=f.h5")
            assert other["version"] != version["version"], (version, other)
            assert other["opened"] != version["opened"], (version, other)
            assert len(json.loads(s.get("/api/data?path=/x&file=f.h5").data)) == 5

    def test_files_of_a_directory_are_named_by_their_paths(self):
        def make(name, value, mode="w"):
            with h5py.File(name, mode) as f:
                f["group/x"] = np.full(5, value)
                f["again"] = h5py.SoftLink("group")

        os.makedirs("all/run42/ä b")
        os.makedirs("more")
        make("all/run42/a.h5", 1)
        make("all/run42/ä b/c%2F.h5", 2)
        make("more/d.h5", 3)
        make("one.h5", 4)
        open("all/run42/broken.h5", "w").write("no HDF5")
        os.symlink("run42/a.h5", "all/link.h5")

        def value(s, file):
            return api(s, "data", "/group/x", file=file)[0]

        def tag(s, target):
            a = s.get(target)
            assert a.status == 200, (target, a.status)
            return a.headers["ETag"]

        with Serve("all") as s:
            assert value(s, "run42/a.h5") == 1 and value(s, "run42/ä b/c%2F.h5") == 2
            assert value(s, "link.h5") == 1 and value(s, "/run42/./a.h5/") == 1
            assert [c["name"] for c in api(s, "meta", file="run42/a.h5")["children"]] == ["again", "group"]
            assert api(s, "data", "/again/x", file="run42/a.h5") == [1] * 5
            for file in ("", "a.h5", "run42", "run42/a.h5/group", "all/run42/a.h5", "../one.h5"):
                message(s, "/api/meta?%s" % urllib.parse.urlencode({"file": file}), 404)
            assert "not an HDF5 file" in message(s, "/api/meta?file=run42/broken.h5", 500)
            message(s, "/api/meta", 404)
            views = api(s, "views", "/group/x", file="run42/ä b/c%2F.h5")["views"]
            npy = [v["href"] for v in views if v["name"] == "npy"][0]
            assert np.load(io.BytesIO(s.get("/" + npy).data))[0] == 2, npy
            # Each file has its own tags: they change with it, and with no other.
            targets = [
                "/%%s/%s" % t for t in ("group/x", "?list", "group/?list", ".h5/npy/group/x.npy", "again/x")
            ]
            targets += ["/api/%s?file=%%s&path=/group/x" % e for e in ("meta", "data", "attr", "stats")]
            a, c = ([tag(s, t % f) for t in targets] for f in ("run42/a.h5", "run42/%C3%A4%20b/c%252F.h5"))
            assert all(a) and all(c) and not set(a) & set(c), (a, c)
            for target, known in zip(targets, a):
                assert s.get(target % "run42/a.h5", If_None_Match=known).status == 304, target
            # Those of listings between files are of the listings' own texts.
            between = tag(s, "/?list"), tag(s, "/run42/?list")
            assert None not in between and between[0] != between[1], between
            assert s.get("/run42/?list", If_None_Match=between[1]).status == 304
            # What lies between files is a listing, for which none of them is opened: it leads to their pages.
            between = s.get("/run42/", Accept="text/html").data
            assert b'href="a.h5/"' in between and b'href="%C3%A4%20b/"' in between, between
            assert b"broken.h5" in between and b"error" not in between, between
            page = s.get("/run42/a.h5/group/", Accept="text/html").data
            assert b'data-name="run42/a.h5" data-path="/group"' in page or b"without H5Web" in page, page
            version = s.json("/api/version?file=run42/a.h5")
            make("new.h5", 7)
            os.rename("new.h5", "all/run42/a.h5")
            settle("all/run42/a.h5")
            assert not set(a) & {tag(s, t % "run42/a.h5") for t in targets} and value(s, "run42/a.h5") == 7
            assert c == [tag(s, t % "run42/%C3%A4%20b/c%252F.h5") for t in targets]
            other = s.json("/api/version?file=run42/a.h5")
            assert other["version"] != version["version"], (version, other)
            assert other["opened"] != version["opened"], (version, other)
            before = tag(s, "/run42/a.h5/group/x")
            make("all/run42/a.h5", 8)  # in its place
            settle("all/run42/a.h5")
            assert tag(s, "/run42/a.h5/group/x") != before and value(s, "run42/a.h5") == 8
        with Serve("all", "more", "one.h5") as s:
            assert value(s, "all/run42/a.h5") == 8 and value(s, "more/d.h5") == 3 and value(s, "one.h5") == 4
            for file in ("d.h5", "all", "one.h5/group", "run42/a.h5"):
                message(s, "/api/meta?file=%s" % file, 404)
            views = api(s, "views", "/group/x", file="more/d.h5")["views"]
            assert views[0]["href"] == "more/d.h5/group/x", views

    def test_an_object_named_api_is_not_hidden(self):
        with h5py.File("f.h5", "w") as f:
            f["api/meta"] = np.arange(3, dtype="u1")
        with Serve("f.h5") as s:
            assert s.get("/api/meta").data == b"\x00\x01\x02"
            assert s.json("/.h5/api/meta?path=/api/meta")["shape"] == [3]

    def test_what_is_too_much_work_for_a_request_is_named(self):
        # What a mapping covers counts as written, as only its source could tell.
        with h5py.File("f.h5", "w", libver="latest") as f:
            for name, shape in (("huge", (1 << 20, 1 << 12)), ("long", (1 << 35,))):
                f.create_dataset("of " + name, shape, "<f8", chunks=(1 << 10,) * len(shape), fillvalue=3)
                layout = h5py.VirtualLayout(shape, "<f8")
                layout[...] = h5py.VirtualSource(".", "/of " + name, shape)
                f.create_virtual_dataset(name, layout)
        with Serve("f.h5") as s:
            for target in (
                "stats?path=/huge",
                "stats?path=/long",
                "data?path=/huge&reduce=mean&points=9,9",
                "data?path=/long&reduce=minmax&points=9&format=bin",
                "stats?path=/huge&selection=:,5:",
            ):
                said = message(s, "/api/" + target, 422)
                assert "may not go through" in said and "selection= takes fewer" in said, said
            assert api(s, "stats", "/huge", selection="7:9")["max"] == 3
            assert api(s, "data", "/long", selection="5:6000", reduce="minmax", points=1) == [[3, 3]]

    def test_damage_is_local_and_named(self):
        with h5py.File("f.h5", "w") as f:
            f.create_dataset(
                "bad", data=np.arange(10000) % 7, chunks=(1000,), compression="gzip", fletcher32=True
            )
            f["good"] = 1
            f["lost"] = 2
            f["lost"].attrs.update(text="a text in the heap", number=5)
            f["image"] = np.arange(600).reshape(20, 30).astype("u1")
            f.create_dataset("colours", data=np.zeros((256, 3), "u1"), chunks=(256, 3), fletcher32=True)
            f["image"].attrs.update(CLASS=np.bytes_("IMAGE"), PALETTE=f["colours"].ref)
            f.create_dataset("shuffled", data=np.arange(100), chunks=(10,), shuffle=True)
        with h5py.File("f.h5") as f:
            damaged = [f[name].id.get_chunk_info(i).byte_offset for name, i in (("bad", 4), ("colours", 0))]
        with open("f.h5", "r+b") as f:
            content = f.read()
            heap = content.index(b"GCOL")
            f.seek(content.index(b"shuffle\0") + 8)
            f.write(bytes(4))  # the size of an element
            for at in damaged:
                f.seek(at + 5)
                f.write(b"\xff" * 8)
            f.seek(heap)
            f.write(b"LOST")
        with Serve("f.h5") as s:
            names = {c["name"] for c in api(s, "meta")["children"]}
            assert names == {"bad", "good", "lost", "image", "colours", "shuffled"}
            assert message(s, "/api/data?path=/bad&format=bin&selection=4000:5000", 500)
            assert message(s, "/api/stats?path=/bad", 500)
            assert "shuffle" in message(s, "/api/data?path=/shuffled", 500)
            # An attribute whose text is lost is null, the others are there.
            assert api(s, "attr", "/lost") == {"text": None, "number": 5}
            assert len(api(s, "data", "/bad", selection="0:1000")) == 1000
            # Samples are worth more than their colours.
            assert api(s, "data", "/image", format="tiff")[4096:4696] == bytes(i % 256 for i in range(600))
        assert open("serve.err").read().count("/image: ") == 1

    def test_nothing_follows_the_head_of_what_has_no_known_size(self):
        with h5py.File("f.h5", "w") as f:
            f.create_dataset("huge", (1 << 20, 1 << 12), "<f8", chunks=(1 << 10, 1 << 10), compression="gzip")
        with Serve("f.h5") as s, socket.create_connection(("127.0.0.1", int(s.port))) as client:
            client.sendall(b"HEAD /api/data?path=/huge HTTP/1.1\r\nHost: localhost\r\n\r\n")
            text = b""
            while part := client.recv(4096):
                text += part
        assert text.startswith(b"HTTP/1.1 200") and text.endswith(b"\r\n\r\n"), text
        assert text.count(b"\r\n\r\n") == 1 and b"chunked" not in text, text

    def test_data_of_any_size_is_sent_as_it_is_made(self):
        with h5py.File("f.h5", "w") as f:
            f.create_dataset("huge", (1 << 20, 1 << 12), "<f8", chunks=(1 << 10, 1 << 10), compression="gzip")

        def resident(pid):
            with open("/proc/%d/status" % pid) as f:
                return [int(line.split()[1]) >> 10 for line in f if line.startswith("VmHWM")][0]

        with Serve("-o", "cache_size=32M", "f.h5") as s:
            for more in ("", "&format=bin", "&format=csv", "&flatten=true"):
                target = "data?path=/huge" + more
                connection = http.client.HTTPConnection("127.0.0.1", int(s.port), timeout=60)
                connection.request("GET", "/api/" + target)
                answer = connection.getresponse()
                assert answer.status == 200 and len(answer.read(8 << 20)) == 8 << 20, target
                connection.close()
            assert resident(s.process.pid) < 32 + 128 + 64, resident(s.process.pid)
