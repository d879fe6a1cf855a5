"""--serve --s3: the requests of S3's clients, as they send them, and what they must get."""
import http.client
import io
import os
import random
import re
import urllib.parse
import xml.etree.ElementTree as ET

import h5py
import numpy as np

from s3_client import Listing, all_of, byte_order, code_of, page, pages, plain
from serving import Serve, ServeTest, write_example
from support.program import until


def buckets(s):
    return [e.text for e in ET.fromstring(s.get("/").data).iter() if plain(e.tag) == "Name"]


class RandomTree:
    """A file of groups and datasets with awkward names, and what S3 lists of it."""

    LETTERS = ["a", "b", "-", ".", "0", " ", "!", "%", "+", "\xe9", "~", "<", "&"]

    def __init__(self, path, seed):
        self.random, self.keys, self.groups = random.Random(seed), {}, []
        with h5py.File(path, "w") as f:
            for _ in range(6):
                self.fill(f, "", 0)
        # An empty group is a key of no bytes.
        names = [*self.keys, *self.groups]
        self.keys.update({g: 0 for g in self.groups if not any(k != g and k.startswith(g) for k in names)})

    def fill(self, group, path, depth):
        for _ in range(self.random.randint(0, 8)):
            name = "".join(self.random.choice(self.LETTERS) for _ in range(self.random.randint(1, 4)))
            if name in (".", "..") or name in group:
                continue
            shown = path + ("%25" if name == "%" else re.sub("%(?=[0-9A-Fa-f]{2})", "%25", name))
            if depth < 3 and self.random.random() < 0.4:
                self.groups.append(shown + "/")
                self.fill(group.create_group(name), shown + "/", depth + 1)
            else:
                self.keys[shown] = self.random.randint(0, 9)
                group.create_dataset(name, data=np.zeros(self.keys[shown], "u1"))

    def listed(self, prefix, delimiter, after):
        """(keys, common prefixes) in order."""
        out = set()
        for key in self.keys:
            if key.startswith(prefix):
                at = key.find(delimiter, len(prefix)) if delimiter else -1
                out.add((key, False) if at < 0 else (key[: at + len(delimiter)], True))
        out = sorted(
            (
                one
                for one in out
                if byte_order(one[0]) > byte_order(after) and not (one[1] and after.startswith(one[0]))
            ),
            key=lambda one: byte_order(one[0]),
        )
        return [one for one, common in out if not common], [one for one, common in out if common]


class ServeS3(ServeTest):
    def test_buckets_keys_and_bytes_are_those_of_the_mount(self):
        write_example()
        with Serve("--s3", "f.h5") as s, h5py.File("f.h5") as f:
            assert buckets(s) == ["f.h5"]
            assert s.request("HEAD", "/f.h5").status == 200 and s.request("HEAD", "/f.h5/").status == 200
            assert b"<LocationConstraint" in s.get("/f.h5?location").data
            p = page(s, "f.h5", list_type=2)
            assert p.keys == ["deflated", "empty", "group/image", "names", "to_x", "x"], p.keys
            assert page(s, "f.h5").keys == p.keys and not p.more and p.values["KeyCount"] == "6"
            for key in p.keys:
                a = s.get("/f.h5/" + key)
                assert a.status == 200 and len(a.data) == p.sizes[key], (key, len(a.data), p.sizes[key])
                assert a.headers["ETag"] == p.tags[key] and "Last-Modified" in a.headers
                if key in f and f[key].dtype != object:
                    assert a.data == f[key][()].tobytes()
            # A symlink to a directory is no key, and what is below it can be got.
            assert s.get("/f.h5/soft/image").data == f["group/image"][()].tobytes()
            top = page(s, "f.h5", list_type=2, delimiter="/")
            assert top.prefixes == ["group/"] and "soft" not in top.keys
            # The views are listed if they are asked for.
            npy = all_of(pages(s, "f.h5", prefix=".h5/npy/"))[0]
            assert ".h5/npy/group/image.npy" in npy and page(s, "f.h5", prefix=".h5").keys == []
            assert (np.load(io.BytesIO(s.get("/f.h5/.h5/npy/x.npy").data)) == f["x"][()]).all()
            for key, size in page(s, "f.h5", prefix=".h5/csv/").sizes.items():
                assert len(s.get("/f.h5/" + key).data) == size, key
            a = s.get("/f.h5/.h5/log")
            assert a.status == 200 and int(a.headers["Content-Length"]) == len(a.data)
            a = s.request("HEAD", "/f.h5/x")
            assert (
                a.headers["x-amz-meta-units"] == "K" and a.headers["x-amz-meta-hdf5.shape"] == "[1000]"
            ), a.headers
            assert a.headers["Content-Length"] == "4000" and a.data == b""

    def test_conditions_ranges_and_parts_are_answered_as_s3_does(self):
        write_example()
        with Serve("--s3", "f.h5") as s:
            x = s.get("/f.h5/x").data
            tag = s.request("HEAD", "/f.h5/x").headers["ETag"]
            for text, begin, end in (
                ("0-0", 0, 1),
                ("4-7", 4, 8),
                ("3990-", 3990, 4000),
                ("-8", 3992, 4000),
                ("3999-9999", 3999, 4000),
                ("-9999", 0, 4000),
            ):
                for method in ("GET", "HEAD"):
                    a = s.request(method, "/f.h5/x", Range="bytes=" + text)
                    assert a.status == 206 and a.headers["Content-Range"] == "bytes %d-%d/4000" % (
                        begin,
                        end - 1,
                    )
                    assert a.headers["Content-Length"] == str(end - begin)
                    assert a.data == (x[begin:end] if method == "GET" else b"")
            a = s.get("/f.h5/x", Range="bytes=4000-")
            assert code_of(a) == (416, "InvalidRange") and a.headers["Content-Range"] == "bytes */4000"
            assert code_of(s.get("/f.h5/empty", Range="bytes=0-")) == (416, "InvalidRange")
            for text in ("bytes=0-1,4-5", "bytes=5-2", "x"):
                a = s.get("/f.h5/x", Range=text)
                assert a.status == 200 and a.data == x, text
            assert (
                s.get("/f.h5/x", If_Match=tag).data == x
                and s.get("/f.h5/x", If_Match=tag.strip('"')).data == x
            )
            assert s.get("/f.h5/x", If_Match="*").status == 200
            assert code_of(s.get("/f.h5/x", If_Match='"other"')) == (412, "PreconditionFailed")
            assert s.request("HEAD", "/f.h5/x", If_Match='"other"').status == 412
            a = s.get("/f.h5/x", If_None_Match=tag)
            assert a.status == 304 and a.data == b"" and a.headers["ETag"] == tag
            assert s.get("/f.h5/x", If_None_Match="other").data == x
            assert s.get("/f.h5/x", Range="bytes=0-3", If_Match=tag).data == x[:4]
            old, later = "Sat, 29 Oct 1994 19:43:31 GMT", "Sat, 29 Oct 2095 19:43:31 GMT"
            assert s.get("/f.h5/x", If_Modified_Since=old).data == x
            assert code_of(s.get("/f.h5/x", If_Unmodified_Since=old)) == (412, "PreconditionFailed")
            assert s.get("/f.h5/x", If_Unmodified_Since=later).data == x
            # If a request names a tag, the tag decides.
            assert s.get("/f.h5/x", If_Match=tag, If_Unmodified_Since=old).data == x
            assert s.get("/f.h5/x", If_None_Match=tag, If_Modified_Since=old).status == 304
            for method in ("GET", "HEAD"):
                a = s.request(method, "/f.h5/x?partNumber=1")
                assert a.status == 206 and a.headers["Content-Range"] == "bytes 0-3999/4000", a.headers
                assert a.headers["Content-Length"] == "4000"
            assert s.get("/f.h5/empty?partNumber=1").status == 200
            assert code_of(s.get("/f.h5/x?partNumber=2")) == (416, "InvalidPartNumber")
            assert code_of(s.get("/f.h5/x?partNumber=0")) == (400, "InvalidArgument")
            assert code_of(s.get("/f.h5/x?partNumber=1", Range="bytes=0-1")) == (400, "InvalidRequest")

    def test_every_listing_is_the_models_page_by_page(self):
        tree = RandomTree("f.h5", 5)
        keys, choose = tree.keys, tree.random
        everything = sorted(keys, key=byte_order)
        some = [""] + [k[:i] for k in keys for i in range(1, len(k) + 1)] + tree.groups
        some += ["zz", "/", "//", "a//", "./", "../"]
        assert len(keys) > 50 and len(tree.groups) > 10, (len(keys), len(tree.groups))
        with Serve("--s3", "f.h5") as s:
            got = all_of(pages(s, "f.h5"))[0]
            assert got == everything, (
                set(got) ^ set(everything),
                [pair for pair in zip(got, everything) if pair[0] != pair[1]][:3],
            )
            assert {k: n for p in pages(s, "f.h5", max_keys=7) for k, n in p.sizes.items()} == keys
            for key in [k for k in keys if k.endswith("/")]:
                a = s.request("HEAD", "/f.h5/" + urllib.parse.quote(key))
                assert a.status == 200 and a.headers["Content-Length"] == "0", key
            for _ in range(400):
                query = {"prefix": choose.choice(some) if choose.random() < 0.6 else ""}
                delimiter = choose.choice(["", "/", "/", "a", "-", "%", "ba", ".", "/a"])
                after = choose.choice(some) if choose.random() < 0.5 else ""
                if delimiter:
                    query["delimiter"] = delimiter
                wanted = tree.listed(query["prefix"], delimiter, after)
                most, version = choose.choice([1, 2, 3, 7, 1000]), choose.choice([1, 2])
                if len(wanted[0]) + len(wanted[1]) > 60 and most < 3:
                    most = 7
                if after:
                    query["start_after" if version == 2 else "marker"] = after
                found = pages(s, "f.h5", version, max_keys=most, **query)
                assert all_of(found) == wanted, (query, most, all_of(found), wanted)
                for p in found[:-1]:
                    assert len(p.keys) + len(p.prefixes) == most
                if version == 2:
                    for p in found:
                        assert int(p.values["KeyCount"]) == len(p.keys) + len(p.prefixes)

    def test_what_is_wrong_has_the_codes_of_s3_and_nothing_is_written(self):
        write_example()
        with Serve("--s3", "f.h5") as s:
            assert code_of(s.get("/other")) == (404, "NoSuchBucket") == code_of(s.get("/other/x"))
            for key in (
                "nothing",
                "group",
                "group/",
                "x/",
                "x/y",
                "group//image",
                "/x",
                "./x",
                "group/../x",
                "x%00",
                "group/./image",
                ".h5",
                "dangling",
                "..",
                "%2e%2e/f.h5",
            ):
                assert code_of(s.get("/f.h5/" + key)) == (404, "NoSuchKey"), key
            assert s.get("/f.h5/group%2Fimage").status == 200
            for query in (
                "max-keys=x",
                "max-keys=-1",
                "max-keys=99999999999",
                "encoding-type=base64",
                "list-type=2&continuation-token=x",
                "list-type=2&continuation-token=k7",
            ):
                assert code_of(s.get("/f.h5?" + query)) == (400, "InvalidArgument"), query
            assert page(s, "f.h5", max_keys=0).keys == [] and not page(s, "f.h5", max_keys=0).more
            assert page(s, "f.h5", max_keys=2000000).values["MaxKeys"] == "1000"
            for what in ("acl", "policy", "tagging", "versions", "uploads", "lifecycle", "cors"):
                assert code_of(s.get("/f.h5?" + what)) == (501, "NotImplemented"), what
            for what in ("acl", "tagging", "attributes", "torrent"):
                assert code_of(s.get("/f.h5/x?" + what)) == (501, "NotImplemented"), what
            assert code_of(s.get("/f.h5/x?versionId=1")) == (404, "NoSuchVersion")
            for method in ("PUT", "POST", "DELETE", "PATCH", "OPTIONS"):
                for target in ("/new", "/f.h5", "/f.h5/x", "/f.h5/new", "/f.h5?delete", "/f.h5/x?uploads"):
                    assert code_of(s.request(method, target)) == (405, "MethodNotAllowed"), (method, target)
            connection = http.client.HTTPConnection("127.0.0.1", int(s.port), timeout=60)
            connection.request(
                "PUT", "/f.h5/x", body=b"new", headers={"x-amz-content-sha256": "UNSIGNED-PAYLOAD"}
            )
            a = connection.getresponse()
            a.data = a.read()
            assert code_of(a) == (405, "MethodNotAllowed")
            assert code_of(s.get("/f.h5/x", Host="evil.example")) == (421, "InvalidRequest")

    def test_sources_are_buckets_under_names_that_buckets_may_have(self):
        def make(name, value):
            with h5py.File(name, "w") as f:
                f["d"] = np.full(4, value, "u1")

        for directory in ("a/sub", "b", "Dir_1"):
            os.makedirs(directory)
        for i, name in enumerate(("a/run_1.h5", "b/run_1.h5", "Dir_1/q.h5", "a/sub/p.h5")):
            make(name, i)
        with Serve("--s3", "--s3-host=s3.localhost", "a/run_1.h5", "b/run_1.h5", "Dir_1/", "a/sub/.") as s:
            assert buckets(s) == ["run-1.h5", "run-1.h5-2", "dir-1", "sub"], buckets(s)
            assert s.get("/run-1.h5/d").data == bytes(4) and s.get("/run-1.h5-2/d").data == bytes([1] * 4)
            assert all_of(pages(s, "dir-1"))[0] == ["q.h5/d"] and s.get("/dir-1/q.h5/d").data == bytes(
                [2] * 4
            )
            npy = all_of(pages(s, "dir-1", prefix="q.h5/.h5/npy/"))[0]
            assert "q.h5/.h5/npy/d.npy" in npy, npy
            # The bucket may stand in the name of the host, with the port and in any case.
            for host in ("run-1.h5-2.s3.localhost", "run-1.h5-2.S3.Localhost:8000"):
                assert s.get("/d", Host=host).data == bytes([1] * 4)
                assert Listing(s.get("/?list-type=2", Host=host)).keys == ["d"]
            assert s.get("/run-1.h5/d", Host="s3.localhost").data == bytes(4)
            # A file that is added is shown.
            make("Dir_1/new.h5", 7)
            until(lambda: "new.h5/d" in all_of(pages(s, "dir-1"))[0], "the new file is listed")
            assert s.get("/dir-1/new.h5/d").data == bytes([7] * 4)
