"""--serve: the program as a user has it, with the clients that people use. Nothing is mounted."""
import email
import gzip
import html.parser
import http.client
import io
import json
import os
import re
import signal
import socket
import subprocess
import time
import unittest
import urllib.request

import h5py
import numpy as np

from serving import Serve, ServeTest, settle, write_example
from support.program import H5MOUNT, run, shell, terminate, until


class ServeCommand(ServeTest):
    def test_bytes_are_those_of_the_mount(self):
        write_example()
        with Serve("f.h5") as s, h5py.File("f.h5") as f:
            for name in ("x", "group/image", "deflated", "empty"):
                a = s.get("/" + name)
                assert a.status == 200 and a.data == f[name][()].tobytes(), name
                assert int(a.headers["Content-Length"]) == len(a.data)
                assert a.headers["Accept-Ranges"] == "bytes"
                h = s.request("HEAD", "/" + name)
                assert h.status == 200 and h.data == b"" and h.headers["Content-Length"] == str(len(a.data))
            a = s.get("/.h5/npy/x.npy")
            assert (np.load(io.BytesIO(a.data)) == f["x"][()]).all()
            a = s.get("/.h5/csv/names.csv")
            assert a.data.decode() == 'value\none\n"two,""2"""\n<script>\n', a.data
            assert a.headers["Content-Type"].startswith("text/csv")
            assert s.get("/.h5/slice/group/image/2:4,::5").data == f["group/image"][2:4, ::5].tobytes()
            assert b"uptime" in s.get("/.h5/status").data

    def test_ranges_of_every_kind(self):
        write_example()
        with Serve("f.h5") as s, h5py.File("f.h5") as f:
            whole = f["deflated"][()].tobytes()
            n = len(whole)
            for text, begin, end in (
                ("0-0", 0, 1),
                ("5-9", 5, 10),
                ("%d-" % (n - 3), n - 3, n),
                ("-4", n - 4, n),
                ("10-999999999", 10, n),
            ):
                a = s.get("/deflated", Range="bytes=" + text)
                assert a.status == 206 and a.data == whole[begin:end], text
                assert a.headers["Content-Range"] == "bytes %d-%d/%d" % (begin, end - 1, n)
            a = s.get("/deflated", Range="bytes=0-9,500-509,-5")
            kind = b"Content-Type: " + a.headers["Content-Type"].encode() + b"\r\n\r\n"
            parts = email.message_from_bytes(kind + a.data).get_payload()
            assert a.status == 206 and int(a.headers["Content-Length"]) == len(a.data)
            got = [(p["Content-Range"], p.get_payload(decode=True)) for p in parts]
            wanted = [(0, 10), (500, 510), (n - 5, n)]
            assert got == [("bytes %d-%d/%d" % (b, e - 1, n), whole[b:e]) for b, e in wanted], got
            for text in ("%d-" % n, "-0", "%d-%d" % (n + 5, n + 9)):
                a = s.get("/deflated", Range="bytes=" + text)
                assert a.status == 416 and a.headers["Content-Range"] == "bytes */%d" % n, text
            assert s.get("/empty", Range="bytes=0-").status == 416
            many = ",".join("%d-%d" % (3 * i, 3 * i) for i in range(300))
            for text in ("bytes=9-5", "bytes=x", "pages=1-2", "bytes=" + many):
                a = s.get("/deflated", Range=text)
                assert a.status == 200 and a.data == whole, text
            assert s.request("HEAD", "/deflated", Range="bytes=0-9").status == 200
            assert (
                "Content-Encoding"
                not in s.get("/deflated", Range="bytes=0-9999", Accept_Encoding="gzip").headers
            )
            assert "Content-Encoding" not in s.get("/deflated", Accept_Encoding="gzip").headers

    def test_tags_change_with_the_file(self):
        write_example()
        os.utime("f.h5", (time.time() - 60,) * 2)  # dates are of whole seconds: one of now says too little
        with Serve("f.h5") as s:
            a = s.get("/x")
            tag, date = a.headers["ETag"], a.headers["Last-Modified"]
            assert tag.startswith('"') and s.get("/x").headers["ETag"] == tag
            assert s.get("/x", If_None_Match=tag).status == 304
            assert s.get("/x", If_None_Match='"other", W/%s' % tag).status == 304
            assert s.get("/x", Range="bytes=0-3", If_Range=tag).status == 206
            assert s.get("/x", Range="bytes=0-3", If_Range='"other"').status == 200
            assert s.get("/x", If_Match='"other"').status == 412
            assert s.get("/x", If_Modified_Since=date).status == 304
            assert s.get("/x", If_Modified_Since="Sun, 06 Nov 1994 08:49:37 GMT").status == 200
            with h5py.File("new.h5", "w") as g:
                g["x"] = np.zeros(5)
            os.rename("new.h5", "f.h5")
            b = s.get("/x", Range="bytes=0-3", If_Range=tag)
            assert b.status == 200 and b.data == bytes(40) and b.headers["ETag"] != tag
            settle("f.h5")
            tag = s.get("/x").headers["ETag"]
        with Serve("f.h5") as s:
            assert s.get("/x").headers["ETag"] == tag  # the same in the next run

    def test_a_new_file_under_a_freed_name_is_taken_up(self):
        write_example()
        with Serve("f.h5") as s:
            old = s.get("/x").data
            os.unlink("f.h5")
            time.sleep(0.2)
            assert s.get("/x").data == old  # the name leads nowhere
            with h5py.File("new.h5", "w") as g:
                g["x"] = np.zeros(5)
            open("f.h5", "wb").write(open("new.h5", "rb").read())
            until(lambda: s.get("/x").data == bytes(40), "the new file")

    def test_a_file_that_grows_is_followed(self):
        with h5py.File("grow.h5", "w", libver="latest") as f:
            d = f.create_dataset("d", (0,), "<i8", maxshape=(None,), chunks=(100,))
            f.swmr_mode = True
            with Serve("grow.h5") as s:
                tags = set()
                for n in range(1, 6):
                    d.resize((n * 50,))
                    d[-50:] = np.arange((n - 1) * 50, n * 50)
                    d.flush()
                    until(lambda: s.get("/d").data == np.arange(n * 50).tobytes(), n)
                    tags.add(s.get("/d").headers["ETag"])
                    assert s.get("/d", Range="bytes=-8").data == np.int64(n * 50 - 1).tobytes()
                assert len(tags) == 5

    # Whether files beside the source change cannot be told without opening them: what is read from these
    # has no tag.
    def test_what_comes_from_other_files_has_no_tag(self):
        layout = h5py.VirtualLayout((2, 10), "<i4")
        for i in range(2):
            layout[i] = h5py.VirtualSource("part%d.h5" % i, "d", (10,))
        open("raw.bin", "wb").write(bytes(40))
        with h5py.File("v.h5", "w") as f:
            f.create_virtual_dataset("group/virtual", layout, fillvalue=-1)
            f.create_dataset("group/raw", (10,), "<i4", external=[("raw.bin", 0, 40)])
            f.create_dataset("group/raw2", (10,), "<i4", external=[("raw.bin", 0, 40)])
            f["plain"] = np.arange(3)
            f["table/a"] = f["table/b"] = np.arange(3)
            f["virtual_link"] = h5py.SoftLink("/group/virtual")
            f["part"] = h5py.ExternalLink("part0.h5", "/d")
        with h5py.File("part0.h5", "w") as f:
            f["d"] = np.full(10, 7, "<i4")
        with Serve("-o", "external=beneath", "v.h5") as s:
            for target in (
                "group/virtual",
                "group/raw",
                "virtual_link",
                "part",
                ".h5/npy/group/virtual.npy",
                ".h5/npy/group/raw.npy",
                ".h5/slice/group/virtual/0",
                ".h5/plain.zarr/group/virtual/0.0",
                ".h5/text/group/raw",
                ".h5/csv/group.csv",
                ".h5/plain.zarr/group/virtual/.zarray",
                ".h5/npy/.h5/external/part0.h5/d.npy",
                ".h5/csv/.h5/external/part0.h5/d.csv",
                ".h5/log",
            ):
                a = s.get("/" + target)
                assert a.status == 200, (target, a.status)
                assert "ETag" not in a.headers, (target, a.headers.as_string())
                assert "Last-Modified" not in a.headers, (target, a.headers.as_string())
                if target == ".h5/log":
                    continue
                assert s.get("/" + target, Range="bytes=0-3").status == 206
                assert s.get("/" + target, Range="bytes=0-3", If_Range='""').status == 200
            for target in (
                "plain",
                ".h5/npy/plain.npy",
                ".h5/plain.zarr/plain/0",
                ".h5/csv/table.csv",
                ".h5/plain.zarr/plain/.zarray",
                ".h5/README",
                ".h5/plain.zarr/.zmetadata",
                ".h5/metadata.jsonl",
            ):
                a = s.get("/" + target)
                assert a.headers.get("ETag", "").startswith('"'), (target, a.headers.as_string())
                assert s.get("/" + target, If_None_Match=a.headers["ETag"]).status == 304, target

    def test_listings_are_json_and_html(self):
        write_example()
        with Serve("f.h5") as s:
            entries = {e["name"]: e for e in s.json("/?list")}
            names = sorted(entries)
            assert names == ["dangling", "deflated", "empty", "group", "names", "soft", "to_x", "x"], names
            x = entries["x"]
            assert x["type"] == "file" and x["size"] == 4000 and x["href"] == "x", x
            assert x["etag"] == s.get("/x").headers["ETag"] and x["mtime"] == int(os.stat("f.h5").st_mtime)
            assert entries["deflated"]["size"] == 800000
            assert entries["group"]["type"] == "directory" and entries["group"]["href"] == "group/"
            assert entries["soft"] == {**entries["soft"], "type": "symlink", "target": "group"}
            assert entries["names"]["size"] is None  # known once it was read
            a = s.get("/group/", Accept="application/json")
            assert a.headers["Content-Type"] == "application/json" and len(json.loads(a.data)) == 2
            assert "Accept" in a.headers["Vary"] and a.headers["ETag"].startswith("W/")
            assert s.get("/group/", Accept="application/json", If_None_Match=a.headers["ETag"]).status == 304
            found = []

            class Links(html.parser.HTMLParser):
                def handle_starttag(self, tag, attributes):
                    if tag == "a":
                        found.append(dict(attributes)["href"])

            page = s.get("/").data.decode()
            Links().feed(page)
            assert sorted(found) == sorted(e["href"] for e in entries.values()), found
            assert "<title>Index of /</title>" in page
            assert ".h5" not in page and s.get("/.h5/").status == 200

    def test_names_of_every_kind_are_reached_by_their_references(self):
        names = [
            b"%",
            b"%41",
            b"a b",
            b"q?x=1",
            b"h#1",
            b"plus+",
            b"<b>&\"'",
            b"semi;colon",
            "ümlaut".encode(),
            b"\xff\xfe",
            b"..",
            b"back\\slash",
            b"new\nline",
            b"tab\t",
            b"colon:x",
            b"\x7f\x01",
            b"c" * 400,
            b"sl",
            b"@",
            b"~",
            b"[1]",
            b"|",
            b"page.html",
        ]
        with h5py.File("names.h5", "w") as f:
            for i, name in enumerate(names):
                h5py.h5d.create(f.id, name, h5py.h5t.NATIVE_INT32, h5py.h5s.create_simple((i + 1,)))
            g = h5py.h5g.create(f.id, b"gr?up")
            h5py.h5d.create(g, b"in side", h5py.h5t.NATIVE_INT32, h5py.h5s.create_simple((2,)))
        with Serve("names.h5") as s:
            entries = s.json("/?list")
            sizes = sorted(len(s.get("/" + e["href"]).data) for e in entries if e["type"] == "file")
            assert sizes == [4 * (i + 1) for i in range(len(names))], sizes
            assert s.get("/gr%3Fup/in%20side").status == 200
            for e in entries:
                answer = s.get("/" + e["href"], Accept="text/html")
                assert e["type"] != "file" or "html" not in answer.headers["Content-Type"], e
            assert s.get("/page.html").headers["Content-Type"] == "application/octet-stream"
            assert s.get("/page.html").headers["X-Content-Type-Options"] == "nosniff"
            page = s.get("/").data
            assert b'<b>&"' not in page and b"\xff\xfe" not in page and page.decode("utf-8")

    def test_links_to_directories_are_redirected_and_to_files_followed(self):
        write_example()
        with Serve("f.h5") as s:
            location = s.location
            assert location("/group") == "/group/" and location("/group?list") == "/group/?list"
            assert location("/soft") == "/group/" and location("/soft/") == "/group/"
            assert location("/group/root_again/") == "/"
            assert location("/group/root_again/group/root_again/group") == "/group/"
            for target, to in (
                ("//group", "../group/"),
                ("/x/../group", "./group/"),
                ("/group/%2e/..//./group", "../group/"),
            ):
                assert s.get(target).headers["Location"] == to, target
            a = s.get("/to_x")
            assert a.status == 200 and a.headers["Content-Location"] == "./x" and len(a.data) == 4000
            assert s.get("/soft/image").headers["Content-Location"] == "../group/image"
            for target in (
                "/dangling",
                "/nowhere",
                "/x/",
                "/x/y",
                "/%2e%2e/%2e%2e/etc/passwd",
                "/..%2f..%2fetc/passwd",
                "/.h5/nothing",
            ):
                assert s.get(target).status == 404, target

    def test_only_pages_of_the_origin_that_was_named_may_read(self):
        write_example()

        def cors(a):
            return {k: v for k, v in a.headers.items() if k.startswith("Access-Control")}

        with Serve("f.h5") as s:
            assert cors(s.get("/x", Origin="https://a.example")) == {}
            a = s.request("OPTIONS", "/x", Origin="https://a.example", Access_Control_Request_Method="GET")
            assert cors(a) == {}
            assert s.get("/x").headers["Cross-Origin-Resource-Policy"] == "same-origin"
        with Serve("--cors=https://a.example", "f.h5") as s:
            a = s.get("/x", Origin="https://a.example")
            assert a.headers["Access-Control-Allow-Origin"] == "https://a.example"
            assert "Content-Range" in a.headers["Access-Control-Expose-Headers"]
            a = s.request(
                "OPTIONS",
                "/x",
                Origin="https://a.example",
                Access_Control_Request_Method="GET",
                Access_Control_Request_Headers="range",
            )
            assert a.status == 204 and "Range" in a.headers["Access-Control-Allow-Headers"]
            assert "GET" in a.headers["Access-Control-Allow-Methods"]
            a = s.get("/x", Origin="https://b.example")
            assert cors(a) == {} and "Origin" in a.headers["Vary"], cors(a)
            assert "Origin" in s.get("/").headers["Vary"]
        with Serve("--cors=*", "f.h5") as s:
            assert s.get("/x", Origin="https://b.example").headers["Access-Control-Allow-Origin"] == "*"
        for bad in ("a.example", "https://a.example/path", "https://a b", "://x", "https://"):
            p = run(H5MOUNT, "--serve", "0", "--cors=" + bad, "f.h5")
            assert p.returncode == 1 and p.stderr.count("\n") == 1, bad

    def test_on_loopback_the_host_must_be_one(self):
        write_example()
        with Serve("f.h5") as s:
            for host, status in (
                ("localhost", 200),
                ("127.0.0.1:99", 200),
                ("[::1]", 200),
                ("rebound.example", 421),
                ("", 421),
                ("localhost.example", 421),
            ):
                assert s.get("/x", Host=host).status == status, host
            assert s.get("http://rebound.example/x", Host="localhost").status == 421
            assert s.get("http://localhost/x", Host="localhost").status == 200
        p = subprocess.Popen([H5MOUNT, "--serve", "0.0.0.0:0", "f.h5"], stdout=subprocess.PIPE, text=True)
        port = p.stdout.readline().strip().rsplit(":", 1)[1].rstrip("/")
        request = urllib.request.Request("http://127.0.0.1:%s/x" % port, headers={"Host": "data.example"})
        with urllib.request.urlopen(request) as a:
            assert a.status == 200
        terminate(p)

    def test_gzip_is_for_listings_and_pages_only(self):
        with h5py.File("many.h5", "w") as f:
            for i in range(300):
                f["dataset %d" % i] = i
        with Serve("many.h5") as s:
            for target, fields in (
                ("/", {}),
                ("/?list", {}),
                ("/?asset=page.js", {}),
                ("/", {"Accept": "text/html"}),
            ):
                a, b = s.get(target, **fields), s.get(target, Accept_Encoding="gzip", **fields)
                if len(a.data) < 1024:
                    continue
                assert b.headers["Content-Encoding"] == "gzip" and gzip.decompress(b.data) == a.data, target
                assert a.headers["ETag"] != b.headers["ETag"] and "Accept-Encoding" in b.headers["Vary"]
                fields["If_None_Match"] = b.headers["ETag"]
                assert s.get(target, Accept_Encoding="gzip", **fields).status == 304
            assert "Content-Encoding" not in s.get("/?list", Accept_Encoding="gzip;q=0").headers

    def test_the_pages_own_files_are_kept_as_long_as_the_page_names_them(self):
        write_example()
        with Serve("f.h5") as s:
            page = s.get("/", Accept="text/html").data.decode()
            if "asset=page.js" not in page:
                self.skipTest("built without the page")
            files = [html.unescape(ref) for ref in re.findall(r'"\./(\?asset=[^"]+)"', page)]
            assert len(files) == 2, page
            for file in files:
                a = s.get("/" + file)
                assert "immutable" in a.headers["Cache-Control"], file
                assert (
                    "immutable" in s.get("/" + file, If_None_Match=a.headers["ETag"]).headers["Cache-Control"]
                )
                assert s.get("/" + file + "0").headers["Cache-Control"] == "no-cache", file
                assert s.get("/" + file.split("&")[0]).headers["Cache-Control"] == "no-cache", file
            assert '<link rel="preload" href="./.h5/api/version" ' in page
        os.mkdir("run")
        os.rename("f.h5", "run/a b~*'ä&+{root}.h5")
        with Serve("run") as s:
            page = s.get("/%s/" % urllib.parse.quote("a b~*'ä&+{root}.h5"), Accept="text/html").data.decode()
            version = re.search(r'"\.\./(\.h5/api/version[^"]*)"', page)[1]
            assert s.get("/" + version).status == 200, version

    def test_a_large_group_is_listed_as_it_is_sent(self):
        with h5py.File("large.h5", "w", libver="latest") as f:
            for i in range(30000):
                f.id.links.create_soft(b"a rather long name of an empty group, number %d" % i, b"/x")
        with Serve("large.h5") as s:
            a = s.get("/?list")
            assert a.headers["Transfer-Encoding"] == "chunked" and len(json.loads(a.data)) == 30000

    def test_damage_is_an_error_and_the_rest_is_served(self):
        write_example()
        with h5py.File("f.h5", "r+") as f:
            # Longer than what is read before an answer begins.
            f.create_dataset("long", data=np.arange(1000000) % 7, chunks=(1000,), compression="gzip")
            chunks = [f["deflated"].id.get_chunk_info(50), f["long"].id.get_chunk_info(900)]
        data = bytearray(open("f.h5", "rb").read())
        for chunk in chunks:
            data[chunk.byte_offset + 20 : chunk.byte_offset + 40] = b"\xff" * 20
        open("bad.h5", "wb").write(data)
        with Serve("bad.h5") as s:
            a = s.get("/deflated", Range="bytes=%d-%d" % (50 * 8000, 50 * 8000 + 9))
            assert a.status == 500 and b"deflate" in a.data, (a.status, a.data)
            assert s.get("/deflated", Range="bytes=0-9").status == 206
            assert s.get("/deflated").status == 500
            with self.assertRaises(http.client.IncompleteRead) as cut:  # must not look whole
                s.get("/long")
            assert len(cut.exception.partial) < 900 * 8000
            answer = s.get("/api/data?path=/deflated")
            assert answer.status == 500 and json.loads(answer.data)["message"], answer.data

    def test_damage_names_the_option_that_shows_more(self):
        with h5py.File("f.h5", "w", libver="latest") as f:
            f.create_dataset("packed", data=np.arange(4000), chunks=(100,), compression="gzip")
        data = open("f.h5", "rb").read()
        assert data.count(b"FAHD") == 1
        with open("bad.h5", "wb") as f:
            f.write(data.replace(b"FAHD", b"\xa5" * 4))
        with Serve("bad.h5") as s:
            for answer in (
                s.get("/packed"),
                s.get("/packed", Accept="text/html"),
                s.get("/api/data?path=/packed"),
            ):
                assert answer.status == 500 and answer.data.count(b"-o salvage") == 1, answer.data
            assert json.loads(s.get("/api/data?path=/packed").data)["message"]
            assert b"-o salvage" in s.get("/?plain", Accept="text/html").data
            assert b"-o salvage" in s.get("/.h5/list.txt").data
        with Serve("-o", "salvage", "bad.h5") as s:
            assert s.get("/packed").data == np.arange(4000).tobytes()

    def test_several_sources_are_directories(self):
        write_example()
        os.mkdir("d")
        with h5py.File("d/f.h5", "w") as g:
            g["y"] = np.arange(5)
            g["group/z"] = 1.5
        with h5py.File("o ther.h5", "w") as g:
            g["z"] = np.arange(2)
        with Serve("f.h5", "d/f.h5", "o ther.h5") as s:
            assert [e["name"] for e in s.json("/?list")] == ["f.h5", "f.h5 (2)", "o ther.h5"]
            assert len(s.get("/f.h5/x").data) == 4000 and len(s.get("/f.h5%20(2)/y").data) == 40
            assert s.location("/o%20ther.h5") == "/o%20ther.h5/"
            assert s.location("/f.h5/soft/") == "/f.h5/group/"
            assert b"Index of /f.h5 (2)/group/" in s.get("/f.h5%20(2)/group/").data
            assert b"Index of /f.h5 (2)/<" in s.get("/f.h5%20(2)/").data
            assert s.get("/f.h5/../x").status == 404 and s.get("/x").status == 404
            views = s.json("/api/views?file=f.h5&path=/x")["views"]
            offered = {v["href"]: v["what"] for v in views}
            assert offered["f.h5/.h5/npy/x.npy"].startswith("a dataset for numpy.load"), offered
            assert "f.h5/.h5/slice/x/" in offered, offered
            assert s.get("/f.h5/.h5/npy/x.npy").status == 200
            assert s.get("/", Accept="text/html").headers["Content-Type"].startswith("text/html")

    def test_term_lets_a_download_end_and_interrupt_does_not_wait(self):
        with h5py.File("large.h5", "w") as f:
            f.create_dataset("d", (64 << 20,), "u1", chunks=(1 << 20,), compression="gzip")

        def begin(s):
            c = socket.socket()
            c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            c.connect(("127.0.0.1", int(s.port)))
            c.sendall(b"GET /d HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return c, c.recv(100)

        def rest(c):
            n = 0
            while part := c.recv(1 << 20):
                n += len(part)
            return n

        with Serve("large.h5") as s:
            c, first = begin(s)
            s.process.terminate()
            time.sleep(0.5)
            assert s.process.poll() is None
            with self.assertRaises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", int(s.port)), 5)
            assert rest(c) + len(first) > 64 << 20
            assert s.process.wait(30) == 0
        for first_signal, more in ((signal.SIGINT, None), (signal.SIGTERM, signal.SIGTERM)):
            with Serve("large.h5") as s:
                c, first = begin(s)
                s.process.send_signal(first_signal)
                if more:
                    time.sleep(0.3)
                    s.process.send_signal(more)
                assert s.process.wait(10) == 1
                assert open("serve.err").read() == "h5mount: ended before all answers were sent\n"
        with Serve("large.h5") as s:
            assert s.end(signal.SIGINT) == 0

    def test_every_answer_is_a_line_at_level_info(self):
        write_example()
        with Serve("-o", "log_level=info", "f.h5") as s:
            s.get("/x", Range="bytes=0-9")
            s.get("/no%1bwhere")
            s.request("POST", "/x")
            for i in range(400):
                s.get("/x", Range="bytes=0-9")
            log = s.get("/.h5/log").data
            s.end()
            lines = open("serve.err").read().splitlines()
            assert len(lines) == 404, len(lines)  # not limited as messages are
            # A line is written when its answer is sent: those of several connections come in any order.
            sent = "h5mount: 127.0.0.1 GET /x 206 10 bytes "
            assert sum(line.startswith(sent) for line in lines) == 401, lines[:4]
            assert sum(" GET /no%1bwhere 404 " in line for line in lines) == 1
            assert sum(" POST /x 405 " in line for line in lines) == 1
            assert b"GET" not in log
        with Serve("f.h5") as s:
            s.get("/x")
            s.end()
            assert open("serve.err").read() == ""

    def test_what_cannot_be_served_is_one_line(self):
        write_example()
        with open("text.h5", "w") as f:
            f.write("no HDF5")
        for words, code in (
            ("8000", 1),
            ("f.h5", 1),
            ("x:1 f.h5", 1),
            ("127.0.0.1:70000 f.h5", 1),
            ("::1:80 f.h5", 1),
            ("203.0.113.7:1 f.h5", 1),
            ("0 missing.h5", 1),
            ("0 --frobnicate f.h5", 1),
            ("0 f.h5 /dev/null", 1),
            ("0 f.h5 text.h5", 2),
        ):
            p = run(H5MOUNT, "--serve", *words.split())
            assert p.returncode == code, (words, p)
            assert p.stderr.count("\n") == 1, (words, p)
            assert p.stdout == "", (words, p)

    @unittest.skipIf(os.geteuid() != 0, "not root")
    def test_an_ordinary_user_without_fuse(self):
        write_example()
        os.chmod(".", 0o755)  # the user must be able to reach the file
        os.chmod("f.h5", 0o644)
        p = shell(
            """exec unshare -m sh -c '
            mount --bind /dev/null /dev/fuse
            setpriv --reuid=65534 --regid=65534 --clear-groups $H5MOUNT --serve 0 f.h5 > url &
            for i in $(seq 100); do [ -s url ] && break; sleep 0.1; done
            curl -s $(cat url)x | wc -c
            kill $!
            wait $!'"""
        )
        if "unshare" in p.stderr:
            self.skipTest(p.stderr.strip())
        assert p.returncode == 0, p
        assert p.stdout == "4000\n", p
