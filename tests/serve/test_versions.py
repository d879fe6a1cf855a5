"""Every answer of --serve is of one version of its file."""
import http.client
import os
import socket

import h5py
import numpy as np

from serving import Serve, ServeTest, settle
from support.program import until


def begin(s, target):
    """A connection with the beginning of an answer that does not fit into what sockets hold."""
    c = http.client.HTTPConnection("127.0.0.1", int(s.port), timeout=60)
    c.connect()
    c.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    c.request("GET", target)
    a = c.getresponse()
    assert a.status == 200, a.status
    return c, a, a.read(1000)


class ServeCommand(ServeTest):
    def test_a_body_is_of_one_version_of_the_file(self):
        """No body of a file that is written meanwhile ends as a whole one; of one that another is renamed
        over it is the old one's."""
        N = 96 << 20

        def write(name, fill):
            with h5py.File(name, "w") as f:
                f["d"] = np.full(N, fill, "u1")
                f.create_dataset("chunked", data=np.full(N, fill, "u1"), chunks=(1 << 20,))

        for target in ("/d", "/chunked"):
            write("f.h5", 1)
            with Serve("f.h5") as s:
                a = s.get(target)
                assert a.data == b"\1" * N and a.headers.get_all("Content-Length") == [str(N)]
                c, a, first = begin(s, target)
                assert int(a.headers["Content-Length"]) == N
                with h5py.File("new.h5", "w") as f:
                    f["d"] = 2
                os.rename("new.h5", "f.h5")
                assert first + a.read() == b"\1" * N, target
                assert s.get("/d").data == np.int64(2).tobytes()
            write("f.h5", 1)
            with Serve("f.h5") as s:
                assert s.get(target).data == b"\1" * N
                c, a, first = begin(s, target)
                with h5py.File("f.h5", "r+") as f:
                    f[target][:] = 3
                with self.assertRaises(http.client.IncompleteRead):  # two versions must not look whole
                    a.read()

    def test_a_body_of_a_file_that_is_truncated_is_cut_off(self):
        N = 96 << 20
        with h5py.File("f.h5", "w") as f:
            f["d"] = np.full(N, 1, "u1")
        with Serve("f.h5") as s:
            c, a, first = begin(s, "/d")
            os.truncate("f.h5", 32 << 20)
            with self.assertRaises(http.client.IncompleteRead) as cut:
                a.read()
            got = first + cut.exception.partial
            assert len(got) < N and got == b"\1" * len(got)
            assert s.process.poll() is None

    def test_plain_files_of_a_directory_have_tags_and_ranges(self):
        """Files that are no HDF5 are files as well: `passthrough` shows them, with their own versions."""
        os.makedirs("run/sub")
        with h5py.File("run/a.h5", "w") as f:
            f["x"] = np.arange(10)
        N = 40 << 20
        whole = np.random.default_rng(1).integers(0, 256, N, "u1").tobytes()
        open("run/sub/plain.bin", "wb").write(whole)
        open("run/empty.txt", "w").close()
        for words, above in (
            (["-o", "passthrough", "run"], ""),
            (["--s3", "-o", "passthrough", "run"], "/run"),
        ):
            with Serve(*words) as s:
                key = above + "/sub/plain.bin"
                a = s.get(key)
                tag = a.headers["ETag"]
                assert "Last-Modified" in a.headers
                assert a.status == 200 and a.data == whole and tag.startswith('"')
                assert a.headers["Accept-Ranges"] == "bytes"
                h = s.request("HEAD", key)
                assert h.status == 200 and h.headers["Content-Length"] == str(N) and h.headers["ETag"] == tag
                a = s.get(key, Range="bytes=1000-70999", If_Match=tag)
                assert a.status == 206 and a.data == whole[1000:71000] and a.headers["ETag"] == tag
                assert a.headers["Content-Range"] == "bytes 1000-70999/%d" % N
                assert s.get(key, Range="bytes=-5", If_Range=tag).data == whole[-5:]
                assert s.get(key, Range="bytes=-5", If_Range='"other"').status == 200
                assert s.get(key, Range="bytes=%d-" % N).status == 416
                assert s.get(key, If_None_Match=tag).status == 304
                assert s.get(key, If_Match='"other"').status == 412
                assert s.get(key, If_Unmodified_Since="Sun, 06 Nov 1994 08:49:37 GMT").status == 412
                a = s.get(above + "/empty.txt")
                assert a.status == 200 and a.data == b"" and "ETag" in a.headers
                assert s.get(above + "/a.h5/x").headers["ETag"] not in (tag, a.headers["ETag"])
                # A body is of one version; the next request gets the next one.
                c, a, first = begin(s, key)
                with open("run/sub/plain.bin", "r+b") as f:
                    f.seek(N // 2)
                    f.write(b"new")
                with self.assertRaises(http.client.IncompleteRead):  # two versions must not look whole
                    a.read()
                settle("run/sub/plain.bin")
                a = s.get(key, Range="bytes=%d-%d" % (N // 2, N // 2 + 2))
                assert a.data == b"new" and a.headers["ETag"] != tag
                assert s.get(key, If_Match=tag).status == 412
                with open("run/sub/plain.bin", "wb") as f:
                    f.write(whole)
        with Serve("-o", "passthrough", "run") as s:
            # A listing between files is named by its own text.
            for words in ({}, {"Accept_Encoding": "gzip"}):
                a = s.get("/sub/?list", **words)
                tag = a.headers["ETag"]
                assert s.get("/sub/?list", If_None_Match=tag, **words).status == 304
                open("run/sub/more", "wb").write(b"x" * 3000)
                settle("run/sub/more")
                b = s.get("/sub/?list", If_None_Match=tag, **words)
                assert b.status == 200 and b.headers["ETag"] != tag and b.data != a.data
                os.remove("run/sub/more")
            listed = {e["name"]: e for e in s.json("/sub/?list")}
            assert listed["plain.bin"]["size"] == N
            assert s.get("/api/meta?file=sub%2Fplain.bin&path=/").status == 404
            assert s.get("/sub/plain.bin?page").data == whole

    def test_attributes_of_an_object_are_those_of_the_version(self):
        """They are read once for a version of the file."""

        def units(s, key):
            return s.request("HEAD", key).headers["x-amz-meta-units"]

        os.mkdir("run")
        for name, served, key in (("f.h5", "f.h5", "/f.h5/x"), ("run/f.h5", "run", "/run/f.h5/x")):
            with h5py.File(name, "w") as f:
                f["x"] = np.arange(10)
                f["x"].attrs["units"] = "K"
            with Serve("--s3", served) as s:
                assert units(s, key) == "K" and units(s, key) == "K"
                tag = s.get(key).headers["ETag"]
                with h5py.File(name, "r+") as f:
                    f["x"].attrs["units"] = "m"
                until(lambda: units(s, key) == "m", "the new attribute")
                assert s.get(key).headers["ETag"] != tag
