"""What the test suite of ceph's object gateway (s3-tests) asserts of listings, ranges and conditions.

Over files whose datasets have the keys that it puts. Left out is what cannot be here: a key that is also the
prefix of another one (`foo/bar` beside `foo/bar/xyzzy`), keys that end with `/` and have something below
them, and extensions of ceph's own.
"""
import os
import time
import xml.etree.ElementTree as ET

import h5py
import numpy as np

from s3_client import code_of, plain, quote
from serving import Serve, ServeTest


def put(name, keys):
    """A file of datasets whose bytes are their names."""
    with h5py.File(name, "w") as f:
        for key in keys:
            f[key] = np.frombuffer(key.encode(), "u1")


def listed(s, bucket, **query):
    """What a listing says, with keys as they stand in it."""
    query = {k.replace("_", "-"): v for k, v in query.items()}
    a = s.get("/%s?%s" % (bucket, "&".join("%s=%s" % (k, quote(str(v))) for k, v in query.items())))
    assert a.status == 200, (a.status, a.data)
    out = {"keys": [], "prefixes": [], "owners": 0}
    for e in ET.fromstring(a.data):
        one = {plain(c.tag): c.text or "" for c in e}
        if plain(e.tag) == "Contents":
            out["keys"].append(one["Key"])
            out["owners"] += "Owner" in one
        elif plain(e.tag) == "CommonPrefixes":
            out["prefixes"].append(one["Prefix"])
        else:
            out[plain(e.tag)] = e.text or ""
    out["more"] = out["IsTruncated"] == "true"
    return out


def both(s, bucket, keys, prefixes, **query):
    """Holds that listings of either version have these keys and prefixes."""
    for version in ({}, {"list_type": 2}):
        found = listed(s, bucket, **version, **query)
        assert (found["keys"], found["prefixes"]) == (keys, prefixes), (bucket, query, found)
        for name, value in query.items():
            shown = {"delimiter": "Delimiter", "prefix": "Prefix", "max_keys": "MaxKeys"}.get(name)
            if shown and (value or shown == "Prefix"):
                assert found[shown] == str(value), (query, found)
            if shown == "Delimiter" and not value:
                assert "Delimiter" not in found
        if version:
            assert int(found["KeyCount"]) == len(keys) + len(prefixes)


def in_pages(s, bucket, size, expected, **query):
    """Holds that pages of `size` in turn are as expected: each as (keys, prefixes, whether there is more)."""
    marker = token = None
    for keys, prefixes, more in expected:
        query["max_keys"] = size
        one = listed(s, bucket, **query, **({"marker": marker} if marker else {}))
        two = listed(s, bucket, list_type=2, **query, **({"continuation_token": token} if token else {}))
        for page in (one, two):
            assert (page["keys"], page["prefixes"], page["more"]) == (keys, prefixes, more), page
        marker, token = one.get("NextMarker"), two.get("NextContinuationToken")
        assert (marker is not None, token is not None) == (more, more)
        if more:
            assert marker == (keys + prefixes)[-1], marker


class S3Conformance(ServeTest):
    def test_delimiters(self):
        put("alt.h5", ["bar", "baz", "cab", "foo"])
        put("percent.h5", ["b%ar", "b%az", "c%ab", "foo"])
        put("space.h5", ["b ar", "b az", "c ab", "foo"])
        put("dot.h5", ["b.ar", "b.az", "c.ab", "foo"])
        put("deep.h5", ["foo/bar", "foo/baz/xyzzy", "quux/thud", "asdf"])
        put("encoded.h5", ["foo+1/bar", "foo/bar/xyzzy", "quux ab/thud", "asdf+b"])
        put("many.h5", ["0/%d" % i for i in range(1000, 1999)] + ["1999", "1999#", "1999+", "2000"])
        put("prefix.h5", ["asdf", "boo/bar", "boo/baz/xyzzy", "cquux/thud", "cquux/bla"])
        put("under.h5", ["_obj1_", "_under1/bar", "_under1/baz/xyzzy", "_under2/thud", "_under2/bla"])
        names = ["alt", "percent", "space", "dot", "deep", "encoded", "many", "prefix", "under"]
        with Serve("--s3", *(n + ".h5" for n in names)) as s:
            both(s, "alt.h5", ["foo"], ["ba", "ca"], delimiter="a")
            both(s, "percent.h5", ["foo"], ["b%", "c%"], delimiter="%")
            both(s, "space.h5", ["foo"], ["b ", "c "], delimiter=" ")
            both(s, "dot.h5", ["foo"], ["b.", "c."], delimiter=".")
            both(s, "deep.h5", ["asdf"], ["foo/", "quux/"], delimiter="/")
            for delimiter in ("\n", "", "/"):
                both(s, "alt.h5", ["bar", "baz", "cab", "foo"], [], delimiter=delimiter)
            encoded = ["foo%2B1/", "foo/", "quux%20ab/"]
            both(s, "encoded.h5", ["asdf%2Bb"], encoded, delimiter="/", encoding_type="url")
            both(s, "many.h5", ["1999", "1999#", "1999+", "2000"], ["0/"], delimiter="/")
            for bucket, top, one, two in (
                ("prefix.h5", "asdf", "boo/", "cquux/"),
                ("under.h5", "_obj1_", "_under1/", "_under2/"),
            ):
                in_pages(
                    s, bucket, 1, [([top], [], True), ([], [one], True), ([], [two], False)], delimiter="/"
                )
                in_pages(s, bucket, 2, [([top], [one], True), ([], [two], False)], delimiter="/")
                below = {"delimiter": "/", "prefix": one}
                in_pages(s, bucket, 1, [([one + "bar"], [], True), ([], [one + "baz/"], False)], **below)
                in_pages(s, bucket, 2, [([one + "bar"], [one + "baz/"], False)], **below)

    def test_prefixes(self):
        put("a.h5", ["foo/bar", "foo/baz", "quux"])
        put("b.h5", ["bar", "bazar", "cab", "foo"])
        put("c.h5", ["b/a/c", "b/a/g", "b/a/r", "g"])
        put("d.h5", ["foo/bar", "foo/baz/xyzzy", "quux/thud", "asdf"])
        put("e.h5", ["_bla/1", "_bla/2", "_bla/3", "_bla/4", "abcd"])
        with Serve("--s3", "a.h5", "b.h5", "c.h5", "d.h5", "e.h5") as s:
            both(s, "a.h5", ["foo/bar", "foo/baz"], [], prefix="foo/")
            both(s, "a.h5", ["foo/bar", "foo/baz", "quux"], [], prefix="")
            for prefix in ("d", "\n", "/"):
                both(s, "a.h5", [], [], prefix=prefix)
            both(s, "b.h5", ["bar", "bazar"], [], prefix="ba")
            both(s, "b.h5", ["bar"], ["baza"], delimiter="a", prefix="ba")
            both(s, "c.h5", [], [], delimiter="d", prefix="/")
            both(s, "c.h5", [], [], delimiter="z", prefix="y")
            both(s, "c.h5", ["b/a/c", "b/a/g", "b/a/r"], [], delimiter="z", prefix="b")
            both(s, "d.h5", ["foo/bar"], ["foo/baz/"], delimiter="/", prefix="foo/")
            both(s, "e.h5", ["_bla/1", "_bla/2", "_bla/3", "_bla/4", "abcd"], [])
            both(s, "e.h5", ["_bla/1", "_bla/2", "_bla/3", "_bla/4"], [], prefix="_bla/")

    def test_pages_and_where_they_begin(self):
        keys = ["bar", "baz", "foo", "quxx"]
        put("a.h5", keys)
        put("five.h5", list("01234"))
        h5py.File("empty.h5", "w").close()
        with Serve("--s3", "a.h5", "five.h5", "empty.h5") as s:
            both(s, "empty.h5", [], [])
            assert listed(s, "five.h5", list_type=2)["KeyCount"] == "5"
            in_pages(s, "a.h5", 1, [([key], [], key != "quxx") for key in keys])
            in_pages(s, "a.h5", 3, [(["bar", "baz", "foo"], [], True), (["quxx"], [], False)])
            for version, after in (({}, "marker"), ({"list_type": 2}, "start_after")):
                shown = "Marker" if after == "marker" else "StartAfter"
                none = listed(s, "a.h5", max_keys=0, **version)
                assert (none["keys"], none["more"]) == ([], False)
                whole = listed(s, "a.h5", **version)
                assert (whole["keys"], whole["MaxKeys"], whole["more"]) == (keys, "1000", False)
                assert whole.get("NextMarker") is None
                for begin, left in (
                    ("", keys),
                    ("\n", keys),
                    ("blah", keys[2:]),
                    ("zzz", []),
                    ("aaa", keys),
                    ("baz", keys[2:]),
                ):
                    found = listed(s, "a.h5", **version, **{after: begin})
                    assert (found["keys"], found["more"]) == (left, False), (begin, found)
                    if begin or after == "marker":
                        assert found[shown] == begin, (begin, found)
                blah = "/a.h5?max-keys=blah" + ("&list-type=2" if version else "")
                assert code_of(s.get(blah)) == (400, "InvalidArgument")
            # A token counts, whatever start-after says, and both are shown.
            token = listed(s, "a.h5", list_type=2, start_after="bar", max_keys=1)["NextContinuationToken"]
            found = listed(s, "a.h5", list_type=2, start_after="bar", continuation_token=token)
            assert found["keys"] == ["foo", "quxx"] and found["ContinuationToken"] == token
            assert found["StartAfter"] == "bar"
            for more, owners in (({}, 0), ({"fetch_owner": "false"}, 0), ({"fetch_owner": "true"}, 4)):
                assert listed(s, "a.h5", list_type=2, **more)["owners"] == owners, more
            assert code_of(s.get("/none?list-type=2")) == (404, "NoSuchBucket") == code_of(s.get("/none"))

    def test_ranges_and_conditions(self):
        with h5py.File("a.h5", "w") as f:
            f["testobj"] = np.frombuffer(b"testcontent", "u1")
            f["none"] = np.zeros(0, "u1")
            f["bar"] = np.frombuffer(b"bar", "u1")
            f["big"] = np.random.default_rng(1).integers(0, 256, 8 << 20).astype("u1")
            big = f["big"][()].tobytes()
        os.utime("a.h5", (time.time() - 60,) * 2)  # the date of a file of this second says nothing yet
        with Serve("--s3", "a.h5") as s:
            for text, begin, end in (("4-7", 4, 8), ("4-", 4, 11), ("-7", 4, 11), ("0-100", 0, 11)):
                a = s.get("/a.h5/testobj", Range="bytes=" + text)
                assert (a.status, a.data) == (206, b"testcontent"[begin:end]), (text, a.status, a.data)
                assert a.headers["Content-Range"] == "bytes %d-%d/11" % (begin, end - 1)
                assert a.headers["Accept-Ranges"] == "bytes"
            a = s.get("/a.h5/big", Range="bytes=3145728-5242880")
            assert (a.status, a.data) == (206, big[3145728:5242881])
            assert a.headers["Content-Range"] == "bytes 3145728-5242880/8388608"
            for key in ("testobj", "none"):
                assert code_of(s.get("/a.h5/" + key, Range="bytes=40-50")) == (416, "InvalidRange"), key
            a = s.get("/a.h5/bar")
            tag, now = a.headers["ETag"], a.headers["Last-Modified"]
            old, new = "Sat, 29 Oct 1994 19:43:31 GMT", "Sat, 29 Oct 2100 19:43:31 GMT"
            for name, value in (
                ("If_Match", tag),
                ("If_None_Match", '"ABCORZ"'),
                ("If_Modified_Since", old),
                ("If_Unmodified_Since", new),
            ):
                a = s.get("/a.h5/bar", **{name: value})
                assert (a.status, a.data) == (200, b"bar"), (name, a.status)
            for name, value in (("If_Match", '"ABCORZ"'), ("If_Unmodified_Since", old)):
                assert code_of(s.get("/a.h5/bar", **{name: value})) == (412, "PreconditionFailed"), name
            for name, value in (("If_None_Match", tag), ("If_Modified_Since", now)):
                a = s.get("/a.h5/bar", **{name: value})
                assert (a.status, a.data) == (304, b""), (name, a.status)
            assert code_of(s.get("/a.h5/missing")) == (404, "NoSuchKey")
            assert code_of(s.get("/nobucket/key")) == (404, "NoSuchBucket")
            assert [s.request("HEAD", t).status for t in ("/a.h5/missing", "/nobucket")] == [404, 404]
            a = s.request("HEAD", "/a.h5/none")
            assert (a.status, a.headers["Content-Length"]) == (200, "0")
            head, got = s.request("HEAD", "/a.h5/testobj"), s.get("/a.h5/testobj")
            for name in ("ETag", "Last-Modified", "Content-Length", "Content-Type"):
                assert head.headers[name] == got.headers[name]
