"""What programs that cannot be installed here ask for, one request after the other.

DuckDB's httpfs (src/s3/s3_list.cpp, src/http/httpfs.cpp), Hadoop 3's S3A (S3AFileSystem, RequestFactoryImpl,
S3AInputStream, with the parameters that the SDK for Java adds), Arrow's s3fs.cc, and mountpoint-s3
(mountpoint-s3-client/src/s3_crt_client). Lists, DuckDB's opening of files and mountpoint's GET follow these
sources; the order and sizes of the other reads follow what these programs are known to do. Each finds all
tables of a file and reads their bytes.
"""
import urllib.parse
import xml.etree.ElementTree as ET

import h5py
import numpy as np

from s3_client import Listing, code_of, page, plain, quote
from serving import Serve, ServeTest
from support.program import H5MOUNT, run

# More tables than a page has keys, below two groups, one of which is a page of common prefixes alone.
ROOT = ".h5/parquet/"
TABLES = ["few/deep/a b+c", "few/deep/names", "top"] + ["many/t%04d" % i for i in range(1003)]
EXPECTED = {ROOT + name + ".parquet" for name in TABLES}
SOME = sorted(EXPECTED)[:3] + [k for k in sorted(EXPECTED) if k.endswith("top.parquet")]


def write_tables():
    with h5py.File("f.h5", "w", libver="latest") as f:
        for i in range(1003):
            f["many/t%04d" % i] = np.arange(i % 7 + 1, dtype="<i4")
        f["few/deep/a b+c"] = np.arange(300000, dtype="<f8")
        f["few/deep/names"] = ["one", "two"] * 50
        f["top"] = np.zeros(3)
        f.create_group("nothing")


def shown(key):
    return run(H5MOUNT, "--cat", "f.h5", "/" + key, text=False, check=True).stdout


def reads(s, key, first, last, size, **fields):
    a = s.get("/f.h5/" + urllib.parse.quote(key), Range="bytes=%d-%d" % (first, last), **fields)
    assert a.status == 206, (key, a.status, a.data)
    assert a.headers["Content-Range"] == "bytes %d-%d/%d" % (first, min(last, size - 1), size)
    return a.data


def head(s, key):
    return s.request("HEAD", "/f.h5/" + urllib.parse.quote(key))


def footer(read, size):
    """The end of a table: its metadata, which the last eight bytes lead to."""
    tail = read(size - 8, size - 1)
    assert tail[4:] == b"PAR1", tail
    length = int.from_bytes(tail[:4], "little")
    return read(size - 8 - length, size - 9) + tail


class S3Sequences(ServeTest):
    def test_duck_db(self):
        """A glob is a flat listing of what is before its first wildcard. Where a page is not the last and
        its keys lie in few directories, it is asked for once more with a delimiter, and common prefixes are
        entered from the last on. A listing has all that opening wants, so no HEAD is sent; ranges are held
        to the tag."""
        write_tables()
        with Serve("--s3", "f.h5") as s:

            def listed(prefix, token="", delimiter=False):
                query = "continuation-token=%s&" % quote(token) if token else ""
                query += "delimiter=%2F&" if delimiter else ""
                query += "encoding-type=url&list-type=2&prefix=" + quote(prefix)
                return Listing(s.get("/f.h5/?" + query))

            def flat(prefix):
                token, found = "", {}
                while True:
                    p = listed(prefix, token)
                    found.update((k, (p.sizes[k], p.tags[k])) for k in p.keys if not k.endswith("/"))
                    token = p.values.get("NextContinuationToken", "")
                    if not token:
                        return found

            found = flat(ROOT)
            assert set(found) == EXPECTED, set(found) ^ EXPECTED
            first = listed(ROOT)
            assert first.more and len({k.rsplit("/", 1)[0] for k in first.keys}) * 100 < len(first.keys)

            def entered(prefix):
                token, out = "", {}
                while True:
                    p = listed(prefix, token, True)
                    out.update((k, (p.sizes[k], p.tags[k])) for k in p.keys if not k.endswith("/"))
                    for below in reversed(p.prefixes):
                        out.update(entered(below))
                    token = p.values.get("NextContinuationToken", "")
                    if not token:
                        return out

            assert entered(ROOT) == found
            for key in SOME:
                size, tag = found[key]
                whole = shown(key)
                assert len(whole) == size and tag.startswith('"')
                read = lambda first, last: reads(s, key, first, last, size, If_Match=tag)
                end = footer(read, size)
                begin = b"".join(
                    read(at, min(at + 100000, size - len(end)) - 1)
                    for at in range(0, size - len(end), 100000)
                )
                assert begin + end == whole, key
                assert head(s, key).headers["ETag"] == tag  # of one that is named without a glob
            a = s.get("/f.h5/" + urllib.parse.quote(SOME[0]), Range="bytes=0-9", If_Match='"another"')
            assert code_of(a) == (412, "PreconditionFailed")

    def test_hadoop_s3a(self):
        """A path is a file where HEAD finds it, else a directory where a listing of two keys has one; the
        SDK asks for encoded keys. What was listed is opened without HEAD."""
        write_tables()
        with Serve("--s3", "f.h5") as s:

            def listed(directory, most, token="", delimiter=True):
                query = "list-type=2&%sencoding-type=url&max-keys=%d&prefix=%s&fetch-owner=false" % (
                    "delimiter=%2F&" if delimiter else "",
                    most,
                    quote(directory + "/"),
                )
                query += "&continuation-token=" + quote(token) if token else ""
                return Listing(s.get("/f.h5?" + query))

            def status(path):
                a = head(s, path)
                if a.status == 200:
                    return int(a.headers["Content-Length"]), a.headers["ETag"]
                assert a.status == 404, a.status
                p = listed(path, 2)
                return "directory" if p.keys or p.prefixes else None

            def children(directory):
                token, files, directories = "", {}, []
                while True:
                    p = listed(directory, 5000, token)
                    assert len(p.keys) + len(p.prefixes) <= 1000
                    files.update((k, (p.sizes[k], p.tags[k])) for k in p.keys if not k.endswith("/"))
                    directories += [d.rstrip("/") for d in p.prefixes]
                    if not p.more:
                        return files, directories
                    token = p.values["NextContinuationToken"]

            top = ROOT.rstrip("/")
            assert status(top) == "directory"
            assert status(top + "/many") == "directory"
            assert status("no") is None
            found, waiting = {}, [top]
            while waiting:
                files, below = children(waiting.pop())
                found.update(files)
                waiting += below
            assert set(found) == EXPECTED, set(found) ^ EXPECTED
            deep, token = {}, ""  # listFiles(recursive)
            while True:
                p = listed(top, 5000, token, False)
                deep.update((k, (p.sizes[k], p.tags[k])) for k in p.keys if not k.endswith("/"))
                if not p.more:
                    break
                token = p.values["NextContinuationToken"]
            assert deep == found
            for key in SOME:
                size, tag = found[key]
                assert status(key) == (size, tag)
                read = lambda first, last: reads(s, key, first, last, size, If_Match=tag)
                whole = shown(key)
                end = footer(read, size)
                # A sequential reader asks for the rest of the file; one at random for so much and a bit more.
                assert read(0, size - 1) == whole and whole.endswith(end)
                assert read(size // 2, size // 2 + 65535) == whole[size // 2 : size // 2 + 65536]
            a = s.get("/f.h5/" + urllib.parse.quote(SOME[0]), Range="bytes=0-9", If_Match='"another"')
            assert code_of(a) == (412, "PreconditionFailed")

    def test_py_arrow(self):
        """Directories are listed one by one with a delimiter and keys as they are; a dataset opens what it
        has listed without HEAD, a single file with one. Nothing is held to a tag."""
        write_tables()
        with Serve("--s3", "f.h5") as s:
            assert s.request("HEAD", "/f.h5").status == 200

            def listed(directory, most, token=""):
                query = "delimiter=%%2F&list-type=2&max-keys=%d&prefix=%s" % (most, quote(directory + "/"))
                query = ("continuation-token=%s&" % quote(token) if token else "") + query
                return Listing(s.get("/f.h5?" + query))

            def walk(directory):
                token, found = "", {}
                while True:
                    p = listed(directory, 1000, token)
                    found.update((k, p.sizes[k]) for k in p.keys if not k.endswith("/"))
                    for below in p.prefixes:
                        found.update(walk(below.rstrip("/")))
                    if not p.more:
                        return found
                    token = p.values["NextContinuationToken"]

            top = ROOT.rstrip("/")
            assert head(s, top).status == 404
            p = listed(top, 1)
            assert int(p.values["KeyCount"]) > 0 or p.prefixes
            found = walk(top)
            assert set(found) == EXPECTED, set(found) ^ EXPECTED
            for key in SOME:
                size, whole = found[key], shown(key)
                assert int(head(s, key).headers["Content-Length"]) == size == len(whole)
                tail = reads(s, key, max(0, size - 65536), size - 1, size)
                assert tail == whole[-65536:] and tail.endswith(b"PAR1")
                # Columns that are read ahead are joined.
                assert reads(s, key, 4, max(4, size - 65537), size) == whole[4 : max(5, size - 65536)]

    def test_mountpoint_s3(self):
        """A lookup asks for the key and for what is below it; listings want a tag of every key, and a token
        where there is more, and nowhere else. A reader asks for a first part of 1,152 KiB, then for larger
        ones, of the version listed."""
        write_tables()
        with Serve("--s3", "f.h5") as s:

            def listed(prefix, most, token=""):
                query = "list-type=2&delimiter=%%2F&max-keys=%d&prefix=%s" % (most, quote(prefix))
                a = s.get(
                    "/f.h5/?" + query + ("&continuation-token=" + quote(token) if token else ""),
                    x_amz_optional_object_attributes="RestoreStatus",
                )
                for one in ET.fromstring(a.data):
                    if plain(one.tag) != "Contents":
                        continue
                    said = {plain(c.tag) for c in one if c.text}
                    assert {"Key", "Size", "LastModified", "ETag"} <= said, a.data
                p = Listing(a)
                assert p.more == ("NextContinuationToken" in p.values)
                return p

            def lookup(path):
                file, below = head(s, path), listed(path + "/", 1)
                if below.keys or below.prefixes:
                    return "directory"
                assert file.status == 200, (path, file.status)
                return int(file.headers["Content-Length"]), file.headers["ETag"]

            def walk(prefix):
                token, found = "", {}
                while True:
                    p = listed(prefix, 1000, token)
                    found.update((k, (p.sizes[k], p.tags[k])) for k in p.keys if not k.endswith("/"))
                    for below in p.prefixes:
                        assert lookup(below.rstrip("/")) == "directory"
                        found.update(walk(below))
                    if not p.more:
                        return found
                    token = p.values["NextContinuationToken"]

            found = walk(ROOT)
            assert set(found) == EXPECTED, set(found) ^ EXPECTED
            assert listed("", 1000).prefixes == ["few/", "many/", "nothing/"]
            assert listed("nothing/", 1).keys == ["nothing/"]
            for key in SOME:
                size, tag = found[key]
                assert lookup(key) == (size, tag)
                whole, at, part = shown(key), 0, 1152 << 10
                got = b""
                while at < size:
                    a = s.get(
                        "/f.h5/" + urllib.parse.quote(key),
                        Accept="*/*",
                        If_Match=tag,
                        x_amz_checksum_mode="ENABLED",
                        Range="bytes=%d-%d" % (at, min(at + part, size) - 1),
                    )
                    assert a.status == 206 and a.headers["ETag"] == tag
                    got += a.data
                    at += part
                    part = 8 << 20
                assert got == whole, key

    def test_what_has_no_tag_is_listed_with_a_weak_one(self):
        np.arange(100, dtype="<i4").tofile("raw")
        with h5py.File("named.h5", "w") as f:
            f.create_dataset("there", (100,), "<i4", external=[("raw", 0, 400)])
            f["here"] = 1
            f.create_group("nothing")
        with Serve("--s3", "-o", "external=beneath", "named.h5") as s:
            p = page(s, "named.h5", list_type=2)
            assert set(p.tags) == {"here", "nothing/", "there"}
            assert p.tags["here"] == s.get("/named.h5/here").headers["ETag"]
            for key in ("nothing/", "there"):
                assert p.tags[key].startswith('W/"'), p.tags
                assert "ETag" not in s.get("/named.h5/" + key).headers
            assert s.get("/named.h5/there").data == np.arange(100, dtype="<i4").tobytes()
            assert s.get("/named.h5/there", If_Match=p.tags["there"]).status == 412
